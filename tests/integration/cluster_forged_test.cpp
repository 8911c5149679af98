#include <gmock/gmock.h>

#include "access/secrets.h"
#include "base/clock.h"
#include "base/text.h"
#include "cluster_fixture.h"
#include "net/client_messages.h"
#include "net/raw_connection_fixture.h"
#include "protocol/batch.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Somebody with the key of one node who speaks the documented protocol and means no good. `bench/forged_agent.py` does
/// the same with figures.
class ClusterForged : public ClusterTest {
 protected:
  void enter() {
    const std::string body = R"({"node": "forged", "key": ")" + key_ + R"("})";
    const auto joined =
        leader_.request("POST", "/agent/v1/join", leader_.secret_of(leader_.token_file("agent")), kJson, body);
    ASSERT_EQ(joined.status, 200) << joined.body;
  }
  void hello(const std::string& stream, Nanos ahead = {}) {
    const auto said = leader_.request("POST", "/agent/v1/hello", key_, of_node(ahead),
                                      R"({"schema": 1, "stream": ")" + stream + R"(", "assay": "0", "facts": {}})");
    ASSERT_EQ(said.status, 200) << said.body;
  }
  /// Everything that is in the builder, from a machine whose clock is that far ahead.
  int send(BatchBuilder& builder, Nanos ahead = {}) { return send(builder.take(), ahead); }
  int send(const Batch& batch, Nanos ahead) {
    std::string body;
    append_framed(body, encode_batch(batch));
    return leader_.request("POST", "/agent/v1/batch", key_, of_node(ahead), body).status;
  }
  /// What was made, under a stream of its own.
  int send(Reading reading, WallTime time, Nanos ahead = {}) {
    const std::string stream = new_secret().substr(0, 16);
    hello(stream);
    BatchBuilder builder(stream);
    builder.add(time, std::move(reading));
    return send(builder, ahead);
  }
  /// A request whose body never comes.
  std::unique_ptr<RawConnection> hold(const std::string& target, const std::string& authorization,
                                      const std::string& fields, std::size_t bytes) {
    auto connection = std::make_unique<RawConnection>(leader_.port());
    connection->send("POST " + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: " + authorization + "\r\n" + fields +
                     "Content-Length: " + std::to_string(bytes) + "\r\n\r\n");
    return connection;
  }
  /// The honest ones, while they are there.
  void expect_nobody_else_pays(AssayProcess& fleet) {
    EXPECT_THAT(leader_.silenced(), testing::Each(testing::Eq("forged")));
    EXPECT_EQ(fleet.terminate(), 0) << "everything of the honest nodes was acknowledged";
    expect_prompt(leader_.fleet_summary());
    EXPECT_LT(leader_.process().memory_bytes("VmHWM"), std::int64_t{512} << 20);
  }
  static WallTime now() { return SystemClock().wall(); }
  static Headers of_node(Nanos ahead) {
    return {{"Assay-Node", "forged"},
            {"Content-Type", "application/x-assay-batches"},
            {"Assay-Sent", std::to_string((now() + ahead).time_since_epoch().count())}};
  }
  static Reading value(const std::string& metric, double number) {
    Reading reading;
    reading.samples = {Sample{.key = {.name = metric}, .unit = "count", .value = number}};
    return reading;
  }

  const Headers kJson{{"Content-Type", "application/json"}};
  const std::string key_ = new_secret();
};

TEST_F(ClusterForged, FloodsAndLiesAreNamedUntilSomebodyLookedAndCostNobodyElse) {
  leader_.start({"--events-per-hour", "500", "--series-per-node", "1000"});
  auto fleet = leader_.start_fleet(20, {"--gpus", "1", "--metrics", "4"});
  leader_.expect_state("sim020", "online");
  enter();
  const std::set<int> answers = {200, 503};
  for (int round = 0; round < 20; ++round) {
    // Late ones, each into a minute of its own; some are older than anything that is kept.
    const std::string stream = "late-" + std::to_string(round);
    hello(stream);
    BatchBuilder late(stream);
    for (int i = 0; i < 200; ++i) late.add(now() - std::chrono::minutes(200 * i + round), value("forged.late", i));
    EXPECT_THAT(answers, Contains(send(late)));
    // Events of a week of made-up times.
    Reading flood;
    for (int i = 0; i < 1000; ++i) {
      flood.events.push_back(
          {.time = now() - std::chrono::minutes(i * 10 + round), .kind = "xid", .message = "made up"});
    }
    EXPECT_THAT(answers, Contains(send(std::move(flood), now())));
    // Ever new series, with names that look like rows of a table.
    Reading series;
    for (int i = 0; i < 200; ++i) {
      series.samples.push_back(
          {.key = {.name = "forged.x",
                   .labels = {{"n", std::to_string(round * 200 + i)}, {"row", "a\nsim001  offline"}}},
           .unit = "count",
           .value = 1});
    }
    EXPECT_THAT(answers, Contains(send(std::move(series), now())));
    // A clock that jumps.
    const auto ahead = std::chrono::hours(2 + 7 * (round % 3));
    EXPECT_THAT(answers, Contains(send(value("forged.clock", round), now() + ahead, ahead)));
  }
  expect_nobody_else_pays(fleet);
  const std::string problems = join(leader_.problems(), "\n");
  EXPECT_THAT(problems, HasSubstr("node 'forged'"));
  EXPECT_THAT(problems, HasSubstr("events were refused"));
  EXPECT_THAT(problems, HasSubstr("series were refused"));
  EXPECT_THAT(problems, Not(HasSubstr("sim0")));
  EXPECT_TRUE(
      eventually([&] { return leader_.cli().run({"alerts"}).out.find("leader_problem") != std::string::npos; }));
  EXPECT_THAT(leader_.cli().run({"nodes"}).out, Not(HasSubstr("\nsim001  offline\n")));

  // Whoever is started anew knows it still.
  EXPECT_EQ(leader_.process().terminate(), 0);
  leader_.start();
  EXPECT_THAT(join(leader_.problems(), "\n"), HasSubstr("events were refused"));
  EXPECT_EQ(leader_.cli().run({"nodes", "dismiss", "forged"}).exit_code, 0);
  EXPECT_THAT(leader_.problems(), testing::IsEmpty());
}

