#include "agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <set>
#include <thread>

#include "agent/fake_leader_fixture.h"
#include "launch/local/local_launcher.h"
#include "net/tls.h"
#include "store/memory/run_memory.h"
#include "telemetry/replay/recording.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::SizeIs;

/// Counts its readings, and how many of them were of everything.
class CountingSource final : public MetricSource {
 public:
  explicit CountingSource(std::string name = "counting", std::atomic<int>* everything = nullptr)
      : name_(std::move(name)), everything_(everything) {}
  std::string_view name() const override { return name_; }
  Result<Reading> read(SteadyTime) override {
    Reading reading;
    reading.samples.push_back(
        {.key = {.name = name_ + ".readings", .labels = {}}, .unit = "", .value = 1.0 * ++count_});
    return reading;
  }
  Result<Reading> read_everything(SteadyTime deadline) override {
    if (everything_ != nullptr) ++*everything_;
    return read(deadline);
  }

 private:
  std::string name_;
  std::atomic<int>* everything_;
  int count_ = 0;
};

/// Hangs in its first reading until it is let go.
class HangingSource final : public MetricSource {
 public:
  explicit HangingSource(std::shared_ptr<std::atomic<bool>> released) : released_(std::move(released)) {}
  std::string_view name() const override { return "hanging"; }
  Result<Reading> read(SteadyTime) override {
    while (!*released_) std::this_thread::sleep_for(1ms);
    return Reading();
  }

 private:
  std::shared_ptr<std::atomic<bool>> released_;
};

std::vector<std::unique_ptr<MetricSource>> list(std::unique_ptr<MetricSource> a,
                                                std::unique_ptr<MetricSource> b = nullptr) {
  std::vector<std::unique_ptr<MetricSource>> sources;
  sources.push_back(std::move(a));
  if (b) sources.push_back(std::move(b));
  return sources;
}

class AgentTest : public testing::Test {
 protected:
  AgentOptions options() {
    AgentOptions options;
    options.state = folder_.path() / "agent";
    options.period = 20ms;
    options.run_period = 10ms;
    options.notices = {folder_.path() / "notices"};
    ReportingOptions reporting;
    reporting.url = leader_.access().url;
    reporting.node = "gpu03";
    reporting.join_secret = leader_.secret;
    reporting.self = {"/bin/false"};
    reporting.first_pause = 2ms;
    options.reporting = std::move(reporting);
    return options;
  }
  std::unique_ptr<Agent> start(AgentOptions options, std::vector<std::unique_ptr<MetricSource>> sources) {
    auto agent = Agent::start(std::move(options), std::move(sources));
    EXPECT_TRUE(agent.ok()) << (agent.ok() ? "" : agent.error().text());
    return agent.ok() ? std::move(*agent) : nullptr;
  }
  /// Of one stream after the other: 1, 2, 3 … without a gap or a repetition.
  void expect_complete() {
    std::map<std::string, std::uint64_t> last;
    for (const auto& [stream, sequence] : leader_.sequences()) {
      EXPECT_EQ(sequence, last[stream] + 1) << stream;
      last[stream] = sequence;
    }
  }
  std::size_t hellos() {
    return leader_.look([](const FakeLeader::Seen& seen) { return seen.hellos.size(); });
  }

  FakeLeader leader_;
  TemporaryFolder folder_;
};

TEST_F(AgentTest, JoinsAndReportsEverySource) {
  auto agent = start(options(), list(std::make_unique<CountingSource>("a"), std::make_unique<CountingSource>("b")));
  EXPECT_TRUE(comes_true([this] { return leader_.taken() >= 5; }));
  agent->stop();
  expect_complete();
  leader_.look([](const FakeLeader::Seen& seen) {
    EXPECT_THAT(seen.joins, SizeIs(1));
    ASSERT_THAT(seen.hellos, SizeIs(1));
    EXPECT_THAT(seen.hellos.front(), testing::HasSubstr(R"("sources":["a","b"])"));
    std::set<std::string> names;
    for (const auto& [number, name] : seen.names.begin()->second) names.insert(name.key.name);
    EXPECT_THAT(names, testing::ElementsAre("a.readings", "b.readings"));
    // Both sources of one grid time come together.
    std::size_t together = 0;
    for (const auto& batch : seen.batches) {
      together += batch.samples.size() == 2 && batch.samples[0].time_ns == batch.samples[1].time_ns;
    }
    EXPECT_GE(together, 1U);
  });
  EXPECT_TRUE(agent->state().outbox.in_memory == 0);
}

