#include "net/tls.h"
#include "net/client_options.h"
#include "net/http_message.h"
#include "net/raw_connection_fixture.h"
#include "net/router.h"
#include "net/server_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

#include "net/authority_fixture.h"
#include "net/client_messages.h"
#include "net/http_client.h"
#include "net/own_names.h"
#include "net/server_fixture.h"
#include "net/tls_trust.h"
#include "net/url.h"

namespace assay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

class TlsTest : public testing::Test {
 protected:
  TlsFiles make(const std::string& name, const std::vector<std::string>& names = {"localhost", "127.0.0.1"}) {
    auto files = keep_self_made_certificate(folder_.path() / name, names);
    EXPECT_TRUE(files.ok()) << files.error().text();
    return *files;
  }
  std::unique_ptr<HttpServer> serve(const TlsFiles& files) {
    Router router;
    router.get("/", [](const HttpRequest& request) { return HttpResponse::text(200, request.tls ? "tls" : "plain"); });
    router.post("/echo", [](const HttpRequest& request) { return HttpResponse::text(200, request.body); });
    return start_server(std::move(router), {.tls = files});
  }
  static Result<ClientResponse> get(const HttpServer& server, TlsTrust trust, std::string host = "127.0.0.1") {
    auto client = HttpClient::create(
        {.scheme = Url::Scheme::https, .host = std::move(host), .port = port_of(server), .target = "/"},
        {.server = "the leader", .trust = std::move(trust)});
    if (!client) return std::move(client).error();
    return (*client)->send({});
  }
  TemporaryFolder folder_;
};

TEST_F(TlsTest, ASelfMadeCertificateIsMadeOnceAndKept) {
  const auto files = make("a");
  struct stat info{};
  ASSERT_EQ(::stat(files.key.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const auto first = certificate_fingerprint(files.certificate);
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_THAT(*first, MatchesRegex("sha256:[0-9a-f]{64}"));
  make("a");
  EXPECT_EQ(*certificate_fingerprint(files.certificate), *first);
  EXPECT_EQ(*certificate_fingerprint(files.key), *first);
  EXPECT_NE(*certificate_fingerprint(make("b").certificate), *first);
  EXPECT_EQ(read_file(files.certificate)->find("PRIVATE"), std::string::npos);
}

TEST_F(TlsTest, ServersThatStartAtOnceAgree) {
  std::vector<std::string> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& one : seen) {
      threads.emplace_back([&] { one = *certificate_fingerprint(make("shared").key); });
    }
  }
  for (const auto& one : seen) EXPECT_EQ(one, seen[0]);
}

TEST_F(TlsTest, NamesAreChecked) {
  EXPECT_EQ(keep_self_made_certificate(folder_.path(), {"a,DNS:evil"}).error().kind, ErrorKind::usage);
  EXPECT_EQ(keep_self_made_certificate(folder_.path(), {""}).error().kind, ErrorKind::usage);
}

TEST_F(TlsTest, TellsWhichNamesACertificateIsNotGoodFor) {
  const auto files = make("a", {"localhost", "127.0.0.1", "head.example.org", "*.rack.example.org", "::1"});
  EXPECT_THAT(*names_not_covered(files.certificate, {"localhost", "127.0.0.1", "::1", "HEAD.example.org",
                                                     "a.rack.example.org", "*.rack.example.org"}),
              IsEmpty());
  EXPECT_THAT(*names_not_covered(files.certificate, {"head", "localhost", "10.0.0.1", "example.org", "fd00::1"}),
              ElementsAre("head", "10.0.0.1", "example.org", "fd00::1"));
  EXPECT_FALSE(names_not_covered(folder_.path() / "none", {"localhost"}).ok());
}

TEST_F(TlsTest, ACertificateCanCarryEveryNameOfThisMachine) {
  const auto names = names_of_this_machine();
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_THAT(names, Contains(std::string(host)));
  EXPECT_THAT(names, Contains("127.0.0.1")) << "the address of an interface";
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  const auto files = make("all", names);
  EXPECT_THAT(*names_not_covered(files.certificate, names), IsEmpty());
}

TEST(Fingerprint, TakesWhatPeoplePaste) {
  const std::string digits(64, 'a');
  EXPECT_EQ(*parse_fingerprint("sha256:" + digits), "sha256:" + digits);
  EXPECT_EQ(*parse_fingerprint(" SHA256:" + std::string(64, 'A') + "\n"), "sha256:" + digits);
  std::string colons;
  for (int i = 0; i < 32; ++i) colons += i ? ":AA" : "AA";
  EXPECT_EQ(*parse_fingerprint(colons), "sha256:" + digits);
  EXPECT_EQ(*parse_fingerprint("key-sha256:" + digits + ", CA-SHA256:" + digits),
            "key-sha256:" + digits + ",ca-sha256:" + digits);
  for (const std::string& text :
       {std::string(), digits + ",", std::string("sha256:"), digits + "a", std::string(64, 'g')}) {
    EXPECT_EQ(parse_fingerprint(text).error().kind, ErrorKind::usage) << text;
  }
}