TEST_F(ClusterForged, BodiesThatNeverComeAndHellosWithoutEndCostNobodyElse) {
  leader_.start();
  auto fleet = leader_.start_fleet(20, {"--gpus", "1", "--metrics", "4"});
  leader_.expect_state("sim020", "online");
  enter();
  const std::string viewer = leader_.secret_of(leader_.token_file("viewer"));
  const std::string user = leader_.secret_of(leader_.token_file("user"));
  const std::vector<std::string> spellings = {"Bearer ", "bearer ", "BEARER  ", "bEaReR   ", "beaRER    "};
  const std::string as_node = "Assay-Node: forged\r\n";
  std::vector<std::unique_ptr<RawConnection>> held;
  // More than all bodies may be together, several times over, of each of them.
  for (int i = 0; i < 60; ++i) {
    const std::string& scheme = spellings[static_cast<std::size_t>(i) % spellings.size()];
    held.push_back(hold("/api/v1/runs/x/frames", scheme + viewer, "", 17 << 20));
    held.push_back(hold("/api/v1/runs/x/frames", scheme + user, "", 17 << 20));
    held.push_back(hold("/agent/v1/jobs/x/frames", scheme + key_, as_node, 17 << 20));
    held.push_back(hold("/agent/v1/commands/x", scheme + key_, as_node, 8 << 20));
    held.push_back(hold("/agent/v1/batch", scheme + key_, as_node, 4 << 20));
  }
  EXPECT_TRUE(eventually([&] {
    return join(leader_.problems(), "\n").find("memory for requests: requests are turned away") != std::string::npos;
  }));
  const std::set<int> answers = {200, 429, 503};
  for (int i = 0; i < 500; ++i) {
    const auto said = leader_.request("POST", "/agent/v1/hello", key_, of_node({}),
                                      R"({"schema": 1, "stream": ")" + new_secret().substr(0, 16) +
                                          R"(", "assay": "0", "facts": {"boot": ")" + std::to_string(i) + R"("}})");
    EXPECT_THAT(answers, Contains(said.status)) << said.body;
  }
  EXPECT_EQ(leader_.request("GET", "/api/v1/nodes", viewer).status, 200) << "its own requests are still answered";
  expect_nobody_else_pays(fleet);
}

TEST_F(ClusterForged, ANodeTwoHoursAheadIsStoredByTheLeadersClock) {
  leader_.start();
  auto fleet = leader_.start_fleet(3, {"--gpus", "1", "--metrics", "4"});
  leader_.expect_state("sim003", "online");
  enter();
  const auto ahead = std::chrono::hours(2);
  hello("ahead", ahead);
  BatchBuilder builder("ahead");
  builder.add(now() + ahead, value("forged.load", 1));
  const Batch batch = builder.take();
  EXPECT_TRUE(eventually([&] { return send(batch, ahead) == 200; })) << "once the difference was steady for a while";
  const auto node = leader_.get("/api/v1/nodes/forged");
  EXPECT_EQ(node.at("clock_note").as_string(), "2 h 00 min ahead, times corrected");
  EXPECT_THAT(leader_.cli().run({"nodes", "show", "forged"}).out, HasSubstr("times corrected"));
  const auto seconds = leader_.seconds_of("forged", "forged.load");
  ASSERT_FALSE(seconds.empty());
  const auto last = std::chrono::duration_cast<std::chrono::seconds>(now().time_since_epoch()).count();
  EXPECT_LE(*seconds.rbegin(), last);
  EXPECT_GT(*seconds.begin(), last - 600);
  EXPECT_THAT(leader_.problems(), testing::IsEmpty());
}

TEST_F(ClusterForged, AFolderThatCannotBeUsedIsNoBug) {
  // Nobody, not even root, may change the mode of this one.
  const fs::path data = leader_.cli().folder() / "elsewhere";
  fs::create_directories(data);
  fs::create_directory_symlink("/proc/self", data / "leader");
  const auto refused = leader_.cli().run({"serve", "--data", data.string(), "--listen", "127.0.0.1:0"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.error, HasSubstr("cannot be used"));
  EXPECT_THAT(refused.error, HasSubstr("--data names another one"));
  EXPECT_THAT(refused.error, Not(HasSubstr("This is a bug")));
}

}  // namespace
}  // namespace assay
