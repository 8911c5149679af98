#include <algorithm>
#include <limits>

#include "base/log.h"
#include "leader/leader_fixture.h"
#include "leader/live_hub.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/node_status.h"
#include "leader/test_agent_fixture.h"
#include "model/maintenance.h"
#include "protocol/hello.h"
#include "store/alert_table.h"
#include "store/event_log.h"
#include "store/node_table.h"
#include "store/series_store.h"
#include "store/stored.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LeaderNodes : public LeaderTest {
 protected:
  static Reading devices(std::vector<DeviceFacts> list) {
    Reading reading;
    reading.devices = std::move(list);
    return reading;
  }
};

TEST_F(LeaderNodes, HelloMakesANodeAndRemembersWhatItSaid) {
  AgentHello said = TestAgent().hello();
  said.simulated = true;
  said.sources = {"procfs", "nvml"};
  said.period_ms = 500;
  ASSERT_TRUE(leader_->hello("gpu01", said).ok());
  open();
  const auto record = status_of("gpu01").record;
  EXPECT_EQ(record.facts.at("kernel"), "6.1.0");
  EXPECT_EQ(record.version, "0.4.0");
  EXPECT_TRUE(record.simulated);
  EXPECT_THAT(record.sources, ElementsAre("procfs", "nvml"));
  EXPECT_EQ(record.period_ms, 500);
  EXPECT_EQ(record.first_seen, clock_.wall());
  EXPECT_EQ(status_of("gpu01").state, NodeState::offline) << "nobody has heard of it since the restart";
}

TEST_F(LeaderNodes, ChangesOfTheInventoryAreEvents) {
  TestAgent agent;
  hello(agent);
  EXPECT_THAT(event_texts(), IsEmpty()) << "the first facts are no change";
  AgentHello changed = agent.hello();
  changed.version = "0.5.0";
  changed.facts = {{"kernel", "6.1.7"}, {"os", "Debian 12"}};
  ASSERT_TRUE(leader_->hello("gpu01", changed).ok());
  clock_.advance(std::chrono::seconds(1));
  changed.facts.erase("os");
  ASSERT_TRUE(leader_->hello("gpu01", changed).ok());
  EXPECT_THAT(event_texts("gpu01"),
              ElementsAre("inventory: kernel: 6.1.0 → 6.1.7", "inventory: os: now Debian 12",
                          "inventory: agent: 0.4.0 → 0.5.0", "inventory: os: no longer known (was Debian 12)"));
}

TEST_F(LeaderNodes, ChangesOfTheGpusAreEvents) {
  TestAgent agent;
  hello(agent);
  const DeviceFacts one{.id = "GPU-1", .facts = {{"name", "NVIDIA H200"}, {"driver", "550"}}};
  const DeviceFacts two{.id = "GPU-2", .facts = {{"name", "NVIDIA H200"}}};
  taken(agent, {agent.batch(clock_.wall(), devices({one}))});
  EXPECT_THAT(event_texts(), IsEmpty());
  DeviceFacts newer = one;
  newer.facts["driver"] = "570";
  taken(agent, {agent.batch(clock_.wall(), devices({newer, two}))});
  taken(agent, {agent.batch(clock_.wall(), devices({two}))});
  EXPECT_THAT(event_texts("gpu01"),
              ElementsAre("inventory: GPU-1 driver: 550 → 570", "inventory: NVIDIA H200 GPU-2 was added",
                          "inventory: NVIDIA H200 GPU-1 is gone"));
  open();
  ASSERT_EQ(status_of("gpu01").record.devices.size(), 1u);
  EXPECT_EQ(status_of("gpu01").record.devices[0].id, "GPU-2");
}

