#include "fleet/fleet.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "fleet/agent_identity.h"
#include "fleet/counting_leader_fixture.h"
#include "fleet/fleet_time.h"
#include "fleet/small_recording_fixture.h"
#include "net/http_message.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Each;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;
using Kind = FleetFault::Kind;

constexpr std::size_t kSeries = 1 + 2 * 6;  // of a node with two GPUs
constexpr std::size_t kRare = 2;            // of these, recorded every 20 seconds

/// Time stands still while any node is busy: nothing here depends on how fast the machine is.
FleetSummary simulate(const FleetOptions& options, FleetHooks hooks = {}) {
  SteppedTime time;
  hooks.time = &time;
  const auto recording = FleetRecording::make(small_recording(), {.gpus = 2});
  auto summary = simulate_fleet(options, *recording, hooks);
  EXPECT_TRUE(summary.ok()) << summary.error().text();
  return summary.ok() ? std::move(*summary) : FleetSummary();
}

/// The different times at which a node has samples.
std::set<std::int64_t> times_of(const CountingLeader::Node& node) {
  std::set<std::int64_t> times;
  for (const auto& [place, value] : node.samples) times.insert(place.second);
  return times;
}

/// Whether the times have no gap.
bool is_whole(const std::set<std::int64_t>& times, Nanos period) {
  return !times.empty() &&
         *times.rbegin() - *times.begin() == static_cast<std::int64_t>(times.size() - 1) * period.count();
}

/// Asks a fleet to stop.
struct StopPipe {
  StopPipe() {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    read_end = FileDescriptor(fds[0]);
    write_end = FileDescriptor(fds[1]);
  }
  void ask() const { EXPECT_EQ(::write(write_end.get(), "s", 1), 1); }
  FileDescriptor read_end;
  FileDescriptor write_end;
};

HttpResponse status(int code) { return HttpResponse::json(code, R"({"error": {"message": "as asked"}})"); }

TEST(Fleet, EveryNodeSendsAllThatItReads) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 10;
  options.period = milliseconds(100);
  options.duration = seconds(5);
  const FleetSummary summary = simulate(options);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(summary.counts.acknowledged, summary.counts.samples);
  EXPECT_EQ(summary.counts.sent, summary.counts.samples) << "nothing twice";
  EXPECT_EQ(leader.samples(), summary.counts.samples);
  EXPECT_THAT(summary.counts.problems, IsEmpty());
  EXPECT_EQ(summary.series_per_node, kSeries);
  EXPECT_EQ(summary.counts.latency.count(), summary.counts.requests);
  const auto nodes = leader.nodes();
  ASSERT_THAT(nodes, SizeIs(10));
  std::set<std::string> devices;
  for (const auto& [name, node] : nodes) {
    EXPECT_THAT(name, MatchesRegex("sim0(0[1-9]|10)"));
    EXPECT_EQ(node.joins, 1) << name;
    EXPECT_EQ(node.hellos, 1) << name;
    EXPECT_EQ(node.hello.at("simulated"), true);
    EXPECT_EQ(node.hello.at("facts").at("os"), "simulated");
    EXPECT_THAT(node.names, SizeIs(kSeries));
    EXPECT_TRUE(is_whole(times_of(node), options.period)) << name;
    EXPECT_GE(times_of(node).size(), 40U) << "five seconds, less the start";
    EXPECT_THAT(node.batches, Each(1U));
    for (const auto& device : node.devices) EXPECT_TRUE(devices.insert(device.id).second);
    for (const auto time : times_of(node)) EXPECT_EQ(time % Nanos(options.period).count(), 0) << "on the grid";
  }
  EXPECT_THAT(devices, SizeIs(20));
}

TEST(Fleet, TheSameSeedSendsTheSame) {
  const auto play = [](std::uint64_t seed) {
    CountingLeader leader;
    FleetOptions options = leader.options();
    options.nodes = 3;
    options.seed = seed;
    options.duration = seconds(5);
    simulate(options);
    std::vector<std::string> identities;
    for (const auto& [name, node] : leader.nodes()) {
      for (const auto& device : node.devices) identities.push_back(device.id);
      identities.push_back(node.key);
    }
    return identities;
  };
  EXPECT_EQ(play(1), play(1)) << "also the keys: the same nodes may join again";
  EXPECT_NE(play(1), play(2));
}

