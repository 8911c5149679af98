#include "loadgen/arrivals.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "base/portable_math.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 9> kScenarioNames = {
    "single_stream", "multi_stream", "server", "offline", "constant", "burst", "closed", "ramp", "trace"};

// Sums of doubles in nanoseconds keep fractions of a nanosecond for months.
Nanos whole_nanos(double ns) {
  constexpr double kLatest = 9.2e18;
  return ns < kLatest ? Nanos(static_cast<Nanos::rep>(ns)) : ArrivalProcess::kNever;
}

struct RampStep {
  double rate;
  double until_s;  ///< since the start
};
RampStep ramp_step(const Ramp& ramp, std::uint32_t index) {
  const double share = ramp.steps > 1 ? static_cast<double>(index) / (ramp.steps - 1) : 1;
  return {ramp.from_per_second + (ramp.to_per_second - ramp.from_per_second) * share,
          seconds_of(ramp.duration) * (index + 1) / ramp.steps};
}

}  // namespace

std::string_view name_of(Scenario scenario) { return kScenarioNames[static_cast<std::size_t>(scenario)]; }

std::optional<Scenario> scenario_from(std::string_view name) {
  const auto* const found = std::find(kScenarioNames.begin(), kScenarioNames.end(), name);
  if (found == kScenarioNames.end()) return std::nullopt;
  return static_cast<Scenario>(found - kScenarioNames.begin());
}

bool is_open_loop(Scenario scenario) {
  switch (scenario) {
    case Scenario::server:
    case Scenario::constant:
    case Scenario::burst:
    case Scenario::ramp:
    case Scenario::trace: return true;
    case Scenario::single_stream:
    case Scenario::multi_stream:
    case Scenario::offline:
    case Scenario::closed: return false;
  }
  return false;
}

PoissonArrivals::PoissonArrivals(double per_second, std::uint64_t seed)
    : random_(seed, "arrivals"), mean_gap_ns_(1e9 / per_second) {
  ASSAY_ASSERT(per_second > 0);
}

Nanos PoissonArrivals::next() noexcept {
  at_ns_ -= portable_log(random_.uniform()) * mean_gap_ns_;
  return whole_nanos(at_ns_);
}

Nanos ConstantArrivals::next() noexcept { return whole_nanos(static_cast<double>(next_++) * gap_ns_); }

BurstArrivals::BurstArrivals(double per_second, double unevenness, std::uint64_t seed)
    : random_(seed, "arrivals"), shape_(1 / unevenness), scale_ns_(unevenness * 1e9 / per_second) {
  ASSAY_ASSERT(per_second > 0 && unevenness > 0);
}

Nanos BurstArrivals::next() noexcept {
  at_ns_ += random_.gamma(shape_, scale_ns_);
  return whole_nanos(at_ns_);
}

double rate_at(const Ramp& ramp, Nanos since_start) {
  if (since_start >= ramp.duration) return ramp.to_per_second;
  const double share = seconds_of(since_start) / seconds_of(ramp.duration);
  if (ramp.steps == 0) return ramp.from_per_second + (ramp.to_per_second - ramp.from_per_second) * share;
  return ramp_step(ramp, static_cast<std::uint32_t>(share * ramp.steps)).rate;
}

double expected_arrivals(const Ramp& ramp, Nanos since_start) {
  const double length = seconds_of(ramp.duration);
  const double t = seconds_of(since_start);
  const double inside = std::min(t, length);
  double sum = ramp.to_per_second * (t - inside);
  if (ramp.steps == 0) {
    const double slope = length > 0 ? (ramp.to_per_second - ramp.from_per_second) / length : 0;
    return sum + inside * (ramp.from_per_second + slope * inside / 2);
  }
  double begin = 0;
  for (std::uint32_t i = 0; i < ramp.steps && begin < inside; ++i) {
    const RampStep step = ramp_step(ramp, i);
    sum += step.rate * (std::min(step.until_s, inside) - begin);
    begin = step.until_s;
  }
  return sum;
}

RampArrivals::RampArrivals(const Ramp& ramp, std::uint64_t seed) : ramp_(ramp), random_(seed, "arrivals") {
  ASSAY_ASSERT(ramp.from_per_second > 0 && ramp.to_per_second > 0 && ramp.duration >= Nanos(0));
}

double RampArrivals::time_of(double expected) const {
  const double length = seconds_of(ramp_.duration);
  const double inside = expected_arrivals(ramp_, ramp_.duration);
  if (expected >= inside) return length + (expected - inside) / ramp_.to_per_second;
  if (ramp_.steps == 0) {
    // expected = from·t + slope·t²/2, solved without subtracting numbers of the same size.
    const double from = ramp_.from_per_second;
    const double slope = (ramp_.to_per_second - from) / length;
    return 2 * expected / (from + std::sqrt(std::max(0.0, from * from + 2 * slope * expected)));
  }
  double begin = 0;
  double before = 0;
  for (std::uint32_t i = 0; i < ramp_.steps; ++i) {
    const RampStep step = ramp_step(ramp_, i);
    const double here = step.rate * (step.until_s - begin);
    if (expected < before + here) return begin + (expected - before) / step.rate;
    before += here;
    begin = step.until_s;
  }
  return length;
}

Nanos RampArrivals::next() noexcept {
  expected_ -= portable_log(random_.uniform());
  return whole_nanos(time_of(expected_) * 1e9);
}

Nanos TraceArrivals::next() noexcept {
  if (next_ == times_.size()) return kNever;
  return whole_nanos(static_cast<double>(times_[next_++].count()) / speed_up_);
}

}  // namespace assay
