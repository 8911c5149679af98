#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/batch.h"

namespace assay {

/// At most `limit` bytes from the start of UTF-8 text, cut between two characters: half a character would make
/// everything unreadable that it is written into.
std::string shortened(std::string_view text, std::size_t limit);

/// Makes every text of a batch one that JSON can hold and a terminal can show (see `printable`): an agent may send any
/// bytes, and what is kept must be readable after a restart.
void make_readable(Batch& batch);

}  // namespace assay