TEST(Fleet, ALeaderThatForgotIsToldEverythingAgain) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.duration = seconds(12);
  int second = 0;
  FleetHooks hooks;
  hooks.on_second = [&](const FleetStatus&) {
    if (++second == 5) leader.forget("sim001");
  };
  const FleetSummary summary = simulate(options, hooks);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(leader.samples(), summary.counts.samples);
  const auto node = leader.nodes().at("sim001");
  EXPECT_EQ(node.hellos, 2);
  EXPECT_THAT(node.names, SizeIs(kSeries));
  EXPECT_EQ(summary.counts.problems.at("HTTP 410").count, 1U);
}

TEST(Fleet, SeriesThatTheLeaderDoesNotKnowAreNamedAgain) {
  CountingLeader leader;
  leader.answer_next("sim001", "/agent/v1/batch", {status(409), status(409)});
  FleetOptions options = leader.options();
  options.duration = seconds(10);
  const FleetSummary summary = simulate(options);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(leader.samples(), summary.counts.samples);
  EXPECT_EQ(leader.nodes().at("sim001").hellos, 1);
  EXPECT_EQ(summary.counts.refused, 2U);
  EXPECT_GT(summary.counts.sent, summary.counts.acknowledged);
}

TEST(Fleet, ARefusedBatchIsGivenUpAndTheRestGoesOn) {
  CountingLeader leader;
  leader.answer_next("sim002", "/agent/v1/batch", {status(413)});
  FleetOptions options = leader.options();
  options.nodes = 2;
  options.duration = seconds(10);
  const FleetSummary summary = simulate(options);
  EXPECT_FALSE(summary.complete());
  EXPECT_GT(summary.counts.given_up, 0U);
  EXPECT_LE(summary.counts.given_up, kSeries) << "one batch";
  EXPECT_EQ(summary.lost(), summary.counts.given_up);
  EXPECT_EQ(leader.samples() + summary.lost(), summary.counts.samples);
}

TEST(Fleet, AWrongBatchAmongSeveralIsFoundOut) {
  CountingLeader leader;
  HttpResponse later = status(503);
  later.headers.add("Retry-After", "4");
  leader.answer_next("sim001", "/agent/v1/batch", {std::move(later), status(400), status(400)});
  FleetOptions options = leader.options();
  options.duration = seconds(12);
  const FleetSummary summary = simulate(options);
  EXPECT_GT(summary.counts.given_up, 0U);
  EXPECT_LE(summary.counts.given_up, kSeries) << "the oldest alone, not all that were in the request";
  EXPECT_EQ(leader.samples() + summary.lost(), summary.counts.samples);
}

TEST(Fleet, ABusyLeaderIsGivenTheTimeItAsksFor) {
  CountingLeader leader;
  HttpResponse later = status(429);
  later.headers.add("Retry-After", "7");
  leader.answer_next("sim001", "/agent/v1/batch", {std::move(later)});
  FleetOptions options = leader.options();
  options.duration = seconds(20);
  const FleetSummary summary = simulate(options);
  EXPECT_TRUE(summary.complete());
  const auto node = leader.nodes().at("sim001");
  EXPECT_TRUE(is_whole(times_of(node), seconds(1)));
  ASSERT_FALSE(node.batches.empty());
  EXPECT_GE(node.batches.front(), 7U) << "everything was kept meanwhile";
  EXPECT_EQ(summary.counts.problems.at("HTTP 429").count, 1U);
}

TEST(Fleet, HoweverOftenALeaderFailedItIsAskedAgainWithinTenSeconds) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 5;
  options.duration = seconds(70);
  for (const char* node : {"sim001", "sim002", "sim003", "sim004", "sim005"}) {
    leader.answer_next(node, "/agent/v1/batch", std::vector<HttpResponse>(8, HttpResponse::json(500, "{}")));
  }
  std::size_t connected = 0;
  int second = 0;
  FleetHooks hooks;
  hooks.on_second = [&](const FleetStatus& status) {
    if (++second == 60) connected = status.connected;
  };
  const FleetSummary summary = simulate(options, hooks);
  EXPECT_EQ(summary.counts.refused, 40U);
  EXPECT_EQ(connected, 5U) << "after 1, 2, 4, 8, 10, 10, 10 and 10 seconds at most";
  EXPECT_TRUE(summary.complete());
}

