#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace assay {

/// A file below /proc or /sys that is read again and again: opened once, which saves half of the cost.
class KeptFile {
 public:
  explicit KeptFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// The content as it is now, valid until the next call; nothing if it cannot be read.
  std::optional<std::string_view> read();

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::string buffer_;
};

/// Takes the first line off `text`.
std::string_view take_line(std::string_view& text);
/// Takes the first word off `line`; empty at its end.
std::string_view take_word(std::string_view& line);
/// The number that `word` is; nothing if it is none.
std::optional<double> number_in(std::string_view word);

}  // namespace assay
