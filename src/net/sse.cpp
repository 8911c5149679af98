#include "net/sse.h"

#include <fmt/format.h>

#include <charconv>

namespace assay {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string one_line(std::string_view text) {
  std::string line;
  for (const char character : text) {
    if (character != '\n' && character != '\r' && character != '\0') line += character;
  }
  return line;
}

Error too_long(std::string_view what, std::size_t limit) {
  return Error{.kind = ErrorKind::io, .message = fmt::format("{} of the event stream exceeds {} bytes", what, limit)};
}

}  // namespace

std::string format_event(const ServerEvent& event) {
  std::string text;
  if (!event.event.empty() && event.event != "message") text += "event: " + one_line(event.event) + '\n';
  if (!event.id.empty()) text += "id: " + one_line(event.id) + '\n';
  if (event.retry) {
    text += fmt::format("retry: {}\n", std::chrono::duration_cast<std::chrono::milliseconds>(*event.retry).count());
  }
  std::string_view rest = event.data;
  for (;;) {
    const auto end = rest.find_first_of("\r\n");
    text += "data: ";
    text += rest.substr(0, end);
    text += '\n';
    if (end == std::string_view::npos) break;
    rest.remove_prefix(rest.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  return text + '\n';
}

Result<std::optional<ServerEvent>> SseParser::next(std::string_view& bytes) {
  while (!bytes.empty()) {
    if (after_return_) {
      after_return_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const auto end = bytes.find_first_of("\r\n");
    const auto piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > limits_.line_bytes) return too_long("a line", limits_.line_bytes);
    line_ += piece;
    if (end == std::string_view::npos) {
      bytes = {};
      break;
    }
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(line_, {});
    std::string_view text = line;
    if (std::exchange(at_start_, false) && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    if (!text.empty()) {
      ASSAY_CHECK(take_line(text));
    } else if (auto event = dispatch()) {
      return event;
    }
  }
  return std::optional<ServerEvent>();
}

Result<void> SseParser::take_line(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == 0) return {};  // a comment: keeps the connection alive
  const auto field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (data_.size() + value.size() + 1 > limits_.event_bytes) return too_long("an event", limits_.event_bytes);
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (field == "event") {
    name_ = value;
  } else if (field == "id") {
    if (value.find('\0') == std::string_view::npos) last_id_ = value;
  } else if (field == "retry") {
    std::uint32_t milliseconds = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), milliseconds);
    if (code == std::errc() && end == value.data() + value.size()) retry_ = std::chrono::milliseconds(milliseconds);
  }
  return {};
}

std::optional<ServerEvent> SseParser::dispatch() {
  std::string name = std::exchange(name_, {});
  if (!has_data_) return std::nullopt;
  has_data_ = false;
  ServerEvent event{.data = std::exchange(data_, {}), .id = last_id_, .retry = std::exchange(retry_, std::nullopt)};
  if (!name.empty()) event.event = std::move(name);
  return event;
}

}  // namespace assay
