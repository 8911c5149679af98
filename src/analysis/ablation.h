#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/significance.h"

namespace assay {

// A matrix of configurations against one baseline: what worked, what did not, what failed and why. Pure.
//
// Samples are compared only where a sample is the same amount of work. Where it is not (another sequence length), the
// verdict is by tokens, and the figure per sample stands beside it with its mark.

/// Why a configuration gave no result, or not every time.
struct ArmFailure {
  std::string kind;  ///< as in Run::error: "oom", "timeout", "crash"
  std::string message;
  std::string hint;  ///< what the workload said to do about it; may be empty
};
/// The hint, or else the usual remedy for this kind of failure; empty where there is none.
std::string remedy_for(const ArmFailure& failure);

/// One configuration with one value per repeat.
struct AblationArm {
  std::string name;
  std::map<std::string, std::string> changes;  ///< against the baseline; empty for the baseline itself
  std::vector<double> samples_per_second;
  std::optional<double> tokens_per_sample;
  std::optional<double> peak_memory_bytes;
  std::optional<double> price_per_hour;  ///< of all its hardware together, one currency for the whole matrix
  std::size_t failed_repeats = 0;
  std::optional<ArmFailure> failure;  ///< the first one
};

enum class WorkPerSample {
  equal,
  unequal,  ///< tokens per sample differ by more than 1 %
  unknown,  ///< tokens are known on one side only, or the sequence length was changed and no tokens are known
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
};

struct AblationRecommendation {
  std::optional<std::size_t> arm;  ///< index into the input; the baseline's where nothing is better; none: nothing ran
  bool provisional = false;        ///< the fastest so far, with too few repeats to say
  std::string reason;
};

struct Ablation {
  std::vector<ArmEffect> effects;  ///< every arm but the baseline, in the order given
  bool baseline_on_pareto_front = false;
  std::vector<std::size_t> worked;              ///< arms (indices into the input) significantly faster, fastest first
  std::vector<std::size_t> did_not;             ///< significantly slower, or no significant difference
  std::vector<std::size_t> undecided;           ///< too few repeats to say, or work that cannot be compared
  std::vector<std::size_t> failed;              ///< at least one repeat failed
  std::optional<std::size_t> best_single;       ///< the fastest of those that worked with one change
  std::optional<std::size_t> best_combination;  ///< … with several changes
  AblationRecommendation recommendation;
  std::vector<std::string> pareto_axes;  ///< which were known for every arm that ran: "speed", "memory", "cost"
  std::vector<std::string> notes;
};

/// `baseline` is an index into `arms`, which must not be empty.
Ablation analyse_ablation(std::span<const AblationArm> arms, std::size_t baseline = 0,
                          const CompareSettings& settings = {});

/// Which points no other point beats: at least as good on every axis and better on one. Lower is better; every point
/// has as many figures as the first. Equal points stand or fall together.
std::vector<bool> pareto_front(std::span<const std::vector<double>> points);

/// An expectation that a run did not meet.
struct ExpectationMiss {
  std::string metric;
  double expected = 0;
  std::optional<double> measured;        ///< none: not measured at all
  std::optional<double> change;          ///< (measured − expected) / |expected|
  std::vector<std::string> differences;  ///< from the recommended settings: "seq_length: 1024 instead of 512"
};

/// Worse than expected by more than `tolerance`; either way for metrics that have no better direction.
std::vector<ExpectationMiss> expectation_misses(const std::map<std::string, double>& expected,
                                                const std::map<std::string, double>& measured,
                                                const std::map<std::string, std::string>& settings,
                                                const std::map<std::string, std::string>& recommended,
                                                double tolerance = 0.05);

}  // namespace assay
