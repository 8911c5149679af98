#include "loadgen/dispatcher.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loadgen/fake_proc_fixture.h"
#include "loadgen/load_result.h"
#include "loadgen/simulated_server_fixture.h"
#include "target/null/null_target.h"
#include "target/refusing_target_fixture.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

SimulatedServer::Serve always(Nanos takes) {
  return [takes](const Request&, SteadyTime) { return takes; };
}

/// A load in simulated time.
struct Simulated {
  explicit Simulated(SimulatedServer::Serve serve) : server(std::move(serve)) {}

  LoadResult run(const LoadPlan& plan, ArrivalProcess* arrivals = nullptr, const LoadRules& rules = {}) {
    SamplesInOrder order(100);
    auto ended = run_load(plan, {arrivals, order, server, recorder, server}, {});
    EXPECT_TRUE(ended.ok());
    ending = *ended;
    ending.client = {};  // the machine that tests run on is none of their business
    return evaluate_load(plan, rules, recorder, ending);
  }

  SimulatedServer server;
  QueryRecorder recorder{{}};
  LoadEnding ending;
};

TEST(Dispatcher, ServerIssuesByTheClockWhateverBecameOfTheRest) {
  Simulated load(always(milliseconds(500)));
  ConstantArrivals arrivals(100);
  const auto result = load.run({.scenario = Scenario::constant, .min_queries = 10, .min_duration = seconds(10)},
                               &arrivals, {.asked_per_second = 100});
  EXPECT_EQ(result.issued, 1001u);  // the last one is due at 10 s
  EXPECT_EQ(result.lateness.max, 0);
  EXPECT_EQ(result.end_to_end.p50, 500'000'000);
  EXPECT_EQ(result.success_rate, 1);
  EXPECT_NEAR(result.delivered_per_second, 100, 0.2);
  EXPECT_TRUE(result.min_duration_met);
  EXPECT_TRUE(result.valid);
  EXPECT_EQ(load.ending.issuing, seconds(10));
  EXPECT_EQ(load.ending.duration, milliseconds(10'500));
}

/// What each of several clients sent, put together in the order of the schedule.
std::vector<QueryRecord> sent_by_clients(LoadPlan plan, std::uint32_t clients,
                                         const std::function<std::unique_ptr<ArrivalProcess>()>& arrivals) {
  std::vector<std::vector<QueryRecord>> parts;
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < clients; ++i) {
    plan.share = {i, clients};
    Simulated load(always(milliseconds(1)));
    const auto process = arrivals();
    load.run(plan, process.get());
    auto& part = parts.emplace_back();
    for (std::uint64_t id = 0; id < load.recorder.issued(); ++id) part.push_back(load.recorder.record(id));
    most = std::max(most, part.size());
  }
  std::vector<QueryRecord> all;
  for (std::size_t j = 0; j < most; ++j) {
    for (const auto& part : parts) {
      if (j < part.size()) all.push_back(part[j]);
    }
  }
  return all;
}

TEST(Dispatcher, SeveralClientsSendWhatOneWould) {
  const auto poisson = [] { return std::make_unique<PoissonArrivals>(300, 5); };
  const auto none = []() -> std::unique_ptr<ArrivalProcess> { return nullptr; };
  struct Case {
    LoadPlan plan;
    std::function<std::unique_ptr<ArrivalProcess>()> arrivals;
  };
  const std::vector<Case> cases = {
      {{.scenario = Scenario::server, .min_queries = 50, .min_duration = seconds(4), .warmup = seconds(1)}, poisson},
      {{.scenario = Scenario::server, .min_queries = 1001, .max_queries = 1001}, poisson},
      {{.scenario = Scenario::offline, .min_queries = 2500}, none}};
  for (const auto& one : cases) {
    const auto alone = sent_by_clients(one.plan, 1, one.arrivals);
    for (const std::uint32_t clients : {2u, 3u, 7u}) {
      const auto together = sent_by_clients(one.plan, clients, one.arrivals);
      ASSERT_EQ(together.size(), alone.size()) << name_of(one.plan.scenario) << clients;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        ASSERT_EQ(together[i].scheduled_ns, alone[i].scheduled_ns);
        ASSERT_EQ(together[i].sample, alone[i].sample);
      }
    }
  }
}

