#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// 64-bit hash, the same on every platform and in every version of assay.
std::uint64_t stable_hash(std::string_view text);

/// `stable_hash` twice, as 32 hexadecimal digits: names a spec by its content.
std::string content_hash(std::string_view text);

/// Two digits for each byte.
std::string hexadecimal(std::span<const unsigned char> bytes);

}  // namespace assay
