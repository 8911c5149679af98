#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// One line of a stream, or a piece of one that was too long.
struct SplitLine {
  std::string_view text;  ///< without its end; valid during the call only
  std::string_view end;   ///< "\n", "\r", or "" (cut here, or the stream ended)
  bool whole = true;      ///< false for every piece of an over-long line
};

/// Cuts a byte stream into lines. Newline and carriage return both end a line (progress bars use the latter). A line
/// longer than the limit comes in pieces, so memory stays bounded. Joining all texts and ends gives the stream back.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  /// Calls `take(SplitLine)` for every line that ended in `bytes`.
  template <typename Take>
  void feed(std::string_view bytes, Take&& take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find_first_of("\n\r");
      const std::string_view head = bytes.substr(0, end);
      if (end == std::string_view::npos) {
        hold(head, take);
        return;
      }
      const std::string_view terminator = bytes.substr(end, 1);
      if (held_.empty() && !cut_ && head.size() <= longest_) {
        take(SplitLine{head, terminator, true});
      } else {
        hold(head, take);
        take(SplitLine{held_, terminator, !cut_});
      }
      held_.clear();
      cut_ = false;
      bytes.remove_prefix(end + 1);
    }
  }

  /// The stream has ended: hands out what was left without an end.
  template <typename Take>
  void finish(Take&& take) {
    if (!held_.empty()) take(SplitLine{held_, {}, !cut_});
    held_.clear();
    cut_ = false;
  }

  /// The beginning of a line whose end has not come yet.
  std::string_view held() const { return held_; }
  std::int64_t over_long_lines() const { return over_long_; }
  /// Whether the line that goes on has been cut already.
  bool is_cut() const { return cut_; }

  /// Goes on as another one that had these; what that one held comes again.
  void go_on(bool cut, std::int64_t over_long) {
    cut_ = cut;
    over_long_ = over_long;
  }

 private:
  template <typename Take>
  void hold(std::string_view part, Take&& take) {
    while (held_.size() + part.size() > longest_) {
      const std::size_t room = longest_ - held_.size();
      held_.append(part.substr(0, room));
      part.remove_prefix(room);
      if (!cut_) ++over_long_;
      cut_ = true;
      take(SplitLine{held_, {}, false});
      held_.clear();
    }
    held_.append(part);
  }

  std::size_t longest_;
  std::string held_;
  bool cut_ = false;
  std::int64_t over_long_ = 0;
};

}  // namespace assay
