#include "loadgen/dispatcher.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace assay {
namespace {

constexpr Nanos kStopNoticed = std::chrono::milliseconds(50);  // how long a wait goes on without looking
constexpr Nanos kIdle = std::chrono::milliseconds(1);          // a wait long enough for something else
constexpr Nanos kStopping = std::chrono::seconds(5);           // that a target may take to tidy up
constexpr Nanos kAfterTimeout = std::chrono::seconds(1);       // a target's own clock may be that late
constexpr std::size_t kTogether = 64;                          // open loops: requests behind schedule in one call
constexpr std::size_t kOfflineTogether = 1024;

/// One load, on one thread.
class Dispatch {
 public:
  Dispatch(const LoadPlan& plan, const LoadParts& parts, const std::stop_token& stopping)
      : plan_(plan),
        order_(parts.order),
        target_(parts.target),
        recorder_(parts.recorder),
        clock_(parts.clock),
        stopping_(stopping),
        per_query_(plan.scenario == Scenario::multi_stream ? plan.samples_per_query : 1) {}

  void by_the_clock(ArrivalProcess& arrivals);
  void one_after_the_other(std::uint32_t together);
  void keep_in_flight(std::uint32_t concurrency);
  void all_at_once();
  void drain();

  LoadEnding ending;

 private:
  /// Before a request that is due then. The minimum is reached by a request that is due after it, as LoadGen has it.
  bool enough(Nanos due) const {
    if (plan_.max_queries > 0 && next_id_ >= plan_.max_queries * per_query_) return true;
    if (plan_.max_duration > Nanos(0) && due > plan_.max_duration) return true;
    return last_due_ >= plan_.warmup + plan_.min_duration && next_id_ - in_warmup_ >= plan_.min_queries * per_query_;
  }
  void add(SteadyTime scheduled) {
    last_due_ = scheduled - ending.start;
    if (last_due_ < plan_.warmup) ++in_warmup_;
    batch_[batched_++] = {.id = next_id_++, .sample = order_.next(), .scheduled = scheduled};
  }
  bool issue(SteadyTime now) {
    const std::span<const Request> requests(batch_.data(), batched_);
    batched_ = 0;
    if (!recorder_.take_down(requests, now)) {
      ending.out_of_memory = true;
      return false;
    }
    target_.issue(requests);
    return true;
  }
  bool stopped() {
    if (stopping_.stop_requested()) ending.interrupted = true;
    return ending.interrupted;
  }
  /// Waits for a point in time, or until somebody asks to stop.
  bool wait(SteadyTime until, SteadyTime now);
  /// Waits for answers until at most `most` requests are in flight. False: stopped, or given up.
  bool wait_for_answers(std::uint32_t most, SteadyTime deadline);