TEST_F(LeaderNodes, ASpoolDoesNotBringBackThePast) {
  const WallTime yesterday = clock_.wall() - std::chrono::hours(24);
  TestAgent now("gpu01", "now");
  TestAgent past("gpu01", "past");
  hello(now);
  hello(past);
  const auto reading = [](const char* driver, std::int64_t pid) {
    Reading made = devices({{.id = "GPU-1", .facts = {{"driver", driver}}}});
    made.samples = {sample_of("host.load", 1)};
    made.processes = {{.gpu = "GPU-1", .pid = pid}};
    return made;
  };
  taken(now, {now.batch(clock_.wall(), reading("570", 2))});
  taken(past, {past.batch(yesterday, reading("550", 1))});
  EXPECT_EQ(status_of("gpu01").record.devices[0].facts.at("driver"), "570");
  EXPECT_EQ(status_of("gpu01").processes->at(0).pid, 2);
  EXPECT_THAT(event_texts(), IsEmpty());
  clock_.advance(std::chrono::seconds(1));
  taken(now, {now.batch(clock_.wall(), reading("575", 3))});
  EXPECT_EQ(status_of("gpu01").record.devices[0].facts.at("driver"), "575");
}

TEST_F(LeaderNodes, AClockThatWasAheadDoesNotHoldUpTheInventory) {
  TestAgent agent;
  hello(agent);
  Reading reading = devices({{.id = "GPU-1"}});
  reading.samples = {sample_of("host.load", 1)};
  taken(agent, {agent.batch(clock_.wall() + std::chrono::hours(5), reading)});
  reading.devices->push_back({.id = "GPU-2"});
  taken(agent, {agent.batch(clock_.wall(), reading)});
  EXPECT_EQ(status_of("gpu01").record.devices.size(), 2u);
}

TEST_F(LeaderNodes, WhatIsForgottenIsNotWrittenDownAgain) {
  hello(TestAgent());
  const auto node = leader_->nodes().find("gpu01");
  clock_.advance(std::chrono::seconds(3));
  ASSERT_TRUE(leader_->forget("gpu01", false).ok());
  ASSERT_TRUE(leader_->nodes().save(*node).ok());  // a request that was under way
  open();
  EXPECT_EQ(leader_->nodes().find("gpu01"), nullptr);
}

TEST_F(LeaderNodes, ASilentNodeIsLateThenOfflineThenBack) {
  TestAgent agent;
  hello(agent);
  leader_->look_at_states();
  EXPECT_EQ(status_of("gpu01").state, NodeState::online);
  clock_.advance(std::chrono::milliseconds(1499));
  EXPECT_EQ(status_of("gpu01").state, NodeState::online);
  clock_.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(status_of("gpu01").state, NodeState::late);
  leader_->look_at_states();
  clock_.advance(std::chrono::milliseconds(1499));
  EXPECT_EQ(status_of("gpu01").state, NodeState::late);
  clock_.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(status_of("gpu01").state, NodeState::offline);
  leader_->look_at_states();
  leader_->look_at_states();
  taken(agent, {});
  leader_->look_at_states();
  EXPECT_THAT(event_texts("gpu01"),
              ElementsAre(HasSubstr("node_online"), HasSubstr("node_offline"), HasSubstr("node_online")))
      << "being late is no event, and what has not changed is said once";
}

TEST_F(LeaderNodes, OneThatComesAndGoesDoesNotFillTheLog) {
  configure_log(LogLevel::info, LogFormat::text);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 50; ++i) {
    hello(TestAgent("gpu01", "stream"));
    leader_->look_at_states();
    clock_.advance(std::chrono::seconds(4));
    leader_->look_at_states();
  }
  const std::string log = testing::internal::GetCapturedStderr();
  configure_log(LogLevel::warning, LogFormat::text);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 6) << log;
  EXPECT_THAT(log, testing::HasSubstr("it comes and goes"));
  EXPECT_THAT(event_texts("gpu01"), testing::SizeIs(100)) << "it is known all the same";
}

