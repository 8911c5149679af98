#pragma once

#include <limits>

namespace assay {

/// No value to judge: every comparison with it is false, so no rule speaks.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
/// Beyond every level.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// A GPU or node that draws this much more than its peers does more work than they: it may be warmer.
inline constexpr double kMorePower = 1.1;

}  // namespace assay
