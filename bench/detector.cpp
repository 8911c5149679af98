// How well slow GPUs are found: the detector of analysis/degradation.h on simulated fleets, beside Hunter's method and
// the fixed −5 % rule on the very same runs. `--seed S --noise MODEL` chooses fleets that nobody has tuned on.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "analysis/change_points.h"
#include "analysis/degradation.h"
#include "analysis/distributions.h"
#include "analysis/statistics.h"
#include "detector_fleet.h"

namespace {

using namespace assay;
using bench::Fleet;
using bench::NoiseModel;
using bench::WatchedRun;

constexpr int kSeriesRuns = 200;
constexpr int kFoundWithin = 10;
constexpr int kDriftRuns = 100;
constexpr double kMostFalseAlarms = 1e-4;
constexpr double kFewestSteps = 0.95;
constexpr double kFewestDrifts = 0.90;

struct Options {
  std::uint64_t seed = 1;
  std::string noise = "all";
  std::string method = "assay";  ///< or "study": the constants that the method came with
  std::int64_t checks = 200'000;
  int changes = 2'000;  ///< series with a step, and as many with a drift
};

DetectorSettings settings_for(const NoiseModel& model, const Options& options) {
  if (options.method == "study") return study_settings();
  return model.peers < 4 ? weak_settings() : DetectorSettings{};
}

/// A detector at work on one fleet: asks for confirmations and gets them from the fleet as it is at that moment.
class Watch {
 public:
  Watch(const NoiseModel& model, const Options& options, const std::string& purpose)
      : fleet_(model, options.seed, purpose), detector_(settings_for(model, options)) {
    for (const WatchedRun& run : fleet_.first_runs()) take(run, 1, 1);
  }

  /// One scheduled run; true when it ended in a confirmed alarm.
  bool step(double own = 1, double all = 1) { return take(fleet_.next(own, all), own, all); }
  void rebaseline() { detector_.rebaseline(); }

  std::int64_t checks() const { return checks_; }
  std::int64_t fresh_runs() const { return fresh_runs_; }
  const std::vector<double>& residuals() const { return residuals_; }
  const std::vector<double>& raw() const { return raw_; }
  const std::vector<double>& fleet_medians() const { return fleet_medians_; }

 private:
  bool take(const WatchedRun& run, double own, double all) {
    residuals_.push_back(run.residual);
    raw_.push_back(run.raw);
    fleet_medians_.push_back(run.fleet_median);
    auto answer = detector_.add(run.residual);
    if (answer.state == DetectorState::steady || answer.state == DetectorState::suspected) ++checks_;
    if (answer.state != DetectorState::suspected) return false;
    while (answer.state == DetectorState::suspected) {
      std::vector<double> fresh;
      while (fresh.size() < answer.fresh_runs_wanted) fresh.push_back(fleet_.next(own, all).residual);
      fresh_runs_ += static_cast<std::int64_t>(fresh.size());
      answer = detector_.confirm(fresh);
    }
    return answer.state == DetectorState::degraded;
  }