TEST_F(LeaderNodes, NodesAreCountedByState) {
  hello(TestAgent("gpu01", "a"));
  clock_.advance(std::chrono::seconds(5));
  hello(TestAgent("gpu02", "b"));
  hello(TestAgent("gpu03", "c"));
  ASSERT_TRUE(leader_->set_draining("gpu03", true, "", "alice").ok());
  const auto status = leader_->status();
  EXPECT_EQ(status.nodes.online, 1);
  EXPECT_EQ(status.nodes.offline, 1);
  EXPECT_EQ(status.nodes.draining, 1);
  EXPECT_EQ(status.nodes.late, 0);
}

TEST_F(LeaderNodes, DrainingIsRememberedAndWrittenDown) {
  TestAgent agent;
  hello(agent);
  ASSERT_TRUE(leader_->set_draining("gpu01", true, "a new fan", "alice").ok());
  EXPECT_EQ(status_of("gpu01").state, NodeState::draining);
  hello(agent);
  EXPECT_EQ(status_of("gpu01").state, NodeState::draining) << "an agent cannot end it";
  open();
  hello(agent);
  EXPECT_EQ(status_of("gpu01").state, NodeState::draining);
  EXPECT_EQ(status_of("gpu01").record.drain_reason, "a new fan");
  ASSERT_TRUE(leader_->set_draining("gpu01", false, "", "bob").ok());
  EXPECT_EQ(status_of("gpu01").state, NodeState::online);
  EXPECT_THAT(event_texts("gpu01"), ElementsAre("node_drained: by alice: a new fan", "node_resumed: by bob"));
  EXPECT_EQ(leader_->set_draining("gpu99", true, "", "bob").error().kind, ErrorKind::not_found);
}

TEST_F(LeaderNodes, AMaintenanceBeginsAndEndsByItself) {
  TestAgent agent;
  hello(agent);
  const auto now = clock_.wall();
  const Maintenance maintenance{.from = now + std::chrono::hours(1), .until = now + std::chrono::hours(2)};
  const auto turn = [&](Nanos time) {
    clock_.advance(time);
    hello(agent);
    leader_->look_at_states();
    return status_of("gpu01").state;
  };
  ASSERT_TRUE(leader_->set_draining("gpu01", true, "new fans", "alice", maintenance).ok());
  EXPECT_EQ(turn(Nanos(0)), NodeState::online) << "it is to come";
  EXPECT_EQ(status_of("gpu01").record.maintenance, maintenance);
  open();
  EXPECT_EQ(turn(std::chrono::hours(1)), NodeState::draining) << "also when the leader was started anew";
  EXPECT_EQ(status_of("gpu01").record.drain_reason, "new fans");
  open();
  EXPECT_EQ(turn(std::chrono::minutes(59)), NodeState::draining);
  EXPECT_EQ(turn(std::chrono::minutes(1)), NodeState::online);
  EXPECT_EQ(status_of("gpu01").record.drain_reason, "");
  EXPECT_FALSE(status_of("gpu01").record.maintenance);
  EXPECT_FALSE(cluster_.nodes().find("gpu01")->row.maintenance);
  std::vector<std::string> kinds;
  for (const auto& text : event_texts("gpu01")) {
    const auto kind = text.substr(0, text.find(':'));
    if (kind == "node_maintenance" || kind == "node_drained" || kind == "node_resumed") kinds.push_back(text);
  }
  EXPECT_THAT(kinds, ElementsAre(HasSubstr("node_maintenance: by alice, from "), "node_drained: its maintenance begins",
                                 "node_resumed: its maintenance is over"));
}