TEST(AgentOverTls, TheSecondStartStillKnowsTheLeadersCertificate) {
  const TemporaryFolder folder;
  const auto files = keep_self_made_certificate(folder.path() / "tls", {"leader"});
  ASSERT_TRUE(files.ok());
  FakeLeader leader(*files);
  AgentOptions options{
      .state = folder.path() / "agent", .reporting = ReportingOptions{}, .period = 20ms, .notices = {}};
  options.reporting->url = leader.access().url;
  options.reporting->node = "gpu03";
  options.reporting->self = {"/bin/false"};
  options.reporting->first_pause = 2ms;
  auto with_token = options;
  with_token.reporting->join_secret = leader.secret;
  with_token.reporting->trust.fingerprint = *certificate_fingerprint(files->certificate);
  for (auto* start : {&with_token, &options}) {
    const std::size_t before = leader.taken();
    auto agent = Agent::start(*start, list(std::make_unique<CountingSource>()));
    ASSERT_TRUE(agent.ok()) << agent.error().text();
    EXPECT_TRUE(comes_true([&] { return leader.taken() > before; }))
        << "certificate of a leader that nobody has signed";
    (*agent)->stop();
  }
}

TEST_F(AgentTest, TheSecondStartNeedsNoToken) {
  start(options(), list(std::make_unique<CountingSource>()))->stop();
  // A first start that was too short to reach its leader would have to join still.
  auto first = start(options(), list(std::make_unique<CountingSource>()));
  EXPECT_TRUE(comes_true([this] { return leader_.taken() >= 1; }));
  first->stop();
  first.reset();
  const auto before = leader_.taken();
  AgentOptions again = options();
  again.reporting->join_secret.reset();
  auto agent = start(std::move(again), list(std::make_unique<CountingSource>()));
  EXPECT_TRUE(comes_true([&] { return leader_.taken() > before + 3; }));
}

TEST_F(AgentTest, WithoutKeyAndTokenItSaysWhatIsNeeded) {
  AgentOptions bare = options();
  bare.reporting->join_secret.reset();
  const auto agent = Agent::start(std::move(bare), list(std::make_unique<CountingSource>()));
  ASSERT_FALSE(agent.ok());
  EXPECT_EQ(agent.error().kind, ErrorKind::usage);
  EXPECT_THAT(agent.error().hint, testing::HasSubstr("--token-file"));
}

TEST_F(AgentTest, AWrongTokenEndsItAndTheNextStartBeginsAfresh) {
  AgentOptions wrong = options();
  wrong.reporting->join_secret = new_secret();
  {
    auto agent = start(std::move(wrong), list(std::make_unique<CountingSource>()));
    pollfd failed{agent->failed_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&failed, 1, 30'000), 1);
    ASSERT_TRUE(agent->failure().has_value());
    EXPECT_EQ(agent->failure()->kind, ErrorKind::denied);
    agent->stop();
  }
  auto agent = start(options(), list(std::make_unique<CountingSource>()));
  EXPECT_TRUE(comes_true([this] { return leader_.taken() >= 1; }));
}

TEST_F(AgentTest, OneAgentPerFolder) {
  const auto first = start(options(), list(std::make_unique<CountingSource>()));
  const auto second = Agent::start(options(), list(std::make_unique<CountingSource>()));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::busy);
}

TEST_F(AgentTest, WhatWasSampledWithoutALeaderArrivesAfterARestart) {
  leader_.go_away();
  std::uint64_t pushed = 0;
  {
    auto agent = start(options(), list(std::make_unique<CountingSource>()));
    EXPECT_TRUE(comes_true([&] { return agent->state().outbox.pushed >= 100; }));
    agent->stop();
    pushed = agent->state().outbox.pushed;
  }
  leader_.come_back();
  auto agent = start(options(), list(std::make_unique<CountingSource>()));
  EXPECT_TRUE(comes_true([&] { return leader_.taken() > pushed + 2; }));
  agent->stop();
  expect_complete();
  std::map<std::string, std::size_t> by_stream;
  for (const auto& [stream, sequence] : leader_.sequences()) ++by_stream[stream];
  EXPECT_THAT(by_stream, SizeIs(2));
  EXPECT_THAT(by_stream, Contains(testing::Pair(testing::_, pushed)));
}

TEST_F(AgentTest, AKilledAgentLosesOnlyWhatWasInMemory) {
  leader_.go_away();
  std::uint64_t spooled = 0;
  {
    const auto agent = start(options(), list(std::make_unique<CountingSource>()));
    EXPECT_TRUE(comes_true([&] { return agent->state().outbox.pushed >= 100; }));
    spooled = agent->state().outbox.pushed - agent->state().outbox.in_memory;
  }
  EXPECT_GT(spooled, 0U);
  leader_.come_back();
  auto agent = start(options(), list(std::make_unique<CountingSource>()));
  EXPECT_TRUE(comes_true([&] { return leader_.taken() > spooled; }));
  agent->stop();
  expect_complete();
  EXPECT_GE(hellos(), 2U);
}

TEST_F(AgentTest, ASourceThatHangsDoesNotStopHeartbeats) {
  const auto released = std::make_shared<std::atomic<bool>>(false);
  auto agent = start(options(), list(std::make_unique<HangingSource>(released)));
  // The leader wants a heartbeat every 200 ms; these batches have nothing in them.
  EXPECT_TRUE(comes_true([this] { return leader_.taken() >= 3; }));
  leader_.look([](const FakeLeader::Seen& seen) {
    for (const auto& batch : seen.batches) EXPECT_TRUE(batch.samples.empty());
  });
  *released = true;
  agent->stop();
}