  Fleet fleet_;
  DegradationDetector detector_;
  std::vector<double> residuals_;
  std::vector<double> raw_;
  std::vector<double> fleet_medians_;
  std::int64_t checks_ = 0;
  std::int64_t fresh_runs_ = 0;
};

bool fixed_rule_fires(std::span<const double> raw) {
  return std::any_of(raw.begin(), raw.end(), [](double percent) { return fixed_rule_alarm(percent); });
}

/// A slowdown that Hunter places within the last `reach` values.
bool hunter_fires_lately(std::span<const double> series, std::size_t reach) {
  const auto points = hunter_change_points(series);
  return std::any_of(points.begin(), points.end(), [&](const ChangePoint& point) {
    return point.after < point.before && point.index + reach >= series.size();
  });
}

struct Stable {
  std::int64_t series = 0;
  std::int64_t checks = 0;
  std::int64_t alarms = 0;
  std::int64_t series_with_alarm = 0;
  std::int64_t fresh_runs = 0;
  std::int64_t hunter = 0;      ///< series in which it reports any change, on residuals
  std::int64_t hunter_raw = 0;  ///< the same on the values that were not set against the peers
  std::int64_t fixed = 0;       ///< series in which the fixed rule fires
};

Stable measure_stable(const NoiseModel& model, const Options& options) {
  Stable total;
  while (total.checks < options.checks) {
    Watch watch(model, options, fmt::format("detector/{}/stable/{}", model.name, total.series));
    bool alarmed = false;
    for (int run = static_cast<int>(watch.raw().size()); run < kSeriesRuns; ++run) {
      if (!watch.step()) continue;
      ++total.alarms;
      alarmed = true;
      watch.rebaseline();
    }
    ++total.series;
    total.checks += watch.checks();
    total.fresh_runs += watch.fresh_runs();
    total.series_with_alarm += alarmed ? 1 : 0;
    total.hunter += hunter_change_points(watch.residuals()).empty() ? 0 : 1;
    total.hunter_raw += hunter_change_points(watch.raw()).empty() ? 0 : 1;
    total.fixed += fixed_rule_fires(watch.raw()) ? 1 : 0;
  }
  return total;
}

struct Found {
  std::int64_t series = 0;
  std::int64_t in_time = 0;
  std::int64_t late = 0;  ///< within half as long again (drifts) or twice as long (steps)
  std::int64_t hunter = 0;
  std::int64_t fixed = 0;
  std::int64_t fixed_before = 0;  ///< it fires as often in as many runs before the change
  std::vector<double> delays;     ///< runs until the alarm, of those found at all
};

/// Where the change begins: anywhere in the second third, so that both short and full baselines occur.
int onset_of(std::uint64_t seed, const std::string& purpose) {
  return 60 + static_cast<int>(Random(seed, purpose + "/onset").below(60));
}

/// `level(runs since the onset, from 1)` is the watched GPU's speed.
template <typename Level>
Found measure_change(const NoiseModel& model, const Options& options, const std::string& kind, int in_time, int at_all,
                     const Level& level) {
  Found total;
  for (int i = 0; i < options.changes; ++i) {
    const auto purpose = fmt::format("detector/{}/{}/{}", model.name, kind, i);
    Watch watch(model, options, purpose);
    const int onset = onset_of(options.seed, purpose);
    while (static_cast<int>(watch.raw().size()) < onset) {
      if (watch.step()) watch.rebaseline();
    }
    std::optional<int> found;
    for (int since = 1; since <= at_all; ++since) {
      if (watch.step(level(since)) && !found) found = since;
      if (since == in_time) {
        const std::span<const double> residuals = watch.residuals();
        const std::span<const double> raw = watch.raw();
        const auto reach = static_cast<std::size_t>(in_time);
        total.hunter += hunter_fires_lately(residuals, reach + 5) ? 1 : 0;
        const auto before = raw.first(static_cast<std::size_t>(onset));
        total.fixed += fixed_rule_fires(raw.last(reach)) ? 1 : 0;
        total.fixed_before += fixed_rule_fires(before.last(std::min(reach, before.size()))) ? 1 : 0;
      }
    }
    ++total.series;
    if (found) {
      total.delays.push_back(*found);
      ++(*found <= in_time ? total.in_time : total.late);
    }
  }
  return total;
}

/// All GPUs slow down by 3 % at once: the fleet's change must be named, and no GPU blamed.
struct FleetResult {
  std::int64_t series = 0;
  std::int64_t named = 0;
  std::int64_t blamed = 0;
  std::int64_t named_without_cause = 0;
};

FleetResult measure_fleet(const NoiseModel& model, const Options& options) {
  FleetResult total;
  for (int i = 0; i < options.changes / 4; ++i) {
    const auto purpose = fmt::format("detector/{}/fleet/{}", model.name, i);
    Watch watch(model, options, purpose);
    const int onset = onset_of(options.seed, purpose);
    while (static_cast<int>(watch.raw().size()) < onset) {
      if (watch.step()) watch.rebaseline();
    }
    total.named_without_cause += find_fleet_shift(watch.fleet_medians()).shifted ? 1 : 0;
    bool blamed = false;
    bool named = false;
    for (int since = 1; since <= 20; ++since) {
      blamed = watch.step(1, 0.97) || blamed;
      named = named || find_fleet_shift(watch.fleet_medians()).shifted;
    }
    ++total.series;
    total.blamed += blamed ? 1 : 0;
    total.named += named ? 1 : 0;
  }
  return total;
}

double share(std::int64_t part, std::int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }
double percent(std::int64_t part, std::int64_t whole) { return 100 * share(part, whole); }

void print_found(std::string_view what, const Found& found, int in_time, int at_all, double goal) {
  const double lower = proportion_lower_bound(found.in_time, found.series, 0.95);
  fmt::print("  {:<24} {:5.1f} % within {} runs (lower 95 % bound {:.1f} %), {:.1f} % within {}, median {:.0f}", what,
             percent(found.in_time, found.series), in_time, 100 * lower,
             percent(found.in_time + found.late, found.series), at_all, median(found.delays));
  if (goal > 0) fmt::print("   goal {:.0f} %", 100 * goal);
  fmt::print("\n  {:<24} {:5.1f} % Hunter; {:.1f} % fixed rule, {:.1f} % before the change\n", "",
             percent(found.hunter, found.series), percent(found.fixed, found.series),
             percent(found.fixed_before, found.series));
}

/// True where the promises hold.
bool measure(const NoiseModel& model, const Options& options) {
  fmt::print("\n{}: {}{}\n", model.name, model.description, model.promised ? "" : " [beyond what is promised]");
  const auto stable = measure_stable(model, options);
  const double upper = proportion_upper_bound(stable.alarms, stable.checks, 0.95);
  fmt::print("  {:<24} {} in {} checks: {:.2f} per 10,000, upper 95 % bound {:.2f}   goal 1\n", "false alarms",
             stable.alarms, stable.checks, 1e4 * share(stable.alarms, stable.checks), 1e4 * upper);
  fmt::print("  {:<24} {:.2f} % of {} stable series; Hunter {:.0f} % ({:.0f} % without peers), fixed rule {:.0f} %\n",
             "series with an alarm", percent(stable.series_with_alarm, stable.series), stable.series,
             percent(stable.hunter, stable.series), percent(stable.hunter_raw, stable.series),
             percent(stable.fixed, stable.series));
  fmt::print("  {:<24} {:.1f} per 100 scheduled runs\n", "runs to confirm", percent(stable.fresh_runs, stable.checks));
  const auto step = measure_change(model, options, "step", kFoundWithin, 2 * kFoundWithin, [](int) { return 0.99; });
  print_found("1 % steps", step, kFoundWithin, 2 * kFoundWithin, kFewestSteps);
  const auto large = measure_change(model, options, "step2", kFoundWithin, 2 * kFoundWithin, [](int) { return 0.98; });
  print_found("2 % steps", large, kFoundWithin, 2 * kFoundWithin, 0);
  if (!model.promised) {
    const auto huge = measure_change(model, options, "step5", kFoundWithin, 2 * kFoundWithin, [](int) { return 0.95; });
    print_found("5 % steps", huge, kFoundWithin, 2 * kFoundWithin, 0);
  }
  const auto drift = measure_change(model, options, "drift", kDriftRuns, kDriftRuns * 3 / 2,
                                    [](int since) { return 1 - 0.01 * since / kDriftRuns; });
  print_found("1 % in 100 runs", drift, kDriftRuns, kDriftRuns * 3 / 2, kFewestDrifts);
  const auto fleet = measure_fleet(model, options);
  fmt::print("  {:<24} named in {:.1f} %, a GPU blamed in {:.1f} %, named without cause in {:.1f} %\n",
             "3 % by the whole fleet", percent(fleet.named, fleet.series), percent(fleet.blamed, fleet.series),
             percent(fleet.named_without_cause, fleet.series));
  return upper <= kMostFalseAlarms && share(step.in_time, step.series) >= kFewestSteps &&
         share(drift.in_time, drift.series) >= kFewestDrifts;
}

std::optional<Options> read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return std::nullopt;
    const std::string_view value = argv[i + 1];
    const auto number = [&](auto& target) {
      return std::from_chars(value.data(), value.data() + value.size(), target).ptr == value.data() + value.size();
    };
    if (name == "--noise") {
      options.noise = value;
    } else if (name == "--method" && (value == "assay" || value == "study")) {
      options.method = value;
    } else if (!(name == "--seed" && number(options.seed)) && !(name == "--checks" && number(options.checks)) &&
               !(name == "--changes" && number(options.changes))) {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = read_options(argc, argv);
  const auto models = bench::noise_models();
  const bool known = options && (options->noise == "all" || options->noise == "promised" ||
                                 std::any_of(models.begin(), models.end(),
                                             [&](const NoiseModel& model) { return model.name == options->noise; }));
  if (!known) {
    fmt::print(
        "usage: bench_detector [--seed S] [--noise MODEL|promised|all] [--method assay|study] [--checks N] [--changes "
        "N]\nmodels:\n");
    for (const auto& model : models) fmt::print("  {:<16} {}\n", model.name, model.description);
    return 2;
  }
  fmt::print(
      "seed {}, method '{}'; runs are medians of 5 repetitions that scatter by 1 %; stable series of {} runs.\n"
      "Runs until an alarm are scheduled ones: the fresh runs that confirm it come on top, at once.\n",
      options->seed, options->method, kSeriesRuns);
  bool kept = true;
  for (const auto& model : models) {
    if (options->noise != model.name && options->noise != "all" && !(options->noise == "promised" && model.promised)) {
      continue;
    }
    const bool good = measure(model, *options);
    if (model.promised) kept = kept && good;
  }
  fmt::print("\n{}\n", kept ? "Every goal was met." : "A goal was missed.");
  return kept ? 0 : 1;
}
