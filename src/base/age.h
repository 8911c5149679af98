#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// A time back from now: a duration as `parse_duration` reads it, and `5m` is five minutes, as everybody writes it. No
/// age is counted in milliseconds, so there is no doubt here.
Result<Nanos> parse_age(std::string_view text);

}  // namespace assay
