#pragma once

#include <optional>

#include "base/clock.h"
#include "net/headers.h"

namespace assay {

/// How long a leader that has enough to do (429, 503) asks to be left alone, as it says it; nothing where it does not.
std::optional<Nanos> retry_after(const Headers& headers);

}  // namespace assay
