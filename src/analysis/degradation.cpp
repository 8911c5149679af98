#include "analysis/degradation.h"

#include <algorithm>
#include <cmath>

#include "analysis/statistics.h"
#include "analysis/steady_state.h"
#include "base/assert.h"

namespace assay {
namespace {

/// What the test needs to know of a baseline.
struct Baseline {
  double mean = 0;
  double median = 0;
  double spread = 0;    ///< standard deviation, widened for few runs and for runs that lean on each other
  double widening = 1;  ///< by how much
  double reach = 0;     ///< how far from a median a value may lie before it is pulled in
  double leaning = 0;   ///< autocorrelation
  double runs = 0;
};

/// Values further than `reach` from their median are pulled in to there: one bad run must neither shift a level nor
/// hide the next bad run by widening the spread. Reach 0 (more than half of the values equal) pulls nothing.
std::vector<double> winsorised(std::span<const double> values, double reach) {
  std::vector<double> pulled(values.begin(), values.end());
  if (reach == 0) return pulled;
  const double centre = median(values);
  for (double& value : pulled) value = std::clamp(value, centre - reach, centre + reach);
  return pulled;
}

double reach_of(std::span<const double> values, const DetectorSettings& settings) {
  return settings.winsor_limit * kMadToSigma * median_absolute_deviation(values);
}

Baseline describe(std::span<const double> values, const DetectorSettings& settings) {
  Baseline baseline{.median = median(values), .runs = static_cast<double>(values.size())};
  baseline.reach = reach_of(values, settings);
  const auto pulled = winsorised(values, baseline.reach);
  baseline.mean = mean(pulled);
  baseline.leaning = std::clamp(autocorrelation(pulled), 0.0, settings.most_autocorrelation);
  const double full = static_cast<double>(settings.rolling_window) - 1;
  const double few =
      (1 + settings.short_baseline_widening / (baseline.runs - 1)) / (1 + settings.short_baseline_widening / full);
  baseline.widening = few * std::sqrt((1 + baseline.leaning) / (1 - baseline.leaning));
  baseline.spread = standard_deviation(pulled) * baseline.widening;
  return baseline;
}

/// A tail whose level is `level` against a baseline whose level is `usual`.
SlowdownScan tail_scan(const Baseline& baseline, double usual, double level, std::size_t tail) {
  const double error = baseline.spread * std::sqrt(1 / static_cast<double>(tail) + 1 / baseline.runs);
  const double drop = usual - level;
  // A baseline without any spread: whatever lies below it is beyond doubt.
  const double z = error > 0 ? drop / error : drop > 0 ? 1e9 : 0;
  return {.z = z, .tail = tail, .effect_percent = -100 * drop / usual};
}

/// The better of mean and median: outliers drag the one, a tail half before the change the other.
double lenient_level(std::span<const double> tail, const Baseline& baseline, const DetectorSettings& settings) {
  const double average = settings.winsorise_tails ? mean(winsorised(tail, baseline.reach)) : mean(tail);
  return std::max(average, median(tail));
}

std::span<const double> last(std::span<const double> values, std::size_t count) {
  return values.subspan(values.size() - std::min(count, values.size()));
}

/// What the rolling rule holds against a tail of `tail` runs; empty where it is too short.
std::span<const double> rolling_baseline(std::span<const double> series, std::size_t tail,
                                         const DetectorSettings& settings) {
  if (series.size() < tail + settings.rolling_fewest) return {};
  return last(series.first(series.size() - tail), settings.rolling_window);
}

/// The spread that differences from one run to the next give: a step or a drift in between hardly shows in it.
double run_to_run_spread(std::span<const double> series, double leaning, const DetectorSettings& settings) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < series.size(); ++i) differences.push_back(series[i] - series[i - 1]);
  const auto pulled = winsorised(differences, reach_of(differences, settings));
  return standard_deviation(pulled) / std::sqrt(2 * (1 - leaning));
}

}  // namespace

DetectorSettings study_settings() {
  DetectorSettings settings;
  settings.rolling_trigger = 3.0;
  settings.anchored_trigger = 4.73;
  settings.winsorise_tails = false;
  settings.short_baseline_widening = 0;
  settings.confirmation_z = 3.3;
  settings.second_confirmation_runs = 0;
  settings.confirms_by_long_spread = false;
  settings.smallest_effect_percent = 0.4;
  settings.fewest_slow_share = 0;
  return settings;
}