TEST(Fleet, ANodeThatIsNotKnownAnyMoreJoinsAgain) {
  CountingLeader leader;
  leader.answer_next("sim001", "/agent/v1/batch", {status(401)});
  leader.answer_next("sim001", "/agent/v1/hello", {status(401)});
  FleetOptions options = leader.options();
  options.duration = seconds(15);
  const FleetSummary summary = simulate(options);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(leader.nodes().at("sim001").joins, 3);
  EXPECT_EQ(leader.samples(), summary.counts.samples);
}

TEST(Fleet, PauseAndPeriodAreObeyed) {
  CountingLeader leader;
  leader.add_to_acknowledgements("pause_ms", 3500);
  leader.add_to_acknowledgements("period_ms", 500);
  FleetOptions options = leader.options();
  options.duration = seconds(21);
  const FleetSummary summary = simulate(options);
  EXPECT_TRUE(summary.complete());
  const auto node = leader.nodes().at("sim001");
  EXPECT_LE(node.batches.size(), 7U);
  EXPECT_EQ(*std::ranges::max_element(node.batches), 7U);
  const auto times = times_of(node);
  EXPECT_GE(times.size(), 38U) << "twice a second after the first answer";
}

TEST(Fleet, AnswersThatMakeNoSenseAreNoReasonToLoseAnything) {
  CountingLeader leader;
  leader.answer_next("sim001", "/agent/v1/hello", {HttpResponse::text(200, "hello"), status(500)});
  leader.answer_next("sim001", "/agent/v1/batch",
                     {HttpResponse::text(200, "thanks"), HttpResponse::json(200, R"({"sequence": -5})"),
                      HttpResponse::json(200, R"({"sequence": 0})"), status(302)});
  FleetOptions options = leader.options();
  options.duration = minutes(2);
  const FleetSummary summary = simulate(options);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(leader.samples(), summary.counts.samples);
}

TEST(Fleet, AcknowledgesNothingThatWasNotSent) {
  CountingLeader leader;
  leader.add_to_acknowledgements("sequence", 1'000'000);
  FleetOptions options = leader.options();
  options.duration = seconds(10);
  const FleetSummary summary = simulate(options);
  EXPECT_EQ(leader.samples(), summary.counts.samples);
}

TEST(Fleet, AFlappingLinkIsFilledUpAfterwards) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 2;
  options.faults = {{.kind = Kind::flapping, .node = 1, .from = seconds(5)}};
  // Ends while the link is away for the second time.
  options.duration = seconds(65);
  Nanos most_behind{};
  FleetHooks hooks;
  hooks.on_second = [&](const FleetStatus& status) { most_behind = std::max(most_behind, status.behind); };
  const FleetSummary summary = simulate(options, hooks);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(leader.samples(), summary.counts.samples);
  const auto node = leader.nodes().at("sim002");
  EXPECT_TRUE(is_whole(times_of(node), seconds(1)));
  EXPECT_GE(times_of(node).size(), 63U);
  EXPECT_GE(*std::ranges::max_element(node.batches), 28U) << "what was kept for 30 seconds";
  EXPECT_GE(most_behind, seconds(28));
  EXPECT_THAT(leader.nodes().at("sim001").batches, Each(1U));
}

TEST(Fleet, ADeadNodeFallsSilentAndComesBack) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 2;
  options.faults = {{.kind = Kind::node_dead, .node = 0, .from = seconds(5), .until = seconds(15)},
                    {.kind = Kind::node_dead, .node = 1, .from = seconds(10)}};
  options.duration = seconds(25);
  FleetHooks hooks;
  hooks.on_second = [](const FleetStatus& status) { EXPECT_LT(status.behind, seconds(1)); };
  const FleetSummary summary = simulate(options, hooks);
  EXPECT_TRUE(summary.complete()) << "what was never read is not lost";
  const auto nodes = leader.nodes();
  EXPECT_FALSE(is_whole(times_of(nodes.at("sim001")), seconds(1)));
  EXPECT_NEAR(static_cast<double>(times_of(nodes.at("sim001")).size()), 15, 1);
  EXPECT_NEAR(static_cast<double>(times_of(nodes.at("sim002")).size()), 9, 1);
}

