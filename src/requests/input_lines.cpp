#include "requests/input_lines.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay {

InputLines::InputLines(std::string_view text, std::string name) : rest_(text), name_(std::move(name)) {
  if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
}

std::optional<std::string_view> InputLines::next() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!trim(line).empty()) return line;
  }
  return std::nullopt;
}

Error InputLines::error(std::string_view message, std::string hint) const {
  return {
      .kind = ErrorKind::bad_file, .message = fmt::format("{}:{}: {}", name_, line_, message), .hint = std::move(hint)};
}

Error InputLines::error_of_all(std::string_view message, std::string hint) const {
  return {.kind = ErrorKind::bad_file, .message = fmt::format("{}: {}", name_, message), .hint = std::move(hint)};
}

}  // namespace assay
