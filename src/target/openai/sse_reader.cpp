#include "target/openai/sse_reader.h"

namespace assay {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The value of a `data` line. Null data(): it is another line.
std::string_view data_of(std::string_view line) {
  if (!line.starts_with("data")) return {};
  if (line.size() == 4) return line.substr(4);
  if (line[4] != ':') return {};
  line.remove_prefix(5);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

}  // namespace

void SseReader::reset() {
  carry_.clear();
  clear_carry_ = false;
  event_.clear();
  has_data_ = after_return_ = failed_ = false;
  at_start_ = true;
}

/// False where the line is not complete yet. The line points into `bytes` or `carry_`.
bool SseReader::take_line(std::string_view& bytes, std::string_view& line) {
  if (clear_carry_) {
    carry_.clear();
    clear_carry_ = false;
  }
  if (after_return_ && !bytes.empty()) {
    if (bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
  }
  std::size_t end = bytes.find('\n');
  // A carriage return alone ends a line, too.
  const std::size_t carriage_return = bytes.substr(0, end).find('\r');
  if (carriage_return != std::string_view::npos) {
    end = carriage_return;
    after_return_ = true;
  }
  if (end == std::string_view::npos) {
    if (carry_.size() + bytes.size() > limit_) {
      failed_ = true;
    } else {
      carry_.append(bytes);
    }
    bytes = {};
    return false;
  }
  line = bytes.substr(0, end);
  if (carry_.size() + line.size() > limit_) failed_ = true;
  if (!carry_.empty() && !failed_) {
    carry_.append(line);
    line = carry_;
    clear_carry_ = true;
  }
  bytes.remove_prefix(end + 1);
  if (after_return_ && !bytes.empty()) {
    if (bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
  }
  if (at_start_) {
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    at_start_ = false;
  }
  return !failed_;
}

/// Adds a line to the event that is being read; false where it becomes too long.
bool SseReader::take_field(std::string_view line) {
  const std::string_view value = data_of(line);
  if (value.data() == nullptr) return true;
  if (event_.size() + value.size() + 1 > limit_) return false;
  if (has_data_) event_ += '\n';
  event_ += value;
  has_data_ = true;
  return true;
}

SseReader::Event SseReader::next(std::string_view& bytes) {
  // What was handed out last may be `event_`, which begins anew with the next event's data.
  if (!has_data_) event_.clear();
  std::string_view line;
  while (!failed_ && take_line(bytes, line)) {
    if (line.empty()) {
      if (!has_data_) continue;
      has_data_ = false;
      data_ = event_;
      return Event::data;
    }
    const std::size_t blank_line = bytes.starts_with('\n') ? 1 : bytes.starts_with("\r\n") ? 2 : 0;
    if (!has_data_ && !clear_carry_ && blank_line > 0) {
      // The usual case: the whole event is here, in one line.
      const std::string_view value = data_of(line);
      if (value.data() != nullptr) {
        bytes.remove_prefix(blank_line);
        data_ = value;
        return Event::data;
      }
    }
    if (!take_field(line)) failed_ = true;
  }
  return failed_ ? Event::error : Event::more;
}

SseReader::Event SseReader::finish() {
  if (failed_) return Event::error;
  if (!has_data_) event_.clear();
  if (clear_carry_) carry_.clear();
  clear_carry_ = false;
  std::string_view line = carry_;
  if (at_start_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  at_start_ = false;
  if (!take_field(line)) failed_ = true;
  carry_.clear();
  if (failed_) return Event::error;
  if (!has_data_) return Event::more;
  has_data_ = false;
  data_ = event_;
  return Event::data;
}

}  // namespace assay
