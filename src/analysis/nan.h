#pragma once

#include <limits>

namespace assay {

/// What has no value: too few samples, nothing to divide by.
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace assay
