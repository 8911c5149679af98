#include "http/leader_router.h"

#include <gmock/gmock.h>

#include <latch>

#include "http/api_routes.h"
#include "http/http_fixture.h"
#include "http/people_fixture.h"
#include "leader/node.h"
#include "leader/node_status.h"
#include "leader/test_agent_fixture.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/raw_connection_fixture.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/server_options.h"
#include "net/url.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class LeaderRouter : public PeopleServerTest {
 protected:
  LeaderRouter() { hello(TestAgent("gpu01", "one")); }

  /// A server with one worker, and `/block`, which keeps it busy until the test releases it.
  void serve_with_one_worker(HttpLimits limits = {}) {
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
    server_ = start_server(std::move(router), {.limits = limits, .workers = 1});
    auto client = HttpClient::create(*parse_url("http://127.0.0.1:" + std::to_string(port_of(*server_))), {});
    ASSERT_TRUE(client.ok());
    client_ = std::move(*client);
  }
  static std::string text_of(const Headers& headers) {
    std::string text;
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    return text;
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

TEST_F(LeaderRouter, WhoMayNotIsRefusedBeforeTheBody) {
  serve();
  for (const char* target : {"/api/v1/runs/x/frames", "/api/v1/silences", "/api/v1/nodes/gpu01/drain"}) {
    EXPECT_THAT(answer_of(*server_, head_of_post(target, text_of(bearer(Role::viewer)), 1 << 20)),
                AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("the scope")))
        << target;
    EXPECT_THAT(answer_of(*server_, head_of_post(target, text_of(browser("root").forged()), 1 << 20)),
                StartsWith("HTTP/1.1 403"))
        << target << ": another page cannot even send one";
  }
}

TEST_F(LeaderRouter, WhoHoldsBodiesBackHoldsNobodyElseUp) {
  serve();
  std::vector<std::unique_ptr<RawConnection>> held;
  const auto hold = [&](const std::string& target, const Headers& who, std::size_t length) {
    held.push_back(std::make_unique<RawConnection>(port_of(*server_)));
    held.back()->send(head_of_post(target, text_of(who), length));
  };
  // Nothing of these comes, and they would be more than all bodies may be together.
  for (int i = 0; i < 30; ++i) {
    hold("/api/v1/runs/x/frames", bearer(Role::user), 17 << 20);
    hold("/agent/v1/jobs/x/frames", agent("gpu02"), 17 << 20);
    hold("/agent/v1/commands/x", agent("gpu02"), 8 << 20);
  }
  EXPECT_TRUE(comes_true([&] {
    leader_->look_at_states();
    const auto problems = leader_->status().problems;
    return testing::Matches(testing::Contains(problem_that_says("requests are turned away, the last one of")))(
        problems);
  })) << "that somebody was turned away is said by name";
  TestAgent honest("gpu01", "large");
  const std::string padding(100'000, ' ');
  EXPECT_EQ(send("POST", "/agent/v1/hello", agent("gpu01"), R"({"schema": 1, "stream": "large"})" + padding).status,
            200);
  const auto batch = honest.batch(clock_.wall(), {sample_of("host.load", 1)});
  EXPECT_EQ(send("POST", "/agent/v1/batch", agent("gpu01"), body_of({batch})).status, 200);
  EXPECT_EQ(send("POST", "/api/v1/runs/search", bearer(Role::viewer), padding + "{}").status, 200);
}

TEST_F(LeaderRouter, ANodeForWhichThereIsNoRoomIsThereAllTheSame) {
  clock_.advance(std::chrono::seconds(10));
  ASSERT_EQ(status_of("gpu01").state, NodeState::offline);
  const HttpRequest head{.method = "POST", .path = "/agent/v1/batch", .headers = agent("gpu01")};
  const auto admission = gatekeeper_->look_at(head, Scope::node, {});
  ASSERT_TRUE(admission.turned_away);
  admission.turned_away();
  EXPECT_EQ(status_of("gpu01").state, NodeState::online);
  leader_->look_at_states();
  EXPECT_THAT(leader_->status().problems, testing::Contains(problem_that_says("the last one of node gpu01")));
}

TEST_F(LeaderRouter, NobodyHasASecondShareByAnotherSpelling) {
  serve_with_one_worker({.requests_of_caller = 1});
  RawConnection blocked(port_of(*server_));
  blocked.send(head_of_post("/api/v1/backup", text_of(bearer(Role::admin)), 0));
  ASSERT_TRUE(comes_true([&] { return begun_ == 1; }));
  for (const std::string scheme : {"Bearer ", "bearer ", "bEaReR   "}) {
    EXPECT_EQ(send("GET", "/api/v1/status", {{"Authorization", scheme + secrets_[Role::admin]}}).status, 429) << scheme;
  }
  EXPECT_EQ(send("GET", "/api/v1/status", bearer(Role::viewer)).status, 200);
  release_.count_down();
  EXPECT_THAT(blocked.read_until("an archive"), HasSubstr("200 OK"));
}

TEST_F(LeaderRouter, PeopleAtOneAddressDoNotShareALimit) {
  serve_with_one_worker({.requests_of_caller = 1});
  const auto root = browser("root");
  const auto vera = browser("vera");
  RawConnection blocked(port_of(*server_));
  blocked.send(head_of_post("/api/v1/backup", text_of(root.headers()), 0));
  ASSERT_TRUE(comes_true([&] { return begun_ == 1; }));
  EXPECT_EQ(status("GET", "/api/v1/status", root.headers()), 429);
  EXPECT_EQ(status("GET", "/api/v1/status", vera.headers()), 200);
  release_.count_down();
  EXPECT_THAT(blocked.read_until("an archive"), HasSubstr("200 OK"));
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
