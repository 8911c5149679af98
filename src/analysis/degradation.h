#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

// Is this GPU getting slower? One benchmark run after another, each against the GPU's own past and against its peers.
// Pure: a detector is a value, the same runs in the same order give the same answers. Values are rates: higher is
// better. Turn a time into 1/time first.
//
// Identical GPUs differ by several percent, so nothing is compared with a data sheet. What the fleet shares (driver,
// room temperature, a new library) cancels out against the peers. A scan over the latest runs raises a suspicion; fresh
// runs, made because of it, confirm it or not. The constants are calibrated and measured by bench/detector.

struct DetectorSettings {
  // Rolling rule: the latest runs against those just before them. Finds steps.
  std::size_t rolling_window = 60;
  std::size_t rolling_fewest = 15;
  std::size_t rolling_shortest_tail = 3;
  std::size_t longest_tail = 20;
  double rolling_trigger = 2.7;         ///< where a confirmation follows
  double rolling_trigger_alone = 4.35;  ///< where none does

  // Anchored rule: the latest runs against the first ones after a re-baseline. Finds drifts, which a rolling baseline
  // follows.
  std::size_t anchor_runs = 40;
  std::size_t anchored_shortest_tail = 5;
  double anchored_trigger = 3.8;
  double anchored_trigger_alone = 4.73;

  double winsor_limit = 2.5;          ///< robust standard deviations beyond which a value is pulled in
  double most_autocorrelation = 0.6;  ///< of the baseline, that widens the test
  /// Also pull in the tail and the fresh runs, around their own median. Otherwise one outlier among them leaves only
  /// their median to go by, which scatters by a quarter more than the test assumes.
  bool winsorise_tails = true;
  /// Widens the test by 1 + this/(n−1), relative to a full window: the spread of a short baseline is often too small
  /// (the first term of Student's quantile over the normal one's).
  double short_baseline_widening = 3;

  bool confirms = true;  ///< false: the higher triggers alone decide
  std::size_t confirmation_runs = 8;
  double confirmation_z = 5.0;               ///< confirmed at once
  std::size_t second_confirmation_runs = 8;  ///< more of them where the first neither confirm nor refute; 0: none
  double second_confirmation_z = 3.0;        ///< of both together
  double refuted_z = 1.0;                    ///< of the first: no second ones below it
  /// Take the spread from run to run over everything that is kept, if it is larger than the baseline's: a suspicion
  /// picks out baselines whose spread came out too small.
  bool confirms_by_long_spread = true;
  double smallest_effect_percent = 0.7;
  /// Of the fresh runs, that must lie below the baseline: a few very slow ones are an intruder, not a slow GPU.
  double fewest_slow_share = 0.8;
  std::size_t muted_runs = 3;  ///< without a check after a suspicion that was not confirmed
};

/// The constants of the simulation study that the method comes from: one confirmation of 8 runs at z > 3.3 and −0.4 %,
/// triggers 3.0 and 4.73, no correction for short baselines or outliers in the tail. Called by bench/detector, for
/// comparison.
DetectorSettings study_settings();

/// For residuals that are `weak`: without peers the wandering of the whole fleet is in the series, so only slowdowns of
/// several percent can be told from it.
DetectorSettings weak_settings();

/// The value of a run: the median of its repetitions after warm-up. None with fewer than `fewest`. Waits for the node
/// benchmark.
std::optional<double> run_value(std::span<const double> repetitions, std::size_t fewest = 5);

/// A GPU's run and the baseline of that very GPU (the median of its runs after the last re-baseline).
struct BaselinedValue {
  double value = 0;
  double baseline = 0;
};

struct Residual {
  double percent = 100;  ///< 100: as always; 99: one percent slower than its peers, each measured by its own past
  bool weak = false;  ///< too few peers: against its own past alone, so that a change of the fleet looks like its own
};
/// `peers`: the same GPU model, benchmark version and time window, without the GPU itself. Pairs with a value or
/// baseline that is not positive are left out. None where the GPU's own are not.
std::optional<Residual> peer_residual(const BaselinedValue& own, std::span<const BaselinedValue> peers,
                                      std::size_t fewest_peers = 4);

