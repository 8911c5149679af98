#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

/// CRC-32C (Castagnoli) of `bytes`, going on from `previous` (0 at the start). By the CPU's instruction where it has
/// one; the same result everywhere.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous = 0);

/// The same without the CPU's help.
std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t previous = 0);

}  // namespace assay
