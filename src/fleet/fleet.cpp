#include "fleet/fleet.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <exception>
#include <utility>

#include "access/token_record.h"
#include "fleet/agent_identity.h"
#include "fleet/sim_agent.h"
#include "net/listener.h"
#include "telemetry/sampler.h"

namespace assay {
namespace {

using std::chrono::seconds;

/// What all nodes together may keep while the leader is away, and each of them at least and at most.
constexpr std::size_t kAllBacklogs = std::size_t{512} << 20;
constexpr std::size_t kSmallestBacklog = std::size_t{64} << 10;
constexpr std::size_t kLargestBacklog = std::size_t{16} << 20;
constexpr std::size_t kOtherFiles = 64;

double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Result<void> check(const FleetOptions& options) {
  const auto wrong = [](std::string message, std::string hint) {
    return Error{.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
  };
  if (options.nodes == 0 || options.nodes > kMostSimulatedNodes) {
    return wrong(fmt::format("{} nodes are not possible", options.nodes),
                 fmt::format("Take 1 to {}.", kMostSimulatedNodes));
  }
  if (options.period < kShortestPeriod || options.period > kLongestPeriod) {
    return wrong(fmt::format("a reading every {} s is not possible", seconds_of(options.period)),
                 "Take a rate from 100Hz down to one reading in ten minutes: 6/h.");
  }
  const std::string name = simulated_node_name(options.prefix, options.nodes - 1, options.nodes);
  if (!is_node_name(name)) {
    return wrong(fmt::format("'{}' cannot be the name of a node", name),
                 "A prefix has letters, digits, '-', '_' and '.', and the name at most 64 of them.");
  }
  ASSAY_TRY(const std::size_t files, raise_file_limit());
  if (files < options.nodes + kOtherFiles) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = fmt::format("{} nodes need as many connections; this process may open {} files",
                                        options.nodes, files),
                 .hint = "Raise the limit (ulimit -n) or take fewer nodes."};
  }
  return {};
}

/// What has been added since `before`. The problems are those of `now`.
FleetCounts difference(const FleetCounts& now, const FleetCounts& before) {
  FleetCounts since = now;
  since.samples -= before.samples;
  since.sent -= before.sent;
  since.acknowledged -= before.acknowledged;
  since.given_up -= before.given_up;
  since.overflowed -= before.overflowed;
  since.skipped_readings -= before.skipped_readings;
  since.requests -= before.requests;
  since.refused -= before.refused;
  since.bytes -= before.bytes;
  since.latency = now.latency.since(before.latency);
  return since;
}

class Fleet {
 public:
  Fleet(const FleetOptions& options, std::shared_ptr<const FleetRecording> recording, const FleetHooks& hooks)
      : hooks_(hooks),
        time_(hooks.time != nullptr ? *hooks.time : real_time_),
        state_{.options = options,
               .recording = std::move(recording),
               .time = time_,
               .start_wall = {},
               .backlog_bytes = std::clamp(kAllBacklogs / options.nodes, kSmallestBacklog, kLargestBacklog),
               .end = options.duration} {
    time_.start(context_.get_executor());
    state_.start_wall = time_.wall_at_start();
    for (std::size_t node = 0; node < options.nodes; ++node) {
      agents_.push_back(std::make_unique<SimAgent>(context_.get_executor(), state_, node));
    }
    if (hooks.stop_fd >= 0) stop_.assign(hooks.stop_fd);
  }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  // The descriptor is the caller's.
  ~Fleet() {
    if (stop_.is_open()) stop_.release();
  }

  /// What is wrong with leader, token or names shows with the first node, before there are a thousand complaints.
  Result<void> join_first() {
    Result<void> outcome = Error{.kind = ErrorKind::interrupted, .message = "stopped before the first node had joined"};
    if (stop_.is_open()) spawn(listen_for_stop());
    spawn(join_first_node(outcome));
    context_.run();
    context_.restart();
    return outcome;
  }

  FleetSummary run() {
    const double cpu_before = thread_cpu_seconds();
    running_ = agents_.size();
    for (std::size_t i = 0; i < agents_.size() + 1; ++i) time_.enter();
    for (auto& agent : agents_) spawn(run_agent(*agent));
    spawn(report());
    if (stop_.is_open()) spawn(listen_for_stop());
    context_.run();
    if (failure_) std::rethrow_exception(failure_);
    FleetSummary summary{.nodes = agents_.size(),
                         .series_per_node = state_.recording->tracks().size(),
                         .elapsed = time_.now(),
                         .counts = std::move(state_.counts),
                         .stopped = stops_ > 0,
                         .cpu_seconds = thread_cpu_seconds() - cpu_before};
    for (const auto& agent : agents_) summary.undelivered += agent->undelivered();
    return summary;
  }