TEST_F(LeaderNodes, AMaintenanceIsCalledOffByWhoeverGivesTheNodeWorkAgain) {
  TestAgent agent;
  hello(agent);
  const auto now = clock_.wall();
  const auto plan = [&](Nanos from, Nanos until) {
    return leader_->set_draining("gpu01", true, "", "alice", Maintenance{.from = now + from, .until = now + until});
  };
  EXPECT_EQ(plan(std::chrono::hours(2), std::chrono::hours(1)).error().kind, ErrorKind::usage);
  EXPECT_EQ(plan(-std::chrono::hours(2), -std::chrono::hours(1)).error().kind, ErrorKind::usage);
  ASSERT_TRUE(plan(Nanos(0), std::chrono::hours(1)).ok());
  EXPECT_EQ(status_of("gpu01").state, NodeState::draining) << "it begins at once";
  ASSERT_TRUE(leader_->set_draining("gpu01", false, "", "bob").ok());
  EXPECT_FALSE(status_of("gpu01").record.maintenance);
  ASSERT_TRUE(plan(std::chrono::hours(1), std::chrono::hours(2)).ok());
  ASSERT_TRUE(leader_->set_draining("gpu01", true, "a bad board", "bob").ok());
  clock_.advance(std::chrono::hours(3));
  hello(agent);
  leader_->look_at_states();
  EXPECT_EQ(status_of("gpu01").state, NodeState::draining) << "for good, as was said last";
}

TEST_F(LeaderNodes, OnlyASilentNodeIsForgotten) {
  TestAgent agent;
  hello(agent);
  taken(agent, {agent.batch(clock_.wall(), {sample_of("host.load", 1)})});
  EXPECT_EQ(leader_->forget("gpu99", false).error().kind, ErrorKind::not_found);
  EXPECT_EQ(leader_->forget("gpu01", false).error().kind, ErrorKind::busy);
  clock_.advance(std::chrono::seconds(3));
  ASSERT_TRUE(leader_->forget("gpu01", false).ok());
  EXPECT_EQ(leader_->nodes().find("gpu01"), nullptr);
  EXPECT_EQ(stored("host.load").size(), 1u) << "its telemetry stays";
  open();
  EXPECT_EQ(leader_->nodes().find("gpu01"), nullptr);
}

TEST_F(LeaderNodes, ForgettingMayEraseItsTelemetryAndNoOthers) {
  for (const char* name : {"gpu01", "gpu02"}) {
    TestAgent agent(name, name);
    hello(agent);
    taken(agent, {agent.batch(clock_.wall(), {sample_of("host.load", 1)})});
  }
  clock_.advance(std::chrono::seconds(3));
  ASSERT_TRUE(leader_->forget("gpu01", true).ok());
  EXPECT_THAT(stored("host.load"), ElementsAre(testing::Key("node=gpu02 ")));
  // It may come back, under new ids of the store.
  TestAgent again("gpu01", "again");
  hello(again);
  EXPECT_EQ(taken(again, {again.batch(clock_.wall(), {sample_of("host.load", 2)})}).outcome,
            Leader::Receipt::Outcome::taken);
  EXPECT_EQ(stored("host.load")["node=gpu01 "], std::vector<double>{2});
}

TEST_F(LeaderNodes, TelemetryThatWasErasedBelowANodeComesBackWithItsNames) {
  TestAgent agent;
  hello(agent);
  taken(agent, {agent.batch(clock_.wall(), {sample_of("host.load", 1)})});
  ASSERT_TRUE(leader_->series().erase({.name = "host.load"}).ok());
  clock_.advance(std::chrono::seconds(1));
  const auto next = agent.batch(clock_.wall(), {sample_of("host.load", 2)});
  auto receipt = taken(agent, {next});
  for (int attempt = 0; attempt < 3 && receipt.outcome != Leader::Receipt::Outcome::taken; ++attempt) {
    if (receipt.outcome == Leader::Receipt::Outcome::needs_hello) hello(agent);
    receipt = taken(agent, {agent.with_all_names(next)});
  }
  EXPECT_THAT(stored("host.load"), ElementsAre(testing::Pair("node=gpu01 ", ElementsAre(2))));
}

