#pragma once

#include "importers/draft_study.h"

namespace assay {

/// Compares training nodes of the same variant with their median and flags those outside the tolerances of
/// analysis/consistency.h as `outside_tolerance`.
void flag_outliers(DraftStudy& draft);

}  // namespace assay
