#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

/// Replaces %XX; with `plus_is_blank` also '+' (queries). A broken escape or a zero byte is an error (kind usage).
Result<std::string> percent_decode(std::string_view text, bool plus_is_blank = false);
/// Escapes everything but unreserved characters, so that the result fits into one path segment or query value.
std::string percent_encode(std::string_view text);

/// Whether a decoded path is `base` or within it: "/api/v1/nodes" is below "/api/v1", "/api/v10" is not. Everything is
/// below "/".
bool is_below(std::string_view path, std::string_view base);

}  // namespace assay