TEST_F(LeaderNodes, TheDifferenceOfClocksIsKnownAndSmoothed) {
  TestAgent agent;
  hello(agent);
  EXPECT_TRUE(std::isnan(status_of("gpu01").clock_skew_s));
  const auto say = [&](double ahead_s) {
    const auto sent = clock_.wall().time_since_epoch().count() + static_cast<std::int64_t>(ahead_s * 1e9);
    EXPECT_TRUE(leader_->take_batches("gpu01", "", sent).ok());
    return status_of("gpu01").clock_skew_s;
  };
  EXPECT_DOUBLE_EQ(say(10), 10);
  EXPECT_DOUBLE_EQ(say(0), 8) << "one request that waited does not count for all";
  for (int i = 0; i < 100; ++i) say(-2);
  EXPECT_NEAR(say(-2), -2, 1e-6);
}

TEST_F(LeaderNodes, NoClockIsTooWrong) {
  for (const char* name : {"gpu01", "gpu02"}) hello(TestAgent(name, name));
  EXPECT_TRUE(leader_->take_batches("gpu01", "", std::numeric_limits<std::int64_t>::min()).ok());
  EXPECT_TRUE(leader_->take_batches("gpu02", "", std::numeric_limits<std::int64_t>::max()).ok());
  EXPECT_LT(status_of("gpu01").clock_skew_s, -1e9);
  EXPECT_GT(status_of("gpu02").clock_skew_s, 1e9);
}

TEST_F(LeaderNodes, WhenNodesWereHeardOfIsWrittenDown) {
  TestAgent agent;
  hello(agent);
  clock_.advance(std::chrono::minutes(1));
  taken(agent, {});
  ASSERT_TRUE(leader_->nodes().save_all().ok());
  const WallTime heard = clock_.wall();
  clock_.advance(std::chrono::minutes(1));
  open();
  EXPECT_EQ(status_of("gpu01").record.last_seen, heard);
}

TEST_F(LeaderNodes, WhatAnotherLeaderSaidOfANodeIsNotOverwritten) {
  TestAgent agent;
  hello(agent);
  auto other = cluster_.nodes().find("gpu01");
  ASSERT_TRUE(other.ok());
  other->row.draining = true;
  other->row.drain_reason = "new fans";
  ASSERT_TRUE(cluster_.nodes().put(*other).ok());
  AgentHello changed = agent.hello();
  changed.version = "0.5.0";
  const auto refused = leader_->hello("gpu01", changed);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  ASSERT_TRUE(leader_->hello("gpu01", changed).ok()) << "the agent says it again";
  const auto kept = cluster_.nodes().find("gpu01");
  EXPECT_TRUE(kept->row.draining);
  EXPECT_EQ(kept->row.drain_reason, "new fans");
  EXPECT_EQ(kept->row.version, "0.5.0");
}

TEST_F(LeaderNodes, OldEventsAndAlertsAreForgotten) {
  std::vector<ClusterEvent> events;
  for (int i = 0; i < 3; ++i) {
    events.push_back({.time = clock_.wall() - std::chrono::hours(24 * 366 * i), .node = "gpu01", .kind = "xid"});
  }
  ASSERT_TRUE(cluster_.events().append(events).ok());
  std::vector<Stored<AlertRecord>> alerts(1);
  alerts[0].row.alert = {.id = "a", .since = events.back().time, .state = AlertState::resolved};
  ASSERT_TRUE(cluster_.alerts().put(alerts).ok());
  EXPECT_FALSE(leader_->forget_what_is_old());
  EXPECT_EQ(cluster_.events().list({})->events.size(), 2u) << "two years are kept";
  EXPECT_TRUE(cluster_.alerts().resolved({})->alerts.empty());
}

TEST_F(LeaderNodes, ThreadsStartAndStop) {
  // The clock stands still while they run.
  TestAgent agent;
  hello(agent);
  leader_->start();
  auto watching = leader_->live().subscribe({});
  ASSERT_TRUE(watching.ok());
  leader_->stop();
  leader_->stop();
  EXPECT_FALSE(watching->open());
}

}  // namespace
}  // namespace assay
