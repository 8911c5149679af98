#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"

namespace assay {

/// Appends `count` words, each with a blank before it unless `out` is empty. Common English words of ASCII letters
/// alone: about one token each for the tokenizers in use, and nothing that JSON would escape. A block of `random` gives
/// 16 words.
void append_words(std::uint32_t count, Random& random, std::string& out);

}  // namespace assay