/// The strongest sign of a slowdown at the end of a series.
struct SlowdownScan {
  double z = 0;               ///< how many standard errors the tail lies below the baseline; 0 where nothing was tested
  std::size_t tail = 0;       ///< over how many runs
  double effect_percent = 0;  ///< of the tail against the baseline; −1 is one percent slower
};

/// z = (m − max(mean, median of tail)) / (s·√((1+ρ)/(1−ρ))·√(1/k + 1/n)) for every tail length k; the baseline of each
/// is what precedes the tail, winsorised. Empty scan where there are too few runs.
SlowdownScan rolling_scan(std::span<const double> series, const DetectorSettings& settings = {});
/// The same against a fixed baseline, with medians on both sides; `since` are the runs after the anchor.
SlowdownScan anchored_scan(std::span<const double> anchor, std::span<const double> since,
                           const DetectorSettings& settings = {});

enum class DetectorState {
  learning,  ///< too few runs to say
  steady,
  muted,      ///< a suspicion was just not confirmed
  suspected,  ///< make `fresh_runs_wanted` runs at once, paired with the peers, and hand them to `confirm`
  degraded,   ///< confirmed, or beyond the trigger that needs no confirmation
};
std::string_view name_of(DetectorState state);

enum class DetectorRule { none, rolling, anchored };

struct DetectorAnswer {
  DetectorState state = DetectorState::learning;
  DetectorRule rule = DetectorRule::none;  ///< which saw it
  SlowdownScan scan;                       ///< of that rule, or of the confirmation
  std::size_t fresh_runs_wanted = 0;
};

/// Follows one GPU. After `degraded` it stays there until `rebaseline`, which whoever has acted on it calls.
class DegradationDetector {
 public:
  explicit DegradationDetector(const DetectorSettings& settings = {}) : settings_(settings) {}

  /// The residual of the next scheduled run, in percent; finite. While a confirmation is due, further runs are taken in
  /// without a check.
  DetectorAnswer add(double residual_percent);

  /// The residuals of the fresh runs that a suspicion asked for, all at once or in parts. They decide and are not kept:
  /// runs that were made because of a suspicion are no fair sample. Ignored where there is no suspicion. Waits for the
  /// node benchmark, which makes them.
  DetectorAnswer confirm(std::span<const double> fresh_residuals);

  /// Forgets the past: after repair, a new driver or an accepted change. Waits for the node benchmark.
  void rebaseline();

  DetectorState state() const { return state_; }

 private:
  DetectorAnswer suspect(DetectorRule rule, const SlowdownScan& scan, std::span<const double> baseline);
  /// Waits for the node benchmark, as `confirm` does.
  SlowdownScan confirmation_scan() const;

  DetectorSettings settings_;
  std::vector<double> series_;  ///< since the last re-baseline; the middle is cut once both rules can do without it
  bool cut_ = false;            ///< what follows the anchor in `series_` did not follow it in time
  DetectorState state_ = DetectorState::learning;
  DetectorRule rule_ = DetectorRule::none;
  std::vector<double> suspected_baseline_;
  std::vector<double> fresh_;
  std::size_t mute_left_ = 0;
};

/// A change of everything at once: a driver, a library, the room.
struct FleetShift {
  bool shifted = false;
  double effect_percent = 0;  ///< of the runs since against those before; negative: slower
  std::size_t runs_since = 0;
  double z = 0;
};
/// `fleet_medians` is the median over all GPUs of value/baseline for each run, oldest first; at least three runs must
/// follow the change. A fleet always wanders together, and today leans on yesterday, so it is the jump beyond what
/// yesterday explains that is tested (z > 4), and it must last and amount to `smallest_percent`. Waits for the node
/// benchmark.
FleetShift find_fleet_shift(std::span<const double> fleet_medians, double smallest_percent = 1.0,
                            const DetectorSettings& settings = {});

}  // namespace assay
