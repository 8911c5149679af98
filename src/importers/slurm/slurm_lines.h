#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "importers/text/figure.h"

namespace assay {

/// What a terminal would have shown as one line at one moment: a line, or one state of a progress bar.
struct LogSegment {
  std::string_view text;    ///< without the rank's label and without escape sequences
  std::optional<int> rank;  ///< from `3: text` (srun --label) or `[rank3]: text`
  std::int64_t line = 0;    ///< 1-based
  bool cut = false;         ///< the file ends here without a line end: the last word may be half of one
};

/// Takes the label off the front of a line.
std::optional<int> take_rank_label(std::string_view& line);

/// Appends `line` without terminal escape sequences.
void strip_escapes(std::string_view line, std::string& out);

/// A time as logs write it: `362.45 seconds`, `6.04 min`, `0:06:02`, `362.45`; in seconds. `used` is its length.
std::optional<Stated> log_duration_at(std::string_view text, std::size_t& used);

/// Calls `take(const LogSegment&)` for every segment: lines end at newlines, segments also at carriage returns.
/// Empty ones are left out. The text is looked at once; nothing is copied but lines with escape sequences.
/// Returns the number of lines.
template <typename Take>
std::int64_t for_each_segment(std::string_view text, Take&& take) {
  std::string scratch;
  LogSegment segment;
  while (!text.empty()) {
    ++segment.line;
    const void* newline = std::memchr(text.data(), '\n', text.size());
    const std::size_t length =
        newline ? static_cast<std::size_t>(static_cast<const char*>(newline) - text.data()) : text.size();
    std::string_view line = text.substr(0, length);
    text.remove_prefix(newline ? length + 1 : length);
    if (std::memchr(line.data(), '\x1b', line.size())) {
      scratch.clear();
      strip_escapes(line, scratch);
      line = scratch;
    }
    segment.rank = take_rank_label(line);
    while (!line.empty()) {
      const void* found = std::memchr(line.data(), '\r', line.size());
      const std::size_t end =
          found ? static_cast<std::size_t>(static_cast<const char*>(found) - line.data()) : line.size();
      segment.text = line.substr(0, end);
      segment.cut = !newline && !found;
      line.remove_prefix(found ? end + 1 : end);
      if (!segment.text.empty()) take(static_cast<const LogSegment&>(segment));
    }
  }
  return segment.line;
}

}  // namespace assay
