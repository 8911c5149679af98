#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

/// The lines of a text that came from outside, without their ends (LF or CRLF) and without those that are blank. A byte
/// order mark at the start is passed over. Points into the text.
class InputLines {
 public:
  /// `name` is that of the file, for messages.
  InputLines(std::string_view text, std::string name);

  /// Nothing at the end.
  std::optional<std::string_view> next();
  /// An error (`bad_file`) that names the line given last: `requests.jsonl:14: …`. In its message: it may be passed on
  /// by a process that has room for no more.
  Error error(std::string_view message, std::string hint = {}) const;
  /// One that is not of a line: `requests.jsonl: …`.
  Error error_of_all(std::string_view message, std::string hint = {}) const;

 private:
  std::string_view rest_;
  std::string name_;
  std::size_t line_ = 0;
};

}  // namespace assay