TEST(Fleet, ASkewedClockIsAheadInAllThatItSays) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 2;
  options.faults = {{.kind = Kind::skew, .node = 1}};
  options.duration = seconds(10);
  simulate(options);
  const auto nodes = leader.nodes();
  const auto& right = nodes.at("sim001");
  const auto& ahead = nodes.at("sim002");
  EXPECT_EQ(*times_of(ahead).rbegin() - *times_of(right).rbegin(), Nanos(seconds(5)).count());
  EXPECT_NEAR(static_cast<double>(ahead.sent_ns.back() - right.sent_ns.back()) * 1e-9, 5, 0.3);
}

TEST(Fleet, SendsRightAfterTheGridTime) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 20;
  options.duration = seconds(5);
  simulate(options);
  std::set<std::int64_t> offsets;
  for (const auto& [name, node] : leader.nodes()) {
    for (std::size_t i = 1; i < node.sent_ns.size(); ++i) {
      const std::int64_t offset = node.sent_ns[i] % Nanos(seconds(1)).count();
      EXPECT_LE(offset, Nanos(milliseconds(200)).count());
      offsets.insert(offset);
    }
  }
  EXPECT_GE(offsets.size(), 19U) << "not all at once";
}

TEST(Fleet, SlowReadersStillSayThatTheyAreThere) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.period = seconds(30);
  options.duration = seconds(61);
  const FleetSummary summary = simulate(options);
  EXPECT_GE(summary.counts.requests, 50U) << "a heartbeat each second";
  EXPECT_LE(summary.counts.requests, 70U);
  EXPECT_LE(times_of(leader.nodes().at("sim001")).size(), 3U);
  EXPECT_TRUE(summary.complete());
}

TEST(Fleet, EndsThoughTheLeaderHasGone) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 3;
  options.duration = seconds(30);
  int second = 0;
  FleetHooks hooks;
  std::size_t connected = 99;
  hooks.on_second = [&](const FleetStatus& status) {
    if (++second == 10) leader.stop();
    if (second == 20) connected = status.connected;
  };
  const FleetSummary summary = simulate(options, hooks);
  EXPECT_EQ(connected, 0U);
  EXPECT_FALSE(summary.complete());
  EXPECT_EQ(summary.lost(), summary.undelivered);
  EXPECT_GT(summary.undelivered, 3 * 18 * (kSeries - kRare));
  EXPECT_FALSE(summary.counts.problems.empty());
  EXPECT_FALSE(summary.stopped);
}

TEST(Fleet, TriesAgainAtTheEndHoweverLongItWantedToWait) {
  CountingLeader leader;
  leader.answer_next("sim001", "/agent/v1/batch",
                     {status(500), status(500), status(500), status(500), status(500), status(500)});
  FleetOptions options = leader.options();
  options.duration = seconds(44);
  options.drain = seconds(2);
  const FleetSummary summary = simulate(options);
  EXPECT_EQ(summary.counts.problems.at("HTTP 500").count, 6U);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(leader.samples(), summary.counts.samples);
}

TEST(Fleet, StopsWhenItIsToldTo) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 4;
  const StopPipe pipe;
  FleetHooks hooks;
  hooks.stop_fd = pipe.read_end.get();
  int second = 0;
  hooks.on_second = [&](const FleetStatus&) {
    if (++second == 6) pipe.ask();
  };
  const FleetSummary summary = simulate(options, hooks);
  EXPECT_TRUE(summary.stopped);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(leader.samples(), summary.counts.samples);
  EXPECT_GT(summary.counts.samples, 0U);
  EXPECT_GE(::fcntl(pipe.read_end.get(), F_GETFD), 0) << "the caller's descriptor is still open";
}

