#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

/// The compressed form of a few kilobytes, inside `scratch`; empty where that would not be smaller. Any thread.
std::string_view compress(std::string_view bytes, std::span<char> scratch);

/// Back again, inside `scratch`, which bounds the size. Any bytes: `bad_file` if they are not what `compress` made.
Result<std::string_view> decompress(std::string_view bytes, std::span<char> scratch);

/// The flag, among those of whoever packs something, that its body is compressed.
inline constexpr std::uint8_t kPackedCompressed = 0x80;

/// A byte of flags, how many things there are, and the body that holds them: compressed, inside `scratch`, where that
/// is smaller.
void put_packed(std::string& out, std::uint8_t flags, std::size_t count, std::string_view body,
                std::span<char> scratch);

/// The body of something packed, behind its flags and count: unpacked into `scratch` if it is compressed.
Result<std::string_view> packed_body(std::string_view rest, std::uint8_t flags, std::span<char> scratch);

}  // namespace assay
