#include "telemetry/procfs/kept_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace assay {

std::optional<std::string_view> KeptFile::read() {
  if (!file_) {
    file_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_) return std::nullopt;
  }
  if (buffer_.empty()) buffer_.resize(16384);
  std::size_t used = 0;
  for (;;) {
    const ssize_t got = ::pread(file_.get(), buffer_.data() + used, buffer_.size() - used, static_cast<off_t>(used));
    if (got < 0) {
      file_.reset();  // what it belongs to may have gone and come back
      return std::nullopt;
    }
    // A short read is no end: the kernel hands out these files in pieces of about a page.
    if (got == 0) return std::string_view(buffer_).substr(0, used);
    used += static_cast<std::size_t>(got);
    if (used == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  }
}

std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const auto end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

std::optional<double> number_in(std::string_view word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace assay
