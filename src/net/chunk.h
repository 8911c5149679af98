#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace assay {

/// A piece of a body whose length is not known beforehand, as it travels; not for an empty one, which would be the end.
inline std::string as_chunk(std::string_view piece) { return fmt::format("{:x}\r\n{}\r\n", piece.size(), piece); }
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace assay
