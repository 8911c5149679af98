#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/run.h"

namespace assay {

/// What a text file's bytes are. Readers of files run it first.
struct TextBytes {
  std::string_view text;    ///< without a UTF-8 byte order mark
  std::vector<Flag> flags;  ///< invalid_utf8, nul_bytes: the rest of the text is used nevertheless
};

/// Looks whether `bytes` can be read as text at all. UTF-16, UTF-32 and compressed files are errors of kind bad_file
/// whose hint says how to convert them; bytes that are not UTF-8 in a text that otherwise is are flagged about `name`.
Result<TextBytes> look_at_bytes(std::string_view bytes, std::string_view name);

/// Offset of the first byte that is not part of valid UTF-8; npos if there is none.
std::size_t first_invalid_utf8(std::string_view text);

}  // namespace assay