DetectorSettings weak_settings() {
  DetectorSettings settings;
  settings.most_autocorrelation = 0.9;
  settings.smallest_effect_percent = 3;
  return settings;
}

std::optional<double> run_value(std::span<const double> repetitions, std::size_t fewest) {
  const auto kept = finite_values(repetitions);
  if (kept.empty() || kept.size() < fewest) return std::nullopt;
  return median(kept);
}

std::optional<Residual> peer_residual(const BaselinedValue& own, std::span<const BaselinedValue> peers,
                                      std::size_t fewest_peers) {
  const auto usable = [](const BaselinedValue& v) {
    return v.value > 0 && v.baseline > 0 && std::isfinite(v.value) && std::isfinite(v.baseline);
  };
  if (!usable(own)) return std::nullopt;
  const double relative = own.value / own.baseline;
  std::vector<double> others;
  for (const auto& peer : peers) {
    if (usable(peer)) others.push_back(peer.value / peer.baseline);
  }
  if (others.empty() || others.size() < fewest_peers) return Residual{100 * relative, true};
  return Residual{100 * relative / median(others), false};
}

SlowdownScan rolling_scan(std::span<const double> series, const DetectorSettings& settings) {
  SlowdownScan best;
  for (std::size_t k = settings.rolling_shortest_tail; k <= settings.longest_tail; ++k) {
    const auto before = rolling_baseline(series, k, settings);
    if (before.empty()) break;
    const Baseline baseline = describe(before, settings);
    const auto scan = tail_scan(baseline, baseline.mean, lenient_level(last(series, k), baseline, settings), k);
    if (scan.z > best.z) best = scan;
  }
  return best;
}

SlowdownScan anchored_scan(std::span<const double> anchor, std::span<const double> since,
                           const DetectorSettings& settings) {
  SlowdownScan best;
  if (anchor.size() < settings.anchor_runs) return best;
  const Baseline baseline = describe(anchor, settings);
  for (std::size_t k = settings.anchored_shortest_tail; k <= std::min(settings.longest_tail, since.size()); ++k) {
    const auto scan = tail_scan(baseline, baseline.median, median(last(since, k)), k);
    if (scan.z > best.z) best = scan;
  }
  return best;
}

std::string_view name_of(DetectorState state) {
  switch (state) {
    case DetectorState::learning: return "learning";
    case DetectorState::steady: return "steady";
    case DetectorState::muted: return "muted";
    case DetectorState::suspected: return "suspected";
    case DetectorState::degraded: return "degraded";
  }
  return "";
}

DetectorAnswer DegradationDetector::add(double residual_percent) {
  ASSAY_ASSERT(std::isfinite(residual_percent));
  series_.push_back(residual_percent);
  // The anchor, and what the longest tail and its rolling baseline reach back to.
  if (series_.size() > settings_.anchor_runs + settings_.rolling_window + settings_.longest_tail) {
    series_.erase(series_.begin() + static_cast<std::ptrdiff_t>(settings_.anchor_runs));
    cut_ = true;
  }
  if (state_ == DetectorState::suspected || state_ == DetectorState::degraded) return {.state = state_, .rule = rule_};
  if (series_.size() < settings_.rolling_fewest + settings_.rolling_shortest_tail) return {};
  if (mute_left_ > 0) {
    --mute_left_;
    state_ = DetectorState::muted;
    return {.state = state_};
  }

  const std::span<const double> all = series_;
  const auto recent = cut_ ? all.subspan(settings_.anchor_runs) : all;
  const auto rolling = rolling_scan(recent, settings_);
  const bool step = rolling.z > (settings_.confirms ? settings_.rolling_trigger : settings_.rolling_trigger_alone);
  const auto anchor = all.first(std::min(settings_.anchor_runs, all.size()));
  const auto anchored = anchored_scan(anchor, all.subspan(anchor.size()), settings_);
  const bool drift = anchored.z > (settings_.confirms ? settings_.anchored_trigger : settings_.anchored_trigger_alone);
  // Where both object, the one that sees more of the loss: a rolling baseline has followed a drift part of the way, and
  // what is left of it may be too little to confirm.
  if (drift && (!step || anchored.effect_percent < rolling.effect_percent)) {
    return suspect(DetectorRule::anchored, anchored, anchor);
  }
  if (step) return suspect(DetectorRule::rolling, rolling, rolling_baseline(recent, rolling.tail, settings_));
  state_ = DetectorState::steady;
  return {.state = state_, .scan = rolling};
}

