#pragma once

#include "analysis/ablation.h"

namespace assay {

// The parts of the analysis of a matrix that judge rather than compute. Pure; see ablation.h for the types.

/// Fills in the standing and the objections of every effect, and which arms are a trade.
void add_objections(Ablation& result, std::span<const AblationArm> arms, const QualityMeasure& measure,
                    double confidence);

/// Which arm to use, from effects that are complete otherwise.
AblationRecommendation recommend(const Ablation& result, std::span<const AblationArm> arms, std::size_t baseline,
                                 const QualityMeasure& measure);

/// One configuration of a study that is about one figure alone.
struct FigureArm {
  ArmComparison figure;    ///< against the baseline; the baseline's own has its values as `b`
  bool held_back = false;  ///< failed repeats, a missed expectation, or worse in another goal
};
/// Which arm is best in the figure `name`: significantly better than the baseline, or the best so far where too few
/// repeats or one value for all of them leave nothing to test.
AblationRecommendation recommend_by_figure(std::span<const FigureArm> arms, std::size_t baseline, Direction better,
                                           std::string_view name);

}  // namespace assay
