#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// A piece of a body whose length is not known beforehand, as it travels; not for an empty one, which would be the end.
inline std::string as_chunk(std::string_view piece) { return fmt::format("{:x}\r\n{}\r\n", piece.size(), piece); }
/// What stands before and behind it.
inline std::string chunk_head(std::size_t size) { return fmt::format("{:x}\r\n", size); }
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace assay
