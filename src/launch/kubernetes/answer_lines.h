#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

/// Cuts what arrives in pieces into lines. One thread.
class AnswerLines {
 public:
  /// A line that is longer is an error.
  explicit AnswerLines(std::size_t longest) : longest_(longest) {}

  /// Hands over each line that is complete, without its end; stops at the first error, which it returns.
  Result<void> take(std::string_view piece, const std::function<Result<void>(std::string_view line)>& line) {
    while (!piece.empty()) {
      const auto end = piece.find('\n');
      begun_.append(piece.substr(0, end));
      if (begun_.size() > longest_) {
        return Error{.kind = ErrorKind::io, .message = "a line of the API server's answer is too long"};
      }
      if (end == std::string_view::npos) return {};
      piece.remove_prefix(end + 1);
      const std::string whole = std::exchange(begun_, {});
      ASSAY_CHECK(line(whole));
    }
    return {};
  }

 private:
  const std::size_t longest_;
  std::string begun_;
};

}  // namespace assay