TEST(Dispatcher, AClosedLoopIsSharedOut) {
  const LoadPlan plan{.scenario = Scenario::closed, .concurrency = 5, .min_queries = 101};
  const auto none = []() -> std::unique_ptr<ArrivalProcess> { return nullptr; };
  EXPECT_EQ(sent_by_clients(plan, 3, none).size(), 101u);
  std::vector<std::uint32_t> first;
  for (std::uint32_t i = 0; i < 3; ++i) {
    LoadPlan share = plan;
    share.share = {i, 3};
    Simulated load(always(milliseconds(1)));
    load.run(share);
    std::uint32_t at_once = 0;
    while (load.recorder.record(at_once).scheduled_ns == 0) ++at_once;
    first.push_back(at_once);
    EXPECT_EQ(load.recorder.record(0).sample, i);
    EXPECT_EQ(load.recorder.record(1).sample, i + 3);
  }
  EXPECT_THAT(first, testing::ElementsAre(2, 2, 1));
}

TEST(Dispatcher, WhatALostClientTookWithItIsKnown) {
  LoadPlan plan{.scenario = Scenario::server, .min_queries = 400, .share = {1, 3}};
  PoissonArrivals arrivals(300, 5);
  Simulated load(always(milliseconds(1)));
  load.run(plan, &arrivals);
  PoissonArrivals again(300, 5);
  SamplesInOrder order(100);
  const auto lost = lost_share(plan, &again, order, Nanos::max());
  ASSERT_EQ(lost.size(), load.recorder.issued());
  for (std::size_t i = 0; i < lost.size(); ++i) {
    EXPECT_EQ(lost[i].scheduled_ns, load.recorder.record(i).scheduled_ns);
    EXPECT_EQ(lost[i].sample, load.recorder.record(i).sample);
    EXPECT_EQ(lost[i].outcome(), RequestOutcome::lost);
  }
}

TEST(Dispatcher, TheStartIsWhatWasAgreed) {
  SimulatedServer server(always(milliseconds(1)));
  QueryRecorder recorder{{}};
  SamplesInOrder order(100);
  const SteadyTime start = server.now() + seconds(3);
  LoadParts parts{nullptr, order, server, recorder, server};
  parts.agree_start = [&]() -> Result<SteadyTime> { return start; };
  const LoadPlan plan{.scenario = Scenario::closed, .min_queries = 10};
  const auto ending = run_load(plan, parts, {});
  ASSERT_TRUE(ending.ok());
  EXPECT_EQ(ending->start, start);
  EXPECT_EQ(ending->began_late, Nanos(0));
  EXPECT_EQ(recorder.record(0).scheduled_ns, 0);

  QueryRecorder unused{{}};
  LoadParts refused{nullptr, order, server, unused, server};
  refused.agree_start = []() -> Result<SteadyTime> { return Error{.kind = ErrorKind::lost_peer}; };
  EXPECT_EQ(run_load(plan, refused, {}).error().kind, ErrorKind::lost_peer);
  EXPECT_EQ(unused.issued(), 0u);
}

TEST(Dispatcher, AStallShowsAtEveryPercentileItShould) {
  Simulated load(always(milliseconds(1)));
  load.server.stall(seconds(10), seconds(13));
  ConstantArrivals arrivals(1000);
  const auto result =
      load.run({.scenario = Scenario::constant, .min_duration = seconds(60)}, &arrivals, {.asked_per_second = 1000});
  // 3,000 of 60,000 requests fell into the stall, and waited evenly between 0 and 3 s.
  EXPECT_NEAR(static_cast<double>(result.end_to_end.max), 3.001e9, 2e6);
  EXPECT_NEAR(static_cast<double>(result.end_to_end.p999), 2.94e9, 1e7);
  EXPECT_NEAR(static_cast<double>(result.end_to_end.p99), 2.4e9, 1e7);
  EXPECT_NEAR(static_cast<double>(result.end_to_end.p97), 1.2e9, 1e7);
  EXPECT_EQ(result.end_to_end.p90, 1'000'000);
}

