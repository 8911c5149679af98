#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// At most `limit` bytes from the start of UTF-8 text, cut between two characters: half a character would make
/// everything unreadable that it is written into.
inline std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  while (limit > 0 && continues(limit)) --limit;
  return std::string(text.substr(0, limit));
}

}  // namespace assay
