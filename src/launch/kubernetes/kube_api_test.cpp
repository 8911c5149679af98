#include "launch/kubernetes/kube_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/kubernetes/kube_cluster_fixture.h"
#include "launch/kubernetes/kube_object.h"
#include "net/authority_fixture.h"
#include "net/client_messages.h"
#include "net/http_message.h"
#include "net/server_fixture.h"
#include "net/server_options.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Error refusal(int status, const std::string& fixture, KubeVerb verb = KubeVerb::create) {
  return kube_failure({.status = status, .headers = {}, .body = kube_fixture(fixture)}, verb, KubeResource::jobs,
                      "bench")
      .value();
}

TEST(KubeFailure, SaysInWordsWhatARefusalMeans) {
  EXPECT_EQ(refusal(401, "status_unauthorized.json").kind, ErrorKind::denied);
  EXPECT_THAT(refusal(401, "status_unauthorized.json").hint, HasSubstr("token or certificate"));
  EXPECT_THAT(refusal(403, "status_forbidden.json").message,
              AllOf(HasSubstr("create jobs in the namespace 'bench'"), HasSubstr("User \"ada\"")));
  EXPECT_THAT(refusal(403, "status_forbidden.json").hint, HasSubstr("a role with the verb 'create' on 'jobs'"));
  EXPECT_THAT(refusal(403, "status_quota.json").message,
              AllOf(HasSubstr("the cluster refuses to create jobs"), HasSubstr("exceeded quota: gpus")));
  EXPECT_THAT(refusal(403, "status_quota.json").hint, HasSubstr("kubectl describe quota")) << "no role would help";
  EXPECT_EQ(refusal(404, "status_not_found.json").kind, ErrorKind::not_found);
  EXPECT_THAT(refusal(404, "status_no_namespace.json").message, HasSubstr("namespaces \"bench\" not found"));
  EXPECT_EQ(refusal(409, "status_conflict.json").kind, ErrorKind::busy);
  EXPECT_EQ(refusal(410, "status_gone.json", KubeVerb::watch).kind, ErrorKind::not_found);
  EXPECT_EQ(refusal(422, "status_invalid.json").kind, ErrorKind::usage);
  EXPECT_THAT(refusal(422, "status_invalid.json").message, HasSubstr("must be a standard resource type"));
  EXPECT_EQ(refusal(429, "status_too_many.json").kind, ErrorKind::busy);
  EXPECT_EQ(kube_failure({.status = 201, .headers = {}, .body = {}}, KubeVerb::create, KubeResource::jobs, "b"),
            std::nullopt);
}

/// A server that answers every request with one body, over TLS, to whoever has the token.
class KubeApiTest : public testing::Test {
 protected:
  void serve(const std::string& pattern, const std::string& body, int status = 200) {
    Router router;
    router.get(pattern, [body, status](const HttpRequest& request) {
      if (request.headers.find("Authorization") != "Bearer secret") {
        return HttpResponse::json(401, kube_fixture("status_unauthorized.json"));
      }
      return HttpResponse::json(status, body);
    });
    ServerOptions options;
    options.tls = files_;
    server_ = start_server(std::move(router), std::move(options));
  }
  KubeAccess access() const {
    return {.server = parse_url(fmt::format("https://127.0.0.1:{}", port_of(*server_))).value(),
            .trust = {.fingerprint = {}, .ca_file = {}, .ca_text = read_file(files_.certificate).value()},
            .user = {.identity = {}, .token = "secret", .token_file = {}, .program = {}},
            .origin = "the test"};
  }

  TemporaryFolder folder_;
  TestAuthority authority_;
  TlsFiles files_ = authority_.issue(folder_.path() / "server.pem", "127.0.0.1");
  std::unique_ptr<HttpServer> server_;
};

TEST_F(KubeApiTest, TalksToAServerThatItCanBeSureOf) {
  serve("/apis/batch/v1/namespaces/bench/jobs/a", kube_fixture("job_deadline.json"));
  auto api = KubeApi::connect(access(), "bench").value();
  const auto job = api->get(KubeResource::jobs, "a");
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(kube_text(*job, {"kind"}), "Job");

  auto other = access();
  const TestAuthority stranger;
  other.trust.ca_text = read_file(stranger.issue(folder_.path() / "other.pem", "127.0.0.1").certificate).value();
  const auto refused = KubeApi::connect(other, "bench").value()->get(KubeResource::jobs, "a");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::denied);
}

