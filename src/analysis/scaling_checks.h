#pragma once

#include "analysis/scaling.h"

namespace assay {

// The parts of the scaling analysis that judge rather than compute. Pure; see scaling.h for the types.

/// Settings that differ, as "name: theirs instead of ours" with `ours` the baseline's; a setting that one side lacks is
/// "unset" there. By name.
std::vector<std::string> setting_differences(const std::map<std::string, std::string>& ours,
                                             const std::map<std::string, std::string>& theirs);

/// Which points' validation figures stray from the reference point's. With five repeats on both sides a point strays
/// when the difference is beyond its tolerance and significant (Welch, Holm over all points, the level shared between
/// the figures); with fewer, when it is beyond its tolerance. Losses that are next to nothing apart never stray. A
/// figure that is not finite always strays.
struct AccuracyFindings {
  AccuracyCheck check;
  std::vector<bool> strays;  ///< per point
};
AccuracyFindings check_accuracy(std::span<const ScalingPoint> points, std::size_t reference,
                                const ScalingSettings& settings);

/// What a point's telemetry and its repeats say about its shortfall. `in_one_node` is the largest point of the study
/// with several ranks inside one node, or null: it tells the network from communication as such.
/// The largest first. Empty where nothing was recorded: causes are never guessed.
std::vector<ScalingCause> likely_causes(const ScalingPoint& point, const ScalingPoint* in_one_node,
                                        std::span<const double> repeats);

}  // namespace assay
