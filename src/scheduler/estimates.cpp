#include "scheduler/estimates.h"

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"

namespace assay {
namespace {

/// What runs of one key are taken to spread by until several have shown otherwise, and how many runs that belief is
/// worth.
constexpr double kUnknownSpread = 0.5;
constexpr double kBeliefRuns = 2;

}  // namespace

void DurationHistory::add(std::span<const std::string> keys, Nanos duration) {
  if (duration <= Nanos(0)) return;
  const double value = portable_log(seconds_of(duration));
  for (const std::string& key : keys) {
    auto [place, is_new] = entries_.try_emplace(key);
    Entry& entry = place->second;
    if (is_new) {
      by_age_.push_front(key);
      entry.age = by_age_.begin();
    } else {
      by_age_.splice(by_age_.begin(), by_age_, entry.age);
    }
    ++entry.runs;
    const double step = value - entry.mean;
    entry.mean += step / static_cast<double>(entry.runs);
    entry.squares += step * (value - entry.mean);
  }
  while (entries_.size() > most_keys_) {
    entries_.erase(by_age_.back());
    by_age_.pop_back();
  }
}

std::optional<DurationHistory::Answer> DurationHistory::estimate(std::span<const std::string> keys) const {
  for (const std::string& key : keys) {
    const auto place = entries_.find(key);
    if (place == entries_.end()) continue;
    const Entry& entry = place->second;
    const auto runs = static_cast<double>(entry.runs);
    const double variance =
        (kBeliefRuns * kUnknownSpread * kUnknownSpread + entry.squares) / (kBeliefRuns + runs - 1) * (1 + 1 / runs);
    const double seconds = std::min(portable_exp(entry.mean), 1e9);
    return Answer{
        {Nanos(std::max<std::int64_t>(1, std::llround(seconds * 1e9))), std::sqrt(variance)}, key, entry.runs};
  }
  return std::nullopt;
}

DurationEstimate estimate_duration(const DurationHistory& history, std::span<const std::string> keys,
                                   std::optional<Nanos> specified, std::optional<Nanos> time_limit) {
  DurationEstimate estimate{std::chrono::minutes(10), 1.5};
  if (const auto known = history.estimate(keys)) {
    estimate = known->estimate;
  } else if (specified && *specified > Nanos(0)) {
    estimate = {*specified, 0.7};
  } else if (time_limit) {
    estimate = {*time_limit / 3, 1.2};
  }
  if (time_limit) estimate.expected = std::min(estimate.expected, *time_limit);
  estimate.expected = std::max(estimate.expected, Nanos(1));
  return estimate;
}

}  // namespace assay