TEST(Dispatcher, ALateClientIsNoticedAndItsLatenessIsPartOfTheLatency) {
  Simulated load(always(milliseconds(20)));
  load.server.issue_takes = milliseconds(2);  // asked for one a millisecond
  ConstantArrivals arrivals(1000);
  const auto result =
      load.run({.scenario = Scenario::constant, .min_duration = seconds(2)}, &arrivals, {.asked_per_second = 1000});
  EXPECT_NEAR(result.delivered_per_second, 500, 2);
  EXPECT_NEAR(result.scheduled_per_second, 1000, 2);
  EXPECT_GT(result.end_to_end.p99, 1'900'000'000);
  EXPECT_FALSE(result.valid);
  std::vector<std::string> kinds;
  for (const auto& flag : result.flags) kinds.push_back(flag.kind);
  EXPECT_THAT(kinds, testing::ElementsAre("client_late", "load_not_delivered"));
}

TEST(Dispatcher, SingleStreamWaitsForEachAnswer) {
  Simulated load(always(milliseconds(10)));
  const auto result = load.run({.scenario = Scenario::single_stream, .min_queries = 64, .min_duration = seconds(2)});
  EXPECT_EQ(result.issued, 201u);
  EXPECT_EQ(result.end_to_end.p90, 10'000'000);
  EXPECT_TRUE(result.valid);
  Simulated few(always(milliseconds(10)));
  EXPECT_EQ(few.run({.scenario = Scenario::single_stream, .min_queries = 3}).issued, 3u);
}

TEST(Dispatcher, MultiStreamCountsQueriesByTheirSlowestSample) {
  Simulated load([](const Request& request, SteadyTime) { return milliseconds(1 + request.id % 8); });
  const auto result = load.run({.scenario = Scenario::multi_stream, .samples_per_query = 8, .min_queries = 700});
  EXPECT_EQ(result.issued, 5600u);
  EXPECT_EQ(result.queries, 700u);
  EXPECT_EQ(load.ending.queries, 700u);
  EXPECT_EQ(result.end_to_end.count, 700u);
  EXPECT_EQ(result.end_to_end.min, 8'000'000);
  EXPECT_EQ(result.per_sample.count, 5600u);
  EXPECT_EQ(result.per_sample.min, 1'000'000);
  EXPECT_TRUE(result.early_stopping_met);
}

TEST(Dispatcher, ClosedKeepsAsManyInFlight) {
  Simulated load(always(milliseconds(10)));
  const auto result = load.run({.scenario = Scenario::closed, .concurrency = 4, .min_duration = seconds(1)});
  EXPECT_NEAR(result.completed_per_second, 400, 5);
  EXPECT_EQ(result.end_to_end.max, 10'000'000);
}

TEST(Dispatcher, OfflineAsksForEverythingAtOnce) {
  Simulated load([](const Request& request, SteadyTime) { return milliseconds(request.id); });
  const auto result = load.run({.scenario = Scenario::offline, .min_queries = 5000});
  EXPECT_EQ(result.issued, 5000u);
  EXPECT_EQ(result.end_to_end.max, 4'999'000'000);
  EXPECT_NEAR(result.completed_per_second, 1000, 1);
}

/// A server that keeps the client's threads waiting for a CPU, or busy, while it is waited for.
class StarvingServer final : public SimulatedServer {
 public:
  static constexpr int kThread = 4242;
  explicit StarvingServer(const FakeProc& proc) : SimulatedServer(always(seconds(10))), proc_(proc) {
    proc_.schedstat(::syscall(SYS_gettid), 0, 0);
    proc_.schedstat(kThread, 0, 0);
    proc_.write("stat", "cpu  100 0 100 800 0 0 0 0 0 0\n");
  }
  std::vector<int> threads() const override { return {kThread}; }
  void wait_for_change(WakeCounter& counter, std::uint32_t seen, SteadyTime deadline) noexcept override {
    proc_.schedstat(kThread, 9'500'000'000, 400'000'000);
    proc_.write("stat", "cpu  150 0 100 1600 0 0 0 150 0 0\n");
    SimulatedServer::wait_for_change(counter, seen, deadline);
  }
  void stop(SteadyTime deadline) noexcept override {
    std::filesystem::remove_all(proc_.folder / "self");  // its threads are gone
    SimulatedServer::stop(deadline);
  }

 private:
  const FakeProc& proc_;
};

TEST(Dispatcher, WatchesTheClientUntilTheLastAnswer) {
  const FakeProc proc;
  StarvingServer server(proc);
  QueryRecorder recorder({});
  SamplesInOrder order(100);
  LoadParts parts{nullptr, order, server, recorder, server};
  parts.proc = proc.folder;
  const LoadPlan plan{.scenario = Scenario::offline, .min_queries = 500};
  const auto ending = run_load(plan, parts, {});
  ASSERT_TRUE(ending.ok());
  EXPECT_EQ(ending->issuing, Nanos(0));
  EXPECT_EQ(ending->client.wall, seconds(10));
  EXPECT_DOUBLE_EQ(ending->client.waited_share, 0.04);
  EXPECT_DOUBLE_EQ(ending->client.stolen_share, 0.15);
  EXPECT_DOUBLE_EQ(ending->client.busy_share, 0.95);
  std::vector<std::string> kinds;
  for (const auto& flag : evaluate_load(plan, {}, recorder, *ending).flags) kinds.push_back(flag.kind);
  EXPECT_THAT(kinds, testing::ElementsAre("client_starved", "client_starved", "client_saturated"));
}

TEST(Dispatcher, ATraceEndsWithItsLastRequest) {
  const std::vector<Nanos> times = {Nanos(0), milliseconds(5), seconds(2)};
  TraceArrivals arrivals(times, 1);
  Simulated load(always(milliseconds(1)));
  EXPECT_EQ(load.run({.scenario = Scenario::trace, .min_queries = 3, .min_duration = seconds(2)}, &arrivals).issued,
            3u);
}

TEST(Dispatcher, RequestsOfTheWarmUpCountForNothing) {
  Simulated load([](const Request&, SteadyTime sent) {
    return sent < SteadyTime(std::chrono::hours(1)) + seconds(5) ? seconds(1) : milliseconds(1);
  });
  ConstantArrivals arrivals(10);
  const auto result = load.run(
      {.scenario = Scenario::constant, .min_queries = 1, .min_duration = seconds(10), .warmup = seconds(5)}, &arrivals);
  EXPECT_EQ(result.issued, 151u);
  EXPECT_EQ(result.measured, 101u);
  EXPECT_EQ(result.end_to_end.max, 1'000'000);
  EXPECT_NEAR(result.scheduled_per_second, 10.1, 0.01);
}

TEST(Dispatcher, TheSteadyStateIsWithoutTheEnds) {
  // Eight at a time, ten seconds each: 0.8/s, and the last eight run dry for ten seconds.
  Simulated load(always(seconds(10)));
  load.server.output_tokens = 5;
  const auto result = load.run({.scenario = Scenario::closed,
                                .concurrency = 8,
                                .min_queries = 1,
                                .min_duration = seconds(40),
                                .warmup = seconds(15)});
  EXPECT_EQ(result.window_seconds, 55);
  EXPECT_EQ(result.measured, 33U) << "four rounds, and the one request that made the time full";
  EXPECT_NEAR(result.completed_per_second, 33.0 / 55, 1e-9);
  EXPECT_NEAR(result.steady_per_second, 40.0 / 45, 1e-9) << "in 15 to 60 s five rounds of eight ended";
  EXPECT_NEAR(result.steady_tokens_per_second, 200.0 / 45, 1e-9);
  Simulated offline(always(seconds(1)));
  EXPECT_EQ(offline.run({.scenario = Scenario::offline, .min_queries = 8}).steady_per_second, 0);
}

TEST(Dispatcher, EveryRequestEndsInExactlyOneWay) {
  Simulated load([](const Request& request, SteadyTime) { return Nanos(request.id % 10 == 0 ? -1 : 1000); });
  ConstantArrivals arrivals(100);
  const auto result = load.run({.scenario = Scenario::constant, .min_queries = 1000}, &arrivals);
  EXPECT_EQ(result.outcomes[static_cast<std::size_t>(RequestOutcome::lost)], 100u);
  EXPECT_EQ(load.ending.lost, 100u);
  std::uint64_t sum = 0;
  for (const auto count : result.outcomes) sum += count;
  EXPECT_EQ(sum, result.measured);
  EXPECT_EQ(result.success_rate, 0.9);
  ASSERT_EQ(result.flags.size(), 1u);
  EXPECT_EQ(result.flags[0].message, "100 of 1000 requests did not end well: 100 lost.");
}

TEST(Dispatcher, AStopRequestCancelsWhatIsInFlight) {
  NullTarget target({.silent = true});
  QueryRecorder recorder({});
  SpinningClock clock;
  SamplesInOrder order(1);
  ConstantArrivals arrivals(10);
  std::stop_source source;
  std::jthread stopper([&] {
    while (recorder.issued() < 2) std::this_thread::yield();
    source.request_stop();
  });
  const LoadPlan plan{.scenario = Scenario::constant, .min_duration = std::chrono::hours(1)};
  const auto ending = run_load(plan, {&arrivals, order, target, recorder, clock}, source.get_token());
  ASSERT_TRUE(ending.ok());
  EXPECT_TRUE(ending->interrupted);
  const auto result = evaluate_load(plan, {}, recorder, *ending);
  EXPECT_EQ(result.outcomes[static_cast<std::size_t>(RequestOutcome::cancelled)], result.issued);
  EXPECT_FALSE(result.valid);
}

TEST(Dispatcher, AStopIsNoticedAlsoWhereNothingHasToBeWaitedFor) {
  for (const Scenario scenario : {Scenario::closed, Scenario::single_stream}) {
    RefusingTarget target;
    QueryRecorder recorder({});
    SpinningClock clock;
    SamplesInOrder order(1);
    std::stop_source source;
    std::jthread stopper([&] {
      while (recorder.issued() < 2) std::this_thread::yield();
      source.request_stop();
    });
    const LoadPlan plan{.scenario = scenario, .min_duration = seconds(20)};
    const auto ending = run_load(plan, {nullptr, order, target, recorder, clock}, source.get_token());
    ASSERT_TRUE(ending.ok());
    EXPECT_TRUE(ending->interrupted) << name_of(scenario);
  }
}

TEST(Dispatcher, AllScenariosRunOnTheRealClock) {
  for (const auto scenario :
       {Scenario::single_stream, Scenario::multi_stream, Scenario::closed, Scenario::offline, Scenario::server}) {
    NullTarget target({.service_time = milliseconds(1), .slots = 8});
    QueryRecorder recorder({});
    SpinningClock clock;
    ShuffledSamples order(10, 1);
    PoissonArrivals arrivals(5000, 1);
    const LoadPlan plan{.scenario = scenario, .samples_per_query = 4, .concurrency = 4, .min_queries = 50};
    const auto ending = run_load(plan, {&arrivals, order, target, recorder, clock}, {});
    ASSERT_TRUE(ending.ok());
    EXPECT_EQ(ending->queries, 50u) << name_of(scenario);
    EXPECT_EQ(ending->lost, 0u);
    EXPECT_EQ(recorder.in_flight(), 0u);
    EXPECT_EQ(evaluate_load(plan, {}, recorder, *ending).success_rate, 1);
  }
}

}  // namespace
}  // namespace assay
