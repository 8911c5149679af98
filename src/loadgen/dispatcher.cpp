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

/// Goes over a schedule request by request, and knows which are a share's own and when there have been enough.
class ScheduleWalk {
 public:
  ScheduleWalk(const LoadPlan& plan, SampleOrder& order)
      : plan_(plan),
        order_(order),
        whole_(is_open_loop(plan.scenario)),
        per_query_(plan.scenario == Scenario::multi_stream ? plan.samples_per_query : 1),
        least_(whole_ ? plan.min_queries : share_of(plan.min_queries, plan.share)),
        most_(whole_ ? plan.max_queries : share_of(plan.max_queries, plan.share)),
        before_own_(plan.share.index) {
    ASSAY_ASSERT(per_query_ == 1 || plan.share.count == 1);
  }

  /// Before a request that is due then. The minimum is reached by a request that is due after it, as LoadGen has it.
  bool enough(Nanos due) const {
    const std::uint64_t counted = whole_ ? passed_ : taken_;
    if (plan_.max_queries > 0 && counted >= most_ * per_query_) return true;
    if (plan_.max_duration > Nanos(0) && due > plan_.max_duration) return true;
    return last_due_ >= plan_.warmup + plan_.min_duration && counted - in_warmup_ >= least_ * per_query_;
  }
  bool own() const { return before_own_ == 0; }
  /// The next one is another client's.
  void pass(Nanos due) {
    static_cast<void>(order_.next());
    --before_own_;
    step(due);
  }
  /// The next one of our own; its sample.
  std::uint32_t take(Nanos due) {
    for (; before_own_ > 0; --before_own_) static_cast<void>(order_.next());
    const std::uint32_t sample = order_.next();
    before_own_ = plan_.share.count - 1;
    ++taken_;
    step(due);
    return sample;
  }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t per_query() const { return per_query_; }
  std::uint64_t least() const { return least_; }

 private:
  void step(Nanos due) {
    ++passed_;
    last_due_ = due;
    if (due < plan_.warmup) ++in_warmup_;
  }

  const LoadPlan& plan_;
  SampleOrder& order_;
  bool whole_;  ///< of everybody's requests it is decided when there are enough
  std::uint64_t per_query_;
  std::uint64_t least_;
  std::uint64_t most_;
  std::uint32_t before_own_;  ///< others' requests before our next one; counted, since dividing takes longer
  std::uint64_t passed_ = 0;  ///< requests so far, others' included where we went over them one by one
  std::uint64_t taken_ = 0;
  std::uint64_t in_warmup_ = 0;
  Nanos last_due_{-1};
};

/// One load, on one thread.
class Dispatch {
 public:
  Dispatch(const LoadPlan& plan, const LoadParts& parts, const std::stop_token& stopping)
      : plan_(plan),
        walk_(plan, parts.order),
        target_(parts.target),
        recorder_(parts.recorder),
        clock_(parts.clock),
        stopping_(stopping) {}

  void begin(SteadyTime start);
  void by_the_clock(ArrivalProcess& arrivals);
  void one_after_the_other(std::uint32_t together);
  void keep_in_flight(std::uint32_t concurrency);
  void all_at_once();
  /// Waits for the answers to what was issued, or gives them up.
  void drain();
  /// Ends the target, and with it what is still in flight.
  void end();

  LoadEnding ending;

 private:
  bool enough(SteadyTime now) const { return walk_.enough(now - ending.start); }
  void add(SteadyTime scheduled) {
    const std::uint64_t id = walk_.taken();
    batch_[batched_++] = {.id = id, .sample = walk_.take(scheduled - ending.start), .scheduled = scheduled};
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
  ScheduleWalk walk_;
  Target& target_;
  QueryRecorder& recorder_;
  LoadClock& clock_;
  const std::stop_token& stopping_;
  std::array<Request, kOfflineTogether> batch_{};
  std::size_t batched_ = 0;
};

void Dispatch::begin(SteadyTime start) {
  ending.start = start;
  recorder_.start_at(start);
  wait(start, clock_.now());
  ending.began_late = std::max(Nanos(0), clock_.now() - start);
}

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
    if (static_cast<std::uint32_t>(walk_.taken()) - seen <= most) return true;
    const SteadyTime now = clock_.now();
    if (stopped() || now >= deadline) return false;
    clock_.wait_for_change(recorder_.completions(), seen, std::min(deadline, now + kStopNoticed));
  }
}