DetectorAnswer DegradationDetector::suspect(DetectorRule rule, const SlowdownScan& scan,
                                            std::span<const double> baseline) {
  rule_ = rule;
  suspected_baseline_.assign(baseline.begin(), baseline.end());
  fresh_.clear();
  state_ = settings_.confirms ? DetectorState::suspected : DetectorState::degraded;
  return {.state = state_,
          .rule = rule,
          .scan = scan,
          .fresh_runs_wanted = settings_.confirms ? settings_.confirmation_runs : 0};
}

SlowdownScan DegradationDetector::confirmation_scan() const {
  Baseline baseline = describe(suspected_baseline_, settings_);
  if (settings_.confirms_by_long_spread) {
    const double spread = run_to_run_spread(series_, baseline.leaning, settings_) * baseline.widening;
    baseline.spread = std::max(baseline.spread, spread);
  }
  const double usual = rule_ == DetectorRule::anchored ? baseline.median : baseline.mean;
  return tail_scan(baseline, usual, lenient_level(fresh_, baseline, settings_), fresh_.size());
}

DetectorAnswer DegradationDetector::confirm(std::span<const double> fresh_residuals) {
  if (state_ != DetectorState::suspected) return {.state = state_, .rule = rule_};
  const auto fresh = finite_values(fresh_residuals);
  fresh_.insert(fresh_.end(), fresh.begin(), fresh.end());
  const std::size_t first = settings_.confirmation_runs;
  const std::size_t both = first + settings_.second_confirmation_runs;
  DetectorAnswer answer{.state = state_, .rule = rule_};
  if (fresh_.size() < first) {
    answer.fresh_runs_wanted = first - fresh_.size();
    return answer;
  }
  answer.scan = confirmation_scan();
  const bool more_to_come = fresh_.size() < both;
  const double usual = median(suspected_baseline_);
  const auto slow = std::count_if(fresh_.begin(), fresh_.end(), [&](double value) { return value < usual; });
  const bool noticeable = answer.scan.effect_percent <= -settings_.smallest_effect_percent &&
                          static_cast<double>(slow) >= settings_.fewest_slow_share * static_cast<double>(fresh_.size());
  const bool final_stage = !more_to_come && both > first;
  const double limit = final_stage ? settings_.second_confirmation_z : settings_.confirmation_z;
  const bool confirmed = noticeable && answer.scan.z > limit;
  if (!confirmed && more_to_come && answer.scan.z > settings_.refuted_z) {
    answer.fresh_runs_wanted = both - fresh_.size();
    return answer;
  }
  answer.state = state_ = confirmed ? DetectorState::degraded : DetectorState::muted;
  if (!confirmed) {
    mute_left_ = settings_.muted_runs;
    rule_ = DetectorRule::none;
  }
  return answer;
}

void DegradationDetector::rebaseline() { *this = DegradationDetector(settings_); }

FleetShift find_fleet_shift(std::span<const double> fleet_medians, double smallest_percent,
                            const DetectorSettings& settings) {
  constexpr double kTrigger = 4.0;  // naming a change of the fleet blames nobody
  constexpr double kMostMemory = 0.95;
  constexpr std::size_t kCompared = 5;  // runs on either side of the jump: few, since the level wanders
  FleetShift best;
  for (std::size_t k = settings.rolling_shortest_tail; k <= settings.longest_tail; ++k) {
    const auto before = rolling_baseline(fleet_medians, k, settings);
    if (before.empty()) break;
    const auto tail = last(fleet_medians, k);
    const double centre = median(before);
    const double memory = std::clamp(autocorrelation(winsorised(before, reach_of(before, settings))), 0.0, kMostMemory);
    // How far each run was from what the one before it let expect.
    std::vector<double> surprises;
    for (std::size_t i = 1; i < before.size(); ++i) {
      surprises.push_back((before[i] - centre) - memory * (before[i - 1] - centre));
    }
    const double jump = (tail.front() - centre) - memory * (before.back() - centre);
    const double spread = describe(surprises, settings).spread;
    const double z = spread > 0 ? std::fabs(jump) / spread : jump != 0 ? 1e9 : 0;
    const double lasting = median(tail.first(std::min(k, kCompared))) - median(last(before, kCompared));
    const double effect = 100 * lasting / centre;
    const bool lasts = lasting * jump > 0 && std::fabs(effect) >= smallest_percent;
    if (lasts && z > best.z) best = {.effect_percent = effect, .runs_since = k, .z = z};
  }
  best.shifted = best.z > kTrigger;
  return best;
}

}  // namespace assay
