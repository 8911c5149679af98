#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/significance.h"

namespace assay {

// A matrix of configurations against one baseline: what worked, what hurt, what made no difference that could be told,
// what failed and why. Pure.
//
// Samples are compared only where a sample is the same amount of work. Where it is not (another sequence length), the
// verdict is by tokens, and the figure per sample stands beside it with its mark.
//
// Speed alone recommends nothing: what misses an expectation, learns worse beyond noise or takes longer to get as far
// as the baseline is never recommended, however fast it is.

/// Why a configuration gave no result, or not every time.
struct ArmFailure {
  std::string kind;  ///< as in Run::error: "oom", "timeout", "crash"
  std::string message;
  std::string hint;  ///< what the workload said to do about it; may be empty
};

/// One configuration with one value per repeat.
struct AblationArm {
  std::string name;
  std::map<std::string, std::string> changes;  ///< against the baseline; empty for the baseline itself
  std::vector<double> samples_per_second;
  std::optional<double> tokens_per_sample;
  std::optional<double> peak_memory_bytes;
  std::optional<double> price_per_hour;  ///< of all its hardware together, one currency for the whole matrix
  /// How well it learnt, and how long it took to get as far as runs of the baseline do. Both are held against the
  /// baseline, and corrected with whatever else is tested; the baseline's own have its figures as `b` and no verdict.
  std::optional<ArmComparison> quality;
  std::optional<ArmComparison> seconds_to_level;
  std::size_t short_of_level = 0;   ///< repeats that never got there
  std::vector<std::string> missed;  ///< expectations that it misses, a phrase each
  std::size_t failed_repeats = 0;
  std::optional<ArmFailure> failure;  ///< the first one
};

enum class WorkPerSample {
  equal,
  unequal,  ///< tokens per sample differ by more than 1 %
  unknown,  ///< tokens are known on one side only, or the sequence length was changed and no tokens are known
};

enum class QualityStanding {
  not_measured,
  better,  ///< significantly
  kept,    ///< no worse than noise explains; without a test, within tolerance
  worse,
};

struct ArmEffect {
  std::size_t arm = 0;  ///< index into the input
  bool failed = false;  ///< not one repeat succeeded
  WorkPerSample work = WorkPerSample::equal;
  double gain_per_sample = 0;  ///< times the baseline; NaN where it failed
  std::optional<Interval> gain_per_sample_interval;
  std::optional<double> gain_per_token;
  std::optional<Interval> gain_per_token_interval;
  /// By tokens where work per sample is unequal, by samples otherwise; Holm's correction over the whole matrix.
  ArmComparison comparison;
  std::optional<double> memory_ratio;  ///< peak memory, times the baseline's
  std::optional<double> cost_ratio;    ///< per token where work is unequal, per sample otherwise
  /// For a combination of which each change was also measured alone: what these gains multiply to. Far from the
  /// combination's own gain, the changes help or hinder each other.
  std::optional<double> product_of_parts;
  bool on_pareto_front = false;
  QualityStanding quality = QualityStanding::not_measured;
  std::vector<std::string> objections;  ///< why it is not recommended, however fast: a phrase each
};

struct AblationRecommendation {
  std::optional<std::size_t>
      arm;                   ///< index into the input; the baseline's where nothing is better; none: nothing can be
  bool provisional = false;  ///< the fastest so far, with too few repeats to say
  std::string reason;
};

struct Ablation {
  std::vector<ArmEffect> effects;  ///< every arm but the baseline, in the order given
  bool baseline_on_pareto_front = false;
  std::vector<std::size_t> worked;              ///< arms (indices into the input) significantly faster, fastest first
  std::vector<std::size_t> slower;              ///< significantly
  std::vector<std::size_t> no_difference;       ///< tested, and none was significant: neither good nor bad news
  std::vector<std::size_t> undecided;           ///< too few repeats to say, or work that cannot be compared
  std::vector<std::size_t> failed;              ///< at least one repeat failed
  std::vector<std::size_t> trades;              ///< better in speed or quality, and worse in the other
  std::optional<std::size_t> best_single;       ///< the fastest of those that worked with one change
  std::optional<std::size_t> best_combination;  ///< … with several changes
  AblationRecommendation recommendation;
  std::vector<std::string>
      pareto_axes;  ///< which were known for every arm that ran: "speed", "memory", "cost", "quality"
  std::vector<std::string> notes;
};

/// What the arms' `quality` is.
struct QualityMeasure {
  std::string name = "quality";  ///< in sentences: "val_loss"
  double negligible = 0;         ///< a difference of means that is none, whatever it is relative to
};

/// `baseline` is an index into `arms`, which must not be empty.
Ablation analyse_ablation(std::span<const AblationArm> arms, std::size_t baseline = 0,
                          const CompareSettings& settings = {}, const QualityMeasure& measure = {});

/// Whether an arm learnt worse than the baseline. A loss is seen at the uncorrected level: to hold back a good
/// configuration costs less than to recommend a bad one. What was not tested is judged by its means: a figure of which
/// less is better may be 5 % above, others 1 % below.
QualityStanding standing_of(const ArmComparison& quality, double negligible = 0, double confidence = 0.95);

/// Which points no other point beats: at least as good on every axis and better on one. Lower is better; every point
/// has as many figures as the first. Equal points stand or fall together.
std::vector<bool> pareto_front(std::span<const std::vector<double>> points);

/// An expectation that a run did not meet.
struct ExpectationMiss {
  std::string metric;
  double expected = 0;
  std::optional<double> measured;  ///< none: not measured at all
  std::optional<double> change;    ///< (measured − expected) / |expected|
};

/// Worse than expected by more than `tolerance`; either way for metrics of which no way is known to be better.
std::vector<ExpectationMiss> expectation_misses(const std::map<std::string, double>& expected,
                                                const std::map<std::string, double>& measured,
                                                const std::function<Direction(std::string_view)>& direction_of,
                                                double tolerance = 0.05);

}  // namespace assay