void Dispatch::by_the_clock(ArrivalProcess& arrivals) {
  Nanos due = arrivals.next();
  SteadyTime now = clock_.now();
  // Moves on to the next request of our own.
  const auto more = [&] {
    while (due != ArrivalProcess::kNever && !walk_.enough(due)) {
      if (walk_.own()) return true;
      walk_.pass(due);
      due = arrivals.next();
    }
    return false;
  };
  while (more()) {
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
    } while (batched_ < kTogether && more() && ending.start + due <= now);
    if (!issue(now)) return;
    now = clock_.now();
  }
}

void Dispatch::one_after_the_other(std::uint32_t together) {
  SteadyTime now = clock_.now();
  while (!enough(now) && !stopped()) {
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
  while (!enough(now) && !stopped()) {
    const std::uint32_t in_flight = static_cast<std::uint32_t>(walk_.taken()) - recorder_.completions().value();
    const std::size_t room = std::min<std::size_t>(concurrency - std::min(in_flight, concurrency), batch_.size());
    while (batched_ < room && !enough(now)) add(now);
    if (batched_ > 0 && !issue(now)) return;
    if (!wait_for_answers(concurrency - 1, SteadyTime::max())) return;
    now = clock_.now();
  }
}

void Dispatch::all_at_once() {
  const SteadyTime start = ending.start;
  while (walk_.taken() < walk_.least()) {
    if (stopped()) return;
    const std::uint64_t left = walk_.least() - walk_.taken();
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
}

void Dispatch::end() {
  target_.stop(clock_.now() + kStopping);
  ending.lost = recorder_.close();
  ending.queries = walk_.taken() / walk_.per_query();
}

}  // namespace

std::uint64_t share_of(std::uint64_t whole, const LoadShare& share) {
  ASSAY_ASSERT(share.index < share.count);
  return whole / share.count + (share.index < whole % share.count ? 1 : 0);
}

Result<LoadEnding> run_load(const LoadPlan& plan, const LoadParts& parts, const std::stop_token& stopping) {
  ASSAY_ASSERT(parts.arrivals || !is_open_loop(plan.scenario));
  ASSAY_CHECK(parts.target.start(parts.recorder, plan.wishes));
  SteadyTime start = parts.clock.now();
  if (parts.agree_start) {
    const auto agreed = parts.agree_start();
    if (!agreed) {
      parts.target.stop(parts.clock.now() + kStopping);
      return agreed.error();
    }
    start = *agreed;
  }
  Dispatch dispatch(plan, parts, stopping);
  ClientWatch watch(parts.proc);
  watch.begin(parts.target.threads(), parts.clock.now());
  dispatch.begin(start);
  if (!parts.agree_start) dispatch.ending.began_late = Nanos(0);
  switch (plan.scenario) {
    case Scenario::single_stream: dispatch.one_after_the_other(1); break;
    case Scenario::multi_stream: dispatch.one_after_the_other(plan.samples_per_query); break;
    case Scenario::closed:
      dispatch.keep_in_flight(static_cast<std::uint32_t>(share_of(plan.concurrency, plan.share)));
      break;
    case Scenario::offline: dispatch.all_at_once(); break;
    case Scenario::server:
    case Scenario::constant:
    case Scenario::burst:
    case Scenario::ramp:
    case Scenario::trace: dispatch.by_the_clock(*parts.arrivals); break;
  }
  dispatch.drain();
  // Answers are read until here; a target's threads are gone, and their figures with them, once it has stopped.
  dispatch.ending.client = watch.end(parts.clock.now());
  dispatch.end();
  return dispatch.ending;
}

std::vector<QueryRecord> lost_share(const LoadPlan& plan, ArrivalProcess* arrivals, SampleOrder& order, Nanos until) {
  ASSAY_ASSERT(plan.scenario != Scenario::closed && (arrivals || !is_open_loop(plan.scenario)));
  std::vector<QueryRecord> lost;
  ScheduleWalk walk(plan, order);
  const auto lose = [&](Nanos due) {
    QueryRecord record;
    record.scheduled_ns = record.sent_ns = record.done_ns = due.count();
    record.sample = walk.take(due);
    record.state = kEndedState + static_cast<std::uint8_t>(RequestOutcome::lost);
    lost.push_back(record);
  };
  if (!arrivals) {
    while (walk.taken() < walk.least()) lose(Nanos(0));
    return lost;
  }
  for (Nanos due = arrivals->next(); due <= until && !walk.enough(due); due = arrivals->next()) {
    if (due == ArrivalProcess::kNever) break;
    if (walk.own()) {
      lose(due);
    } else {
      walk.pass(due);
    }
  }
  return lost;
}

}  // namespace assay