TEST_F(TlsTest, TheRightFingerprintIsTrustedWhateverTheName) {
  const auto files = make("a", {"another.name"});
  const auto server = serve(files);
  const auto answer = get(*server, {.fingerprint = *certificate_fingerprint(files.certificate)});
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->body, "tls");
}

TEST_F(TlsTest, AWrongFingerprintIsRefused) {
  const auto server = serve(make("a"));
  const auto answer = get(*server, {.fingerprint = *certificate_fingerprint(make("b").certificate)});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::denied);
  EXPECT_THAT(answer.error().message, HasSubstr("another certificate"));
  EXPECT_FALSE(answer.error().hint.empty());
}

TEST_F(TlsTest, AKeyIsTrustedWhateverTheCertificate) {
  const TestAuthority authority;
  const auto before = authority.issue(folder_.path() / "before.pem", "localhost");
  const auto server = serve(before);
  const auto key = *certificate_fingerprint(before.certificate, Pinned::key);
  EXPECT_TRUE(get(*server, {.fingerprint = key}).ok());
  // A renewed certificate for the same key; then one for another key.
  const auto renewed = authority.issue(folder_.path() / "renewed.pem", "localhost", before.key);
  EXPECT_NE(*certificate_fingerprint(renewed.certificate), *certificate_fingerprint(before.certificate));
  ASSERT_TRUE(server->change_certificate(renewed).ok());
  EXPECT_TRUE(get(*server, {.fingerprint = key}).ok());
  EXPECT_FALSE(get(*server, {.fingerprint = *certificate_fingerprint(before.certificate)}).ok()) << "it has changed";
  const auto other = authority.issue(folder_.path() / "other.pem", "localhost");
  ASSERT_TRUE(server->change_certificate(other).ok());
  EXPECT_FALSE(get(*server, {.fingerprint = key}).ok());
  const auto both = key + "," + *certificate_fingerprint(other.certificate, Pinned::key);
  EXPECT_TRUE(get(*server, {.fingerprint = both}).ok()) << "one of several is enough";
}

TEST_F(TlsTest, AnAuthorityIsTrustedForTheNameThatWasAskedFor) {
  const TestAuthority authority, stranger;
  const auto files = authority.issue(folder_.path() / "a.pem", "127.0.0.1");
  const auto server = serve(files);
  const auto pin = *certificate_fingerprint(files.certificate, Pinned::authority);
  EXPECT_EQ(pin.substr(0, 10), "ca-sha256:");
  const auto answer = get(*server, {.fingerprint = pin});
  EXPECT_TRUE(answer.ok()) << answer.error().text();
  ASSERT_TRUE(server->change_certificate(authority.issue(folder_.path() / "b.pem", "127.0.0.1")).ok());
  EXPECT_TRUE(get(*server, {.fingerprint = pin}).ok()) << "renewed, with another key";
  ASSERT_TRUE(server->change_certificate(authority.issue(folder_.path() / "c.pem", "10.0.0.1")).ok());
  EXPECT_FALSE(get(*server, {.fingerprint = pin}).ok()) << "for another machine";
  ASSERT_TRUE(server->change_certificate(stranger.issue(folder_.path() / "d.pem", "127.0.0.1")).ok());
  EXPECT_FALSE(get(*server, {.fingerprint = pin}).ok());
  // One that only shows the authority's certificate, which is no secret, beside its own.
  ASSERT_TRUE(server->change_certificate(stranger.issue(folder_.path() / "e.pem", "127.0.0.1", {}, &authority)).ok());
  EXPECT_FALSE(get(*server, {.fingerprint = pin}).ok());
  EXPECT_EQ(certificate_fingerprint(make("alone").certificate, Pinned::authority).error().kind, ErrorKind::usage);
}

TEST_F(TlsTest, AFileThatIsNoCertificateChangesNothing) {
  const auto files = make("a");
  const auto server = serve(files);
  EXPECT_FALSE(server->change_certificate({.certificate = folder_.path() / "none", .key = files.key}).ok());
  EXPECT_TRUE(get(*server, {.fingerprint = *certificate_fingerprint(files.certificate)}).ok());
}

