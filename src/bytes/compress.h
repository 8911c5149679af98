#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace assay {

/// The compressed form of a few kilobytes, inside `scratch`; empty where that would not be smaller. Any thread.
std::string_view compress(std::string_view bytes, std::span<char> scratch);

/// Back again, inside `scratch`, which bounds the size. Any bytes: `bad_file` if they are not what `compress` made.
Result<std::string_view> decompress(std::string_view bytes, std::span<char> scratch);

}  // namespace assay