TEST_F(AgentTest, ASourceThatHangsDoesNotStopAnother) {
  const auto released = std::make_shared<std::atomic<bool>>(false);
  auto agent =
      start(options(), list(std::make_unique<HangingSource>(released), std::make_unique<CountingSource>("fine")));
  EXPECT_TRUE(comes_true([this] {
    return leader_.look([](const FakeLeader::Seen& seen) {
      std::size_t samples = 0;
      for (const auto& batch : seen.batches) samples += batch.samples.size();
      return samples >= 5;
    });
  }));
  *released = true;
  agent->stop();
}

TEST_F(AgentTest, ReadsFasterAndEverythingAtTheEdgesOfARun) {
  AgentOptions slow = options();
  slow.period = 10min;  // without a run there would be no reading in the time of this test
  slow.run_period = 20ms;
  std::atomic<int> everything = 0;
  auto agent = start(std::move(slow), list(std::make_unique<CountingSource>("c", &everything)));
  {
    const auto notice = RunNotice::announce("k3ab", {folder_.path() / "notices"});
    ASSERT_FALSE(notice.file().empty());
    EXPECT_TRUE(comes_true([&] { return agent->state().readings >= 10; }));
    EXPECT_TRUE(agent->state().run_under_way);
    EXPECT_EQ(everything, 1);
  }
  EXPECT_TRUE(comes_true([&] { return !agent->state().run_under_way; }));
  agent->stop();
}

TEST_F(AgentTest, DoesRunsForTheLeaderOnlyIfItMay) {
  leader_.list_jobs(R"({"jobs": [{"run": "r1"}]})");
  {
    auto agent = start(options(), list(std::make_unique<CountingSource>()));
    EXPECT_TRUE(comes_true([this] {
      return leader_.look(
          [](const FakeLeader::Seen& seen) { return seen.command_streams >= 1 && !seen.hellos.empty(); });
    }));
    agent->stop();
    leader_.look([](const FakeLeader::Seen& seen) {
      EXPECT_EQ(seen.job_streams, 0);
      EXPECT_THAT(seen.hellos.back(), testing::HasSubstr(R"("allow":["doctor"])"));
    });
  }
  AgentOptions allowed = options();
  const SystemClock clock;
  allowed.reporting->jobs =
      JobServices{.store = open_run_memory(make_run_memory(), clock),
                  .launcher = make_local_launcher(),
                  .describe_machine = [] { return Provenance(); },
                  .make_sources = [](auto) { return std::vector<std::unique_ptr<MetricSource>>(); }};
  auto agent = start(std::move(allowed), list(std::make_unique<CountingSource>()));
  EXPECT_TRUE(comes_true([this] {
    return hellos() >= 2 &&
           leader_.look([](const FakeLeader::Seen& seen) { return seen.takes == std::vector<std::string>{"r1"}; });
  }));
  agent->stop();
  leader_.look([](const FakeLeader::Seen& seen) {
    EXPECT_THAT(seen.hellos.back(), testing::HasSubstr(R"("allow":["doctor","run"])"));
  });
}

TEST_F(AgentTest, TheLeaderChoosesThePeriod) {
  leader_.batch_extra = R"(, "period_ms": 20)";
  AgentOptions slow = options();
  slow.period = 10min;
  auto agent = start(std::move(slow), list(std::make_unique<CountingSource>()));
  EXPECT_TRUE(comes_true([&] { return agent->state().readings >= 5; }));
  agent->stop();
}

TEST_F(AgentTest, RecordsWithoutALeader) {
  AgentOptions alone = options();
  alone.reporting.reset();
  alone.record = folder_.path() / "node.rec";
  auto agent = start(std::move(alone), list(std::make_unique<CountingSource>("c")));
  EXPECT_TRUE(comes_true([&] { return agent->state().readings >= 5; }));
  agent->stop();
  const auto readings = agent->state().readings;
  agent.reset();
  const auto recording = load_recording(folder_.path() / "node.rec");
  ASSERT_TRUE(recording.ok());
  ASSERT_THAT(recording->series, SizeIs(1));
  EXPECT_EQ(recording->series.front().values.size(), readings);
  EXPECT_EQ(leader_.taken(), 0U);
}

TEST_F(AgentTest, RecordsWhatItReports) {
  AgentOptions both = options();
  both.record = folder_.path() / "node.rec";
  auto agent = start(std::move(both), list(std::make_unique<CountingSource>("c")));
  EXPECT_TRUE(comes_true([this] { return leader_.taken() >= 5; }));
  agent->stop();
  agent.reset();
  const auto recording = load_recording(folder_.path() / "node.rec");
  ASSERT_TRUE(recording.ok());
  EXPECT_GE(recording->series.front().values.size(), 5U);
}

TEST_F(AgentTest, ARecordingThatCannotBeMadeIsSaidAtOnce) {
  AgentOptions alone = options();
  alone.reporting.reset();
  alone.record = folder_.path() / "missing" / "node.rec";
  EXPECT_FALSE(Agent::start(std::move(alone), list(std::make_unique<CountingSource>())).ok());
}

}  // namespace
}  // namespace assay