TEST_F(TlsTest, TellsWhenACertificateEnds) {
  const auto left = *certificate_end(make("a").certificate) - SystemClock().wall();
  EXPECT_GT(left, std::chrono::hours(24 * 3600));
  EXPECT_LT(left, std::chrono::hours(24 * 3700));
}

TEST_F(TlsTest, WhoWritesHttpIsToldToWriteHttps) {
  const auto server = serve(make("a"));
  auto client = HttpClient::create(
      {.scheme = Url::Scheme::http, .host = "127.0.0.1", .port = port_of(*server), .target = "/"}, {});
  const auto answer = client.value()->send({});
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->status, 400);
  EXPECT_THAT(answer->body, HasSubstr("https://"));
}

TEST_F(TlsTest, NothingIsTrustedByDefault) {
  const auto server = serve(make("a"));
  const auto answer = get(*server, {});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::denied);
  EXPECT_THAT(answer.error().message, HasSubstr("not trusted"));
  EXPECT_THAT(answer.error().hint, HasSubstr("fingerprint"));
}

TEST_F(TlsTest, ACaFileIsTrustedForItsNames) {
  const auto files = make("a");
  const auto server = serve(files);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto answer = get(*server, {.ca_file = files.certificate}, host);
    ASSERT_TRUE(answer.ok()) << answer.error().text();
  }
  EXPECT_EQ(get(*server, {.ca_file = make("b").certificate}).error().kind, ErrorKind::denied);
}

TEST_F(TlsTest, ACertificateForAnotherNameIsRefused) {
  const auto files = make("a", {"other.example"});
  const auto server = serve(files);
  const auto answer = get(*server, {.ca_file = files.certificate});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::denied);
  EXPECT_THAT(answer.error().message, HasSubstr("mismatch"));
  EXPECT_THAT(answer.error().hint, HasSubstr("name"));
}

TEST_F(TlsTest, LargeBodiesAndKeptConnections) {
  const auto files = make("a");
  const auto server = serve(files);
  auto client =
      HttpClient::create({.scheme = Url::Scheme::https, .host = "127.0.0.1", .port = port_of(*server), .target = "/"},
                         {.trust = {.fingerprint = *certificate_fingerprint(files.certificate)}});
  ASSERT_TRUE(client.ok());
  for (int i = 0; i < 3; ++i) {
    const std::string body(700'000, static_cast<char>('a' + i));
    const auto answer = (*client)->send({.method = "POST", .target = "/echo", .body = body});
    ASSERT_TRUE(answer.ok()) << answer.error().text();
    EXPECT_EQ(answer->body, body);
  }
  EXPECT_EQ(server->connections(), 1U);
}

TEST_F(TlsTest, PlainHttpToATlsServerIsExplained) {
  const auto server = serve(make("a"));
  RawConnection plain(port_of(*server));
  plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  plain.read_all();
  EXPECT_TRUE(plain.closed());
}

TEST_F(TlsTest, TlsToAPlainServerIsExplained) {
  const auto server = start_server(Router());
  const auto answer = get(*server, {.fingerprint = std::string(64, 'a')});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().hint, HasSubstr("http://"));
}

TEST_F(TlsTest, ASlowHandshakeIsEnded) {
  const auto files = make("a");
  const auto server = start_server(Router(), {.tls = files, .limits = {.header_time = std::chrono::milliseconds(50)}});
  RawConnection silent(port_of(*server));
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_TRUE(silent.closed());
}

TEST_F(TlsTest, FilesThatDoNotFitAreExplained) {
  const auto a = make("a");
  const auto b = make("b");
  const auto start = [](TlsFiles files) {
    auto server = HttpServer::start({.listen = {{.host = "127.0.0.1"}}, .tls = std::move(files)}, Router());
    return server.ok() ? Error{} : server.error();
  };
  EXPECT_THAT(start({a.certificate, b.key}).message, HasSubstr("holds no key for"));
  EXPECT_EQ(start({a.certificate, folder_.path() / "none"}).kind, ErrorKind::missing_file);
  ASSERT_TRUE(write_file_atomically(folder_.path() / "junk", "junk").ok());
  EXPECT_EQ(start({folder_.path() / "junk", a.key}).kind, ErrorKind::bad_file);
  ASSERT_TRUE(
      write_file_atomically(folder_.path() / "pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
          .ok());
  EXPECT_EQ(start({folder_.path() / "pem", a.key}).kind, ErrorKind::bad_file);
  EXPECT_EQ(certificate_fingerprint(folder_.path() / "junk").error().kind, ErrorKind::bad_file);
}

}  // namespace
}  // namespace assay
