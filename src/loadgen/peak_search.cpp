#include "loadgen/peak_search.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "loadgen/early_stopping.h"

namespace assay {
namespace {

constexpr double kKeepsUp = 0.95;        // of the offered load
constexpr double kAboveCapacity = 1.05;  // what was completed in one probe is uncertain by a few percent

bool keeps_up(const LoadProbe& probe) { return probe.completed_per_second >= kKeepsUp * probe.rate; }

}  // namespace

PeakSearch::PeakSearch(const PeakSearchOptions& options) : options_(options) {
  ASSAY_ASSERT(options.first > 0 && options.lowest > 0 && options.precision > 0);
}

bool PeakSearch::narrow() const {
  return !kept_.empty() && missed_ && *missed_ <= kept_.back() * (1 + options_.precision);
}

std::optional<double> PeakSearch::next() const {
  if (confirmed_ || probes_.size() >= options_.most_probes) return std::nullopt;
  if (again_) return again_;
  if (kept_.empty()) {
    if (!missed_) return client_limited_ ? std::nullopt : std::optional(options_.first);
    const double lower = std::min(*missed_ / 2, capacity_.value_or(*missed_) * kKeepsUp);
    return lower >= options_.lowest ? std::optional(lower) : std::nullopt;
  }
  const double low = kept_.back();
  // One probe is kept for the confirmation.
  if (narrow() || client_limited_ || low >= options_.highest || probes_.size() + 1 == options_.most_probes) return low;
  if (!missed_) return std::min(low * 2, options_.highest);
  return std::sqrt(low * *missed_);
}

void PeakSearch::take(const LoadProbe& probe) {
  const bool confirming = !kept_.empty() && probe.rate == kept_.back();
  probes_.push_back(probe);
  if (probe.verdict != ProbeVerdict::client_limited) again_.reset();
  switch (probe.verdict) {
    case ProbeVerdict::client_limited:
      // Once may be a moment's disturbance.
      client_limited_ = again_.has_value();
      again_ = client_limited_ ? std::nullopt : std::optional(probe.rate);
      return;
    case ProbeVerdict::kept:
      if (confirming) {
        confirmed_ = true;
      } else {
        kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), probe.rate), probe.rate);
      }
      return;
    case ProbeVerdict::missed: break;
  }
  if (!keeps_up(probe)) {
    capacity_ = std::max(capacity_.value_or(0), probe.completed_per_second);
  }
  double bound = probe.rate;
  if (!keeps_up(probe) && probe.completed_per_second > 0)
    bound = std::min(bound, probe.completed_per_second * kAboveCapacity);
  if (confirming) kept_.pop_back();
  // A rate that was kept before is not taken back by what was completed at another.
  if (!kept_.empty()) bound = std::max(bound, std::min(probe.rate, kept_.back() * (1 + options_.precision)));
  missed_ = std::min(missed_.value_or(bound), bound);
}

PeakFinding PeakSearch::finding() const {
  PeakFinding finding{.next_rate = missed_,
                      .capacity = capacity_,
                      .client_limited = client_limited_,
                      .precise = confirmed_ && narrow(),
                      .probes = static_cast<std::uint32_t>(probes_.size())};
  if (confirmed_) {
    finding.rate = kept_.back();
    finding.confidence = kEarlyStoppingConfidence;
  }
  return finding;
}

std::optional<SaturationKnee> find_knee(std::span<const LoadProbe> probes) {
  std::vector<LoadProbe> sorted;
  for (const auto& probe : probes) {
    if (probe.verdict != ProbeVerdict::client_limited && probe.rate > 0) sorted.push_back(probe);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.rate < b.rate; });
  const auto share = [](const LoadProbe& probe) { return probe.completed_per_second / probe.rate; };
  const auto broken = std::find_if(sorted.begin(), sorted.end(), [](const auto& probe) { return !keeps_up(probe); });
  if (broken == sorted.begin() || broken == sorted.end()) return std::nullopt;
  const LoadProbe& before = *(broken - 1);
  SaturationKnee knee;
  const double part = (share(before) - kKeepsUp) / (share(before) - share(*broken));
  knee.rate = before.rate + (broken->rate - before.rate) * std::clamp(part, 0.0, 1.0);
  for (const auto& probe : sorted) knee.capacity = std::max(knee.capacity, probe.completed_per_second);
  return knee;
}

}  // namespace assay
