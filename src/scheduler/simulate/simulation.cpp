#include "scheduler/simulate/simulation.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <queue>
#include <unordered_map>

#include "scheduler/estimates.h"

namespace assay {
namespace {

/// How often somebody is asked whether to go on.
constexpr std::size_t kStepsPerQuestion = 1024;
constexpr double kLongestSeconds = 1e9;

WallTime at(double seconds) { return WallTime(Nanos(std::llround(seconds * 1e9))); }

std::uint32_t number_in(const std::string& id) {
  std::uint32_t number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number);
  return number;
}

class Simulation {
 public:
  Simulation(const Trace& trace, const std::vector<NodeOffer>& nodes, PolicyKind policy,
             const SimulationOptions& options)
      : trace_(trace), options_(options), policy_(make_policy(policy, nodes, options.scheduler)) {
    std::uint32_t row = 0;
    for (const NodeOffer& node : nodes) {
      nodes_[node.name] = {.speed = node.speed, .first_row = row};
      for (const GpuOffer& gpu : node.gpus) {
        if (row < options.timeline_rows) rows_[gpu.uuid] = row;
        ++row;
      }
    }
    gpus_ = row;
    run_.waits.assign(trace.jobs.size(), std::numeric_limits<double>::quiet_NaN());
    run_.completions = run_.waits;
  }

  Result<SimulatedRun> run() {
    std::size_t steps = 0;
    while (next_ < trace_.jobs.size() || !running_.empty()) {
      const double arrival = next_ < trace_.jobs.size() ? trace_.jobs[next_].submitted : kLongestSeconds * 10;
      now_ = running_.empty() ? arrival : std::min(arrival, running_.top().end);
      while (!running_.empty() && running_.top().end <= now_) end_first();
      while (next_ < trace_.jobs.size() && trace_.jobs[next_].submitted <= now_) submit_next();
      for (const JobPlacement& placement : policy_->decide(at(now_))) start(placement);
      if (options_.go_on && ++steps % kStepsPerQuestion == 0 && !options_.go_on(ended_)) {
        return Error{.kind = ErrorKind::interrupted, .message = "the simulation was stopped"};
      }
    }
    run_.makespan = now_;
    run_.available = now_ * gpus_;
    return std::move(run_);
  }

 private:
  struct Ending {
    double end = 0;
    std::uint32_t job = 0;
    bool operator>(const Ending& other) const { return end != other.end ? end > other.end : job > other.job; }
  };
  struct NodePlace {
    double speed = 1;
    std::uint32_t first_row = 0;
  };

  /// From its name and GPUs, its user, everything: jobs of one name are alike.
  std::array<std::string, 3> keys_of(const TraceJob& job) const {
    return {fmt::format("{}/{}/{}", job.user, job.name, job.nodes * job.gpus), fmt::format("{}", job.user), "*"};
  }

  DurationEstimate estimate_of(const TraceJob& job) const {
    const auto nanos = [](double seconds) { return Nanos(std::llround(std::min(seconds, kLongestSeconds) * 1e9)); };
    if (job.estimate > 0) return {std::max(Nanos(1), nanos(job.estimate)), job.log_error};
    const auto limit = job.limit > 0 ? std::optional<Nanos>(nanos(job.limit)) : std::nullopt;
    return estimate_duration(history_, keys_of(job), std::nullopt, limit);
  }

  void submit_next() {
    const TraceJob& job = trace_.jobs[next_];
    JobRequest request{.id = fmt::format("{}", next_), .user = trace_.users[job.user]};
    request.needs.nodes = job.nodes;
    request.needs.gpus = job.gpus;
    request.needs.gpu_model = trace_.models[job.model];
    request.estimate = estimate_of(job);
    request.submitted = at(job.submitted);
    request.priority = job.priority;
    if (!policy_->submit(request)) ++run_.misfits;
    ++next_;
  }

  void start(const JobPlacement& placement) {
    const std::uint32_t number = number_in(placement.job);
    const TraceJob& job = trace_.jobs[number];
    double speed = std::numeric_limits<double>::infinity();
    std::size_t gpus = 0;
    for (const NodeShare& share : placement.shares) {
      speed = std::min(speed, nodes_.at(share.node).speed);
      gpus += share.gpus.size();
    }
    const double end = now_ + job.seconds / speed;
    run_.waits[number] = now_ - job.submitted;
    run_.completions[number] = end - job.submitted;
    run_.used += static_cast<double>(gpus) * (end - now_);
    running_.push({.end = end, .job = number});
    if (rows_.empty()) return;
    for (const NodeShare& share : placement.shares) {
      for (const std::string& gpu : share.gpus) {
        const auto row = rows_.find(gpu);
        if (row == rows_.end()) continue;
        run_.spans.push_back({.row = row->second, .start = now_, .end = end, .user = job.user, .job = number});
      }
    }
  }

  void end_first() {
    const std::uint32_t number = running_.top().job;
    running_.pop();
    ++ended_;
    policy_->ended(fmt::format("{}", number), at(now_));
    const TraceJob& job = trace_.jobs[number];
    if (job.estimate <= 0) history_.add(keys_of(job), at(job.seconds) - WallTime{});
  }

  const Trace& trace_;
  const SimulationOptions& options_;
  std::unique_ptr<SimulatedPolicy> policy_;
  DurationHistory history_;
  std::unordered_map<std::string, NodePlace> nodes_;
  std::unordered_map<std::string, std::uint32_t> rows_;  ///< of GPUs that are drawn
  double gpus_ = 0;
  double now_ = 0;
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> running_;
  SimulatedRun run_;
};

}  // namespace

Result<SimulatedRun> simulate(const Trace& trace, const std::vector<NodeOffer>& nodes, PolicyKind policy,
                              const SimulationOptions& options) {
  return Simulation(trace, nodes, policy, options).run();
}

}  // namespace assay