 private:
  void spawn(IoTask<void> task) {
    asio::co_spawn(context_, std::move(task), [this](const std::exception_ptr& problem) {
      if (problem) fail(problem);
    });
  }

  /// Everything ends in order; who called `run` gets the first problem then.
  void fail(const std::exception_ptr& problem) {
    if (!failure_) failure_ = problem;
    stop(true);
  }

  IoTask<void> join_first_node(Result<void>& outcome) {
    auto joined = co_await agents_.front()->join();
    if (stops_ == 0) outcome = std::move(joined);
    if (stop_.is_open()) stop_.cancel();
  }

  IoTask<void> run_agent(SimAgent& agent) {
    try {
      co_await agent.run();
    } catch (...) {
      fail(std::current_exception());
    }
    time_.leave();
    if (--running_ > 0) co_return;
    // Nothing is left to report on or to stop.
    time_.wake_all();
    if (stop_.is_open()) stop_.cancel();
  }

  IoTask<void> report() {
    FleetCounts before;
    Nanos last = time_.now();
    while (running_ > 0) {
      co_await time_.wait_until(last + seconds(1));
      if (running_ == 0) break;
      FleetStatus status{.elapsed = time_.now(), .nodes = agents_.size(), .total = state_.counts};
      status.recent = difference(status.total, before);
      status.recent_time = status.elapsed - std::exchange(last, status.elapsed);
      for (const auto& agent : agents_) {
        status.connected += agent->connected() ? 1 : 0;
        status.behind = std::max(status.behind, agent->behind());
      }
      before = status.total;
      if (hooks_.on_second) hooks_.on_second(status);
    }
    time_.leave();
  }

  IoTask<void> listen_for_stop() {
    for (;;) {
      const auto [error] = co_await stop_.async_wait(asio::posix::descriptor_base::wait_read, kAsTask);
      if (error) co_return;
      char byte = 0;
      if (::read(stop_.native_handle(), &byte, 1) == 1) stop(stops_++ > 0);
    }
  }

  void stop(bool at_once) {
    const Nanos now = time_.now();
    if (!state_.end || *state_.end > now) state_.end = now;
    if (at_once || running_ == 0) {
      state_.given_up = true;
      for (auto& agent : agents_) agent->break_off();
    }
    time_.wake_all();
  }

  const FleetHooks& hooks_;
  asio::io_context context_{1};
  RealTime real_time_;
  FleetTime& time_;
  FleetState state_;
  std::vector<std::unique_ptr<SimAgent>> agents_;
  std::size_t running_ = 0;
  int stops_ = 0;
  asio::posix::basic_stream_descriptor<IoExecutor> stop_{context_};
  std::exception_ptr failure_;
};

}  // namespace

Result<FleetSummary> simulate_fleet(const FleetOptions& options, std::shared_ptr<const FleetRecording> recording,
                                    const FleetHooks& hooks) {
  ASSAY_CHECK(check(options));
  Fleet fleet(options, std::move(recording), hooks);
  ASSAY_CHECK(fleet.join_first());
  return fleet.run();
}

json::object to_json(const FleetSummary& summary) {
  const FleetCounts& counts = summary.counts;
  const auto milliseconds = [](Nanos time) { return seconds_of(time) * 1000; };
  json::object problems;
  for (const auto& [kind, problem] : counts.problems) {
    problems[kind] = json::object{{"count", problem.count}, {"example", problem.example}};
  }
  json::object samples{{"read", counts.samples},
                       {"sent", counts.sent},
                       {"acknowledged", counts.acknowledged},
                       {"lost", summary.lost()},
                       {"given_up", counts.given_up},
                       {"overflowed", counts.overflowed},
                       {"undelivered", summary.undelivered}};
  json::object latency{{"p50", milliseconds(counts.latency.percentile(0.5))},
                       {"p90", milliseconds(counts.latency.percentile(0.9))},
                       {"p99", milliseconds(counts.latency.percentile(0.99))},
                       {"max", milliseconds(counts.latency.largest())}};
  return {{"nodes", summary.nodes},
          {"series_per_node", summary.series_per_node},
          {"seconds", seconds_of(summary.elapsed)},
          {"samples", std::move(samples)},
          {"skipped_readings", counts.skipped_readings},
          {"requests", counts.requests},
          {"refused_requests", counts.refused},
          {"bytes", counts.bytes},
          {"batch_latency_ms", std::move(latency)},
          {"errors", std::move(problems)},
          {"stopped", summary.stopped},
          {"cpu_seconds", summary.cpu_seconds}};
}

}  // namespace assay
