#include "http/leader_router.h"

#include <gmock/gmock.h>

#include <latch>

#include "http/http_fixture.h"
#include "leader/test_agent_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class LeaderRouter : public LeaderServerTest {
 protected:
  LeaderRouter() { hello(TestAgent("gpu01", "one")); }

  /// A server with one worker, and `/block`, which keeps it busy until the test releases it.
  void serve_with_one_worker() {
    const auto wait = [this] {
      ++begun_;
      release_.wait();
    };
    const auto archive = [wait]() -> Result<std::shared_ptr<ByteSource>> {
      wait();
      return std::shared_ptr<ByteSource>(text_source("an archive"));
    };
    Router router = make_leader_router(*leader_, *gatekeeper_, {.backup = archive, .fingerprint = {}});
    router.get("/block", [wait](const HttpRequest&) {
      wait();
      return HttpResponse::text(200, "late");
    });
    server_ = start_server(std::move(router), {.workers = 1});
    auto client = HttpClient::create(*parse_url("http://127.0.0.1:" + std::to_string(port_of(*server_))));
    ASSERT_TRUE(client.ok());
    client_ = std::move(*client);
  }
  std::string head_of_post(const std::string& target, const std::string& fields, std::size_t length) {
    return "POST " + target + " HTTP/1.1\r\nHost: x\r\n" + fields + "Content-Length: " + std::to_string(length) +
           "\r\n\r\n";
  }

  std::atomic<int> begun_ = 0;
  std::latch release_{1};
};

TEST_F(LeaderRouter, StrangersAreRefusedBeforeTheirBody) {
  serve();
  // Nothing of the bodies is ever sent: whoever waited for them would not answer.
  for (const char* target : {"/agent/v1/hello", "/agent/v1/batch", "/agent/v1/commands/x", "/agent/v1/jobs/r/take",
                             "/api/v1/silences", "/api/v1/backup"}) {
    EXPECT_THAT(answer_of(*server_, head_of_post(target, "", 1 << 20)), StartsWith("HTTP/1.1 401")) << target;
    EXPECT_THAT(answer_of(*server_, head_of_post(target, "Assay-Node: gpu01\r\nAuthorization: Bearer x\r\n", 1 << 20)),
                StartsWith("HTTP/1.1 401"))
        << target;
  }
  EXPECT_THAT(answer_of(*server_, head_of_post("/agent/v1/join", "", 1 << 16)), StartsWith("HTTP/1.1 413"))
      << "a join is small";
}

TEST_F(LeaderRouter, AgentsAreHeardWhileOthersKeepTheWorkersBusy) {
  serve_with_one_worker();
  RawConnection blocked(port_of(*server_));
  blocked.send(get_and_close("/block"));
  ASSERT_TRUE(comes_true([&] { return begun_ == 1; }));
  EXPECT_EQ(send("POST", "/agent/v1/hello", agent("gpu01"), R"({"schema": 1, "stream": "x"})").status, 200);
  release_.count_down();
  EXPECT_THAT(blocked.read_all(), HasSubstr("late"));
}

TEST_F(LeaderRouter, ABackupDoesNotTakeTheLastWorker) {
  serve_with_one_worker();
  RawConnection backup(port_of(*server_));
  backup.send(head_of_post("/api/v1/backup",
                           "Connection: close\r\nAuthorization: Bearer " + secrets_[Role::admin] + "\r\n", 0));
  ASSERT_TRUE(comes_true([&] { return begun_ == 1; }));
  EXPECT_EQ(send("GET", "/api/v1/status", bearer(Role::viewer)).status, 200);
  release_.count_down();
  EXPECT_THAT(backup.read_all(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("an archive")));
}

}  // namespace
}  // namespace assay
