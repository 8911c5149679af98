#include "leader/node_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace assay {
namespace {

/// How much one more request moves the known difference of clocks: rides out a request that waited in a queue.
constexpr double kSkewWeight = 0.2;
/// No request waits that long: a clock was set.
constexpr double kClockStep_s = 60;
/// A correction is kept until it is wrong by more than this: requests that wait look like a clock that is behind.
constexpr double kCorrectionSlack_s = 5;
constexpr std::size_t kSettlingRequests = 3;
/// Around the moment in which a clock went wrong.
constexpr Nanos kEdge = std::chrono::seconds(60);
/// An agent may claim to live in any year: with this, sums of times fit.
constexpr double kMaxSkew_s = 4e9;

Nanos nanos_of_skew(double seconds) { return Nanos(std::llround(std::clamp(seconds, -kMaxSkew_s, kMaxSkew_s) * 1e9)); }

}  // namespace

bool NodeClock::is_wrong() const { return known_ && std::abs(skew_s_) > kWrong_s; }

void NodeClock::note_change(SteadyTime at) {
  changed_ = at;
  seen_ = 0;
  correction_s_ = skew_s_;
  changes_.push_back(at);
  // More than enough to call it unsteady, however fast they come.
  if (changes_.size() > 2 * kUnsteadyChanges) changes_.pop_front();
}

void NodeClock::observe(double skew_s, Heartbeat now) {
  const bool was_wrong = is_wrong();
  const bool is_first = !known_;
  const double change = skew_s - skew_s_;
  const bool is_step = is_first || std::abs(change) > kClockStep_s;
  skew_s_ = is_step ? skew_s : skew_s_ + kSkewWeight * change;
  known_ = true;
  latest_ = now.at;
  if (is_first) {
    changed_ = now.at;
    correction_s_ = skew_s_;
  } else if (is_step || (is_wrong() && std::abs(skew_s_ - correction_s_) > kCorrectionSlack_s)) {
    note_change(now.at);
  }
  ++seen_;
  if (is_wrong() && !was_wrong && !is_first) wrong_since_ = now.wall;
  while (!changes_.empty() && now.at - changes_.front() > kUnsteadySpan) changes_.pop_front();
}

NodeClock::State NodeClock::state() const {
  if (!is_wrong() || ours_is_doubtful_) return State::right;
  if (changes_.size() >= kUnsteadyChanges) return State::unsteady;
  return latest_ - changed_ < kSettles || seen_ < kSettlingRequests ? State::settling : State::corrected;
}

std::int64_t NodeClock::corrected(std::int64_t time_ns, WallTime now) const {
  if (state() != State::corrected) return time_ns;
  const std::int64_t off = nanos_of_skew(correction_s_).count();
  std::int64_t right = 0;
  if (__builtin_sub_overflow(time_ns, off, &right)) return time_ns;
  const bool was_read_before =
      wrong_since_ != WallTime::min() && right < (wrong_since_ - kEdge).time_since_epoch().count();
  const bool would_be_ahead = right > (now + kEdge).time_since_epoch().count();
  return was_read_before || would_be_ahead ? time_ns : right;
}

WallTime NodeClock::shown(WallTime now) const {
  return !known_ || state() == State::corrected ? now : now + nanos_of_skew(skew_s_);
}

std::string NodeClock::note() const {
  const State now = state();
  if (now == State::right) return {};
  const std::string off =
      fmt::format("{} {}", format_duration(nanos_of_skew(std::abs(skew_s_))), skew_s_ > 0 ? "ahead" : "behind");
  switch (now) {
    case State::settling: return off + ", was just set: what it sends waits";
    case State::corrected: return off + ", times corrected";
    default: return off + " and unsteady: its samples are refused";
  }
}

}  // namespace assay
