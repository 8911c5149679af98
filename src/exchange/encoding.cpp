#include "exchange/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

/// How much of a file decides whether it is UTF-16 without a mark.
constexpr std::size_t kSniffed = 4096;

Error not_text(std::string_view name, std::string_view what, std::string hint) {
  return Error{.kind = ErrorKind::bad_file,
               .message = fmt::format("'{}' is {}, not UTF-8 text", name, what),
               .hint = std::move(hint),
               .at = std::string(name)};
}

Error convert(std::string_view name, std::string_view encoding) {
  return not_text(name, encoding,
                  fmt::format("Convert it first: iconv -f {} -t UTF-8 FILE > FILE.utf8", encoding.substr(0, 6)));
}

/// Latin text in UTF-16 has a zero in every second byte.
bool looks_like_utf16(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, std::min(bytes.size(), kSniffed));
  if (head.size() < 8) return false;
  std::size_t even = 0;
  std::size_t odd = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\0') ++(i % 2 ? odd : even);
  }
  const std::size_t half = head.size() / 2;
  return std::max(even, odd) > half * 7 / 10 && std::min(even, odd) * 10 < half;
}

/// Length of the ASCII run at the start, in steps of eight bytes and then one by one.
std::size_t ascii_length(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= text.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    if (word & kHighBits) break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
  return i;
}

/// Length of the valid multi-byte character at the start; 0 if it is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0);
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  // Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
  }
  return length;
}

std::int64_t line_of(std::string_view text, std::size_t offset) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
}

}  // namespace

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    i += ascii_length(text.substr(i));
    while (i < text.size() && static_cast<unsigned char>(text[i]) >= 0x80) {
      const std::size_t length = character_length(text.substr(i));
      if (length == 0) return i;
      i += length;
    }
  }
  return std::string_view::npos;
}

Result<TextBytes> look_at_bytes(std::string_view bytes, std::string_view name) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\xFF\xFE\0\0"sv) || bytes.starts_with("\0\0\xFE\xFF"sv)) return convert(name, "UTF-32");
  if (bytes.starts_with("\xFF\xFE"sv) || bytes.starts_with("\xFE\xFF"sv)) return convert(name, "UTF-16");
  if (bytes.starts_with("\x1F\x8B"sv)) return not_text(name, "compressed (gzip)", "Unpack it first: gunzip FILE");
  if (bytes.starts_with("\x28\xB5\x2F\xFD"sv))
    return not_text(name, "compressed (zstd)", "Unpack it first: unzstd FILE");
  if (looks_like_utf16(bytes)) return convert(name, "UTF-16 without a byte order mark");

  TextBytes result;
  result.text = bytes;
  if (bytes.starts_with("\xEF\xBB\xBF"sv)) result.text.remove_prefix(3);
  if (const auto nul = result.text.find('\0'); nul != std::string_view::npos) {
    // A file system that lost blocks fills them with zeros.
    result.flags.push_back(
        {"nul_bytes", std::string(name),
         fmt::format("{} zero bytes from line {} on; a part of the file may be lost",
                     std::count(result.text.begin(), result.text.end(), '\0'), line_of(result.text, nul))});
  }
  if (const auto invalid = first_invalid_utf8(result.text); invalid != std::string_view::npos) {
    result.flags.push_back({"invalid_utf8", std::string(name),
                            fmt::format("line {} is not valid UTF-8; names and messages with such bytes may look odd",
                                        line_of(result.text, invalid))});
  }
  return result;
}

}  // namespace assay
