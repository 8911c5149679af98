#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "loadgen/load_clock.h"
#include "target/target.h"

namespace assay {

/// A target and its clock in one: time moves only when the load generator waits, so that a test of minutes takes no
/// time and always ends the same way. Answers come after what `serve` says; none for a negative time.
class SimulatedServer : public Target, public LoadClock {
 public:
  /// From the request and the moment of sending to the time that its answer takes.
  using Serve = std::function<Nanos(const Request& request, SteadyTime sent)>;
  explicit SimulatedServer(Serve serve) : serve_(std::move(serve)) {}

  /// Time from which and until which nothing is answered.
  void stall(Nanos from, Nanos until) {
    stall_from_ = kStart + from;
    stall_until_ = kStart + until;
  }
  Nanos first_token_after{0};  ///< of each answer
  std::uint32_t output_tokens = 1;
  Nanos issue_takes{0};  ///< that the clock moves on with each issue: a slow client

  std::string_view name() const override { return "simulated"; }
  std::vector<std::string> endpoints() const override { return {"simulated"}; }
  Result<void> start(CompletionSink& sink, const TargetWishes& wishes) override {
    sink_ = &sink;
    wishes_ = wishes;
    return {};
  }
  void issue(std::span<const Request> requests) noexcept override {
    for (const auto& request : requests) {
      ++issued;
      const Nanos takes = serve_(request, now_);
      if (takes < Nanos(0)) continue;
      SteadyTime done = now_ + takes;
      if (done > stall_from_ && now_ < stall_until_) done = std::max(done, stall_until_ + takes);
      answers_.push({done, request.id, now_});
      now_ += issue_takes;
    }
  }
  void stop(SteadyTime) noexcept override { answers_ = {}; }

  SteadyTime now() noexcept override { return now_; }
  void wait_until(SteadyTime until) noexcept override {
    while (!answers_.empty() && answers_.top().done <= until) answer();
    now_ = std::max(now_, until);
  }
  void wait_for_change(WakeCounter& counter, std::uint32_t seen, SteadyTime deadline) noexcept override {
    while (counter.value() == seen && !answers_.empty() && answers_.top().done <= deadline) answer();
    if (counter.value() == seen) now_ = std::max(now_, deadline);
  }

  std::uint64_t issued = 0;

 private:
  struct Answer {
    SteadyTime done;
    std::uint64_t id;
    SteadyTime sent;
    bool operator<(const Answer& other) const { return done > other.done; }
  };
  void answer() {
    const Answer next = answers_.top();
    answers_.pop();
    now_ = std::max(now_, next.done);
    sink_->complete(Completion{.id = next.id,
                               .sent = next.sent,
                               .first_token = std::min(next.done, next.sent + first_token_after),
                               .done = next.done,
                               .input_tokens = 7,
                               .output_tokens = output_tokens});
  }

  static constexpr SteadyTime kStart{std::chrono::hours(1)};
  Serve serve_;
  SteadyTime now_ = kStart;
  SteadyTime stall_from_ = SteadyTime::max();
  SteadyTime stall_until_ = SteadyTime::min();
  CompletionSink* sink_ = nullptr;
  TargetWishes wishes_;
  std::priority_queue<Answer> answers_;
};

}  // namespace assay