  const LoadPlan& plan_;
  SampleOrder& order_;
  Target& target_;
  QueryRecorder& recorder_;
  LoadClock& clock_;
  const std::stop_token& stopping_;
  std::uint64_t per_query_;
  std::array<Request, kOfflineTogether> batch_{};
  std::size_t batched_ = 0;
  std::uint64_t next_id_ = 0;
  std::uint64_t in_warmup_ = 0;
  Nanos last_due_{-1};
};

bool Dispatch::wait(SteadyTime until, SteadyTime now) {
  if (until - now > kIdle) recorder_.get_ready();
  while (until - now > kStopNoticed) {
    if (stopped()) return false;
    clock_.wait_until(std::min(until, now + kStopNoticed));
    now = clock_.now();
  }
  if (stopped()) return false;
  clock_.wait_until(until);
  return true;
}

bool Dispatch::wait_for_answers(std::uint32_t most, SteadyTime deadline) {
  for (;;) {
    // The counter first: an answer that comes after it was read ends the wait below.
    const std::uint32_t seen = recorder_.completions().value();
    if (static_cast<std::uint32_t>(next_id_) - seen <= most) return true;
    const SteadyTime now = clock_.now();
    if (stopped() || now >= deadline) return false;
    clock_.wait_for_change(recorder_.completions(), seen, std::min(deadline, now + kStopNoticed));
  }
}

void Dispatch::by_the_clock(ArrivalProcess& arrivals) {
  Nanos due = arrivals.next();
  SteadyTime now = clock_.now();
  while (due != ArrivalProcess::kNever && !enough(due)) {
    const SteadyTime when = ending.start + due;
    if (when > now) {
      if (!wait(when, now)) return;
      now = clock_.now();
    } else if (stopped()) {
      return;
    }
    // Whatever became due in the meantime goes out together: a dispatcher that is behind catches up.
    do {
      add(ending.start + due);
      due = arrivals.next();
    } while (batched_ < kTogether && due != ArrivalProcess::kNever && ending.start + due <= now && !enough(due));
    if (!issue(now)) return;
    now = clock_.now();
  }
}

void Dispatch::one_after_the_other(std::uint32_t together) {
  SteadyTime now = clock_.now();
  while (!enough(now - ending.start)) {
    for (std::uint32_t i = 0; i < together; ++i) {
      add(now);
      if (batched_ == batch_.size() && !issue(now)) return;
    }
    if (batched_ > 0 && !issue(now)) return;
    if (!wait_for_answers(0, SteadyTime::max())) return;
    now = clock_.now();
  }
}

void Dispatch::keep_in_flight(std::uint32_t concurrency) {
  SteadyTime now = clock_.now();
  while (!enough(now - ending.start)) {
    const std::uint32_t in_flight = static_cast<std::uint32_t>(next_id_) - recorder_.completions().value();
    const std::size_t room = std::min<std::size_t>(concurrency - std::min(in_flight, concurrency), batch_.size());
    while (batched_ < room && !enough(now - ending.start)) add(now);
    if (batched_ > 0 && !issue(now)) return;
    if (!wait_for_answers(concurrency - 1, SteadyTime::max())) return;
    now = clock_.now();
  }
}

void Dispatch::all_at_once() {
  const SteadyTime start = ending.start;
  while (next_id_ < plan_.min_queries) {
    if (stopped()) return;
    const std::uint64_t left = plan_.min_queries - next_id_;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(left, batch_.size()); ++i) add(start);
    if (!issue(clock_.now())) return;
  }
}

void Dispatch::drain() {
  const SteadyTime issued = clock_.now();
  ending.issuing = issued - ending.start;
  const SteadyTime patience = issued + plan_.wishes.request_timeout + kAfterTimeout;
  if (!ending.interrupted) wait_for_answers(0, patience);
  ending.duration = clock_.now() - ending.start;
  target_.stop(clock_.now() + kStopping);
  ending.lost = recorder_.close();
  ending.queries = next_id_ / per_query_;
}

}  // namespace

Result<LoadEnding> run_load(const LoadPlan& plan, const LoadParts& parts, const std::stop_token& stopping) {
  ASSAY_ASSERT(parts.arrivals || !is_open_loop(plan.scenario));
  ASSAY_CHECK(parts.target.start(parts.recorder, plan.wishes));
  Dispatch dispatch(plan, parts, stopping);
  ClientWatch watch;
  watch.begin(parts.target.threads(), parts.clock.now());
  dispatch.ending.start = parts.clock.now();
  parts.recorder.start_at(dispatch.ending.start);
  switch (plan.scenario) {
    case Scenario::single_stream: dispatch.one_after_the_other(1); break;
    case Scenario::multi_stream: dispatch.one_after_the_other(plan.samples_per_query); break;
    case Scenario::closed: dispatch.keep_in_flight(plan.concurrency); break;
    case Scenario::offline: dispatch.all_at_once(); break;
    case Scenario::server:
    case Scenario::constant:
    case Scenario::burst:
    case Scenario::ramp:
    case Scenario::trace: dispatch.by_the_clock(*parts.arrivals); break;
  }
  dispatch.ending.client = watch.end(parts.clock.now());
  dispatch.drain();
  return dispatch.ending;
}

}  // namespace assay