TEST(Fleet, ASecondRequestEndsItAtOnce) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 2;
  options.drain = std::chrono::hours(100);
  const StopPipe pipe;
  FleetHooks hooks;
  hooks.stop_fd = pipe.read_end.get();
  int second = 0;
  hooks.on_second = [&](const FleetStatus&) {
    ++second;
    if (second == 5) leader.stop();
    if (second == 7 || second == 9) pipe.ask();
  };
  const FleetSummary summary = simulate(options, hooks);
  EXPECT_TRUE(summary.stopped);
  EXPECT_GT(summary.undelivered, 0U);
  EXPECT_LT(summary.elapsed, options.drain);
}

TEST(Fleet, LivesInTheTimeOfTheMachineToo) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.period = milliseconds(20);
  options.duration = milliseconds(200);
  const auto recording = *FleetRecording::make(small_recording(), {.gpus = 2});
  const auto summary = simulate_fleet(options, recording);
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(summary->complete());
  EXPECT_GE(summary->elapsed, milliseconds(200));
  EXPECT_EQ(leader.samples(), summary->counts.samples);
  EXPECT_GT(summary->counts.samples, 0U);
}

TEST(Fleet, TheFirstNodeTellsWhatIsWrongForAll) {
  const auto recording = *FleetRecording::make(small_recording(), {.gpus = 1});
  const auto error_of = [&](const FleetOptions& options) {
    const auto summary = simulate_fleet(options, recording);
    EXPECT_FALSE(summary.ok());
    return summary.ok() ? Error{} : summary.error();
  };
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.duration = seconds(1);
  options.join_secret = "another secret";
  EXPECT_EQ(error_of(options).kind, ErrorKind::denied);
  options = leader.options();
  options.duration = seconds(1);
  leader.answer_next("sim001", "/agent/v1/join", {status(409)});
  const Error other_key = error_of(options);
  EXPECT_EQ(other_key.kind, ErrorKind::denied);
  EXPECT_THAT(other_key.hint, testing::HasSubstr("assay token revoke node:sim001"));
  leader.stop();
  EXPECT_EQ(error_of(options).kind, ErrorKind::unreachable);
}

TEST(Fleet, OptionsAreChecked) {
  const auto recording = *FleetRecording::make(small_recording(), {.gpus = 1});
  const auto kind_of = [&](const FleetOptions& options) { return simulate_fleet(options, recording).error().kind; };
  EXPECT_EQ(kind_of({.nodes = 0}), ErrorKind::usage);
  EXPECT_EQ(kind_of({.nodes = kMostSimulatedNodes + 1}), ErrorKind::usage);
  EXPECT_EQ(kind_of({.prefix = "a b"}), ErrorKind::usage);
  EXPECT_EQ(kind_of({.prefix = std::string(64, 'a')}), ErrorKind::usage);
  EXPECT_EQ(kind_of({.period = milliseconds(1)}), ErrorKind::usage);
}

TEST(Fleet, TheSummaryAsJsonHasEverything) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.duration = seconds(3);
  const json::object summary = to_json(simulate(options));
  EXPECT_EQ(summary.at("samples").at("lost"), 0);
  EXPECT_EQ(summary.at("samples").at("acknowledged"), leader.samples());
  EXPECT_GT(summary.at("batch_latency_ms").at("p99").to_number<double>(), 0);
  EXPECT_GT(summary.at("bytes").to_number<double>(), 100);
  EXPECT_EQ(summary.at("errors"), json::object());
}

TEST(AgentIdentity, NamesAndKeysAreStable) {
  EXPECT_EQ(simulated_node_name("sim", 0, 5), "sim001");
  EXPECT_EQ(simulated_node_name("rack-a", 999, 1000), "rack-a1000");
  EXPECT_EQ(simulated_node_name("s", 0, 10'000), "s00001");
  const std::string key = simulated_node_key("secret", "sim001");
  EXPECT_THAT(key, MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(key, simulated_node_key("secret", "sim001"));
  EXPECT_NE(key, simulated_node_key("secret", "sim002"));
  EXPECT_NE(key, simulated_node_key("other", "sim001"));
}

}  // namespace
}  // namespace assay
