#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

/// `usage` unless it is `key=value` or a word: 1 to 200 bytes without blanks, commas and quotes, not led by `=` or `-`.
Result<void> check_tag(std::string_view tag);

/// Takes tags away, then adds what is not there yet, in order. Taking away what is not there is no error, so that a
/// tag that somebody wrote elsewhere, by other rules, can be removed. `usage`: a tag that is none, or too many of them;
/// then nothing is changed.
Result<void> change_tags(std::vector<std::string>& tags, std::span<const std::string> add,
                         std::span<const std::string> remove);

inline constexpr std::size_t kMostTags = 100;

}  // namespace assay