TEST_F(KubeApiTest, ATokenFileIsReadAnewEachTime) {
  serve("/apis/batch/v1/namespaces/bench/jobs/a", kube_fixture("job_deadline.json"));
  auto as = access();
  as.user.token.clear();
  as.user.token_file = folder_.path() / "token";
  ASSERT_TRUE(write_file_atomically(as.user.token_file, "old\n").ok());
  auto api = KubeApi::connect(as, "bench").value();
  EXPECT_EQ(api->get(KubeResource::jobs, "a").error().kind, ErrorKind::denied);
  ASSERT_TRUE(write_file_atomically(as.user.token_file, "secret\n").ok());
  EXPECT_TRUE(api->get(KubeResource::jobs, "a").ok());
}

TEST_F(KubeApiTest, AProgramIsAskedAgainWhenItsTokenIsRefused) {
  serve("/apis/batch/v1/namespaces/bench/jobs/a", kube_fixture("job_deadline.json"));
  auto as = access();
  as.user.token.clear();
  const std::string count = (folder_.path() / "count").string();
  as.user.program = KubeCredentialProgram{
      .command = "sh",
      .arguments = {"-c", fmt::format("echo >>'{0}'; [ $(wc -l <'{0}') = 1 ] && t=old || t=secret; "
                                      "echo '{{\"status\": {{\"token\": \"'$t'\"}}}}'",
                                      count)}};
  auto api = KubeApi::connect(as, "bench").value();
  EXPECT_TRUE(api->get(KubeResource::jobs, "a").ok());
}

TEST_F(KubeApiTest, AWatchTellsOfChangesAndMovesTheVersionOn) {
  serve("/api/v1/namespaces/bench/pods", kube_fixture("watch_pods.jsonl"));
  auto api = KubeApi::connect(access(), "bench").value();
  std::vector<KubeChange::Type> types;
  std::string version = "48000";
  const auto watched = api->watch(KubeResource::pods, "a=b", version, [&](const KubeChange& change) -> Result<void> {
    types.push_back(change.type);
    return {};
  });
  ASSERT_TRUE(watched.ok()) << watched.error().text();
  using Type = KubeChange::Type;
  EXPECT_THAT(types, ElementsAre(Type::added, Type::modified, Type::modified, Type::removed))
      << "bookmarks are not told";
  EXPECT_EQ(version, "48244");
}

TEST_F(KubeApiTest, AWatchThatIsTooOldIsNotFound) {
  serve("/api/v1/namespaces/bench/pods", kube_fixture("watch_gone.jsonl"));
  auto api = KubeApi::connect(access(), "bench").value();
  std::string version = "48001";
  const auto nothing = [](const KubeChange&) { return Result<void>(); };
  EXPECT_EQ(api->watch(KubeResource::pods, "", version, nothing).error().kind, ErrorKind::not_found);
  serve("/api/v1/namespaces/bench/pods", kube_fixture("status_gone.json"), 410);
  api = KubeApi::connect(access(), "bench").value();
  EXPECT_EQ(api->watch(KubeResource::pods, "", version, nothing).error().kind, ErrorKind::not_found);
}

TEST_F(KubeApiTest, NonsenseIsAnError) {
  serve("/api/v1/namespaces/bench/pods", "no JSON\n");
  auto api = KubeApi::connect(access(), "bench").value();
  std::string version;
  EXPECT_FALSE(api->list(KubeResource::pods, "").ok());
  EXPECT_FALSE(api->watch(KubeResource::pods, "", version, [](const KubeChange&) { return Result<void>(); }).ok());
}

TEST_F(KubeApiTest, PlainHttpIsForThisMachineAlone) {
  KubeAccess far{
      .server = parse_url("http://cluster.example:8080").value(), .trust = {}, .user = {}, .origin = "the test"};
  EXPECT_EQ(KubeApi::connect(far, "bench").error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace assay
