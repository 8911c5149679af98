#include "target/openai/http_reader.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/ascii.h"
#include "base/text.h"

namespace assay {
namespace {

// A chunk's size in hexadecimal, and whatever extensions somebody may put behind it.
constexpr std::size_t kMostLineBytes = 4096;
constexpr unsigned kMostInterim = 16;

bool same_word(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
         });
}

}  // namespace

void HttpReader::reset() {
  state_ = State::head;
  head_ = {};
  carry_.clear();
  head_bytes_ = 0;
  body_bytes_ = 0;
  left_ = 0;
  interim_ = 0;
  has_length_ = chunked_ = http_1_0_ = said_close_ = said_keep_ = false;
  piece_ = {};
}

HttpReader::Event HttpReader::fail(std::string_view problem) {
  state_ = State::failed;
  problem_ = problem;
  return Event::error;
}

HttpReader::Event HttpReader::next(std::string_view& bytes) {
  for (;;) {
    switch (state_) {
      case State::head: {
        const Event event = take_head(bytes);
        // After an interim answer the real one may already be there.
        if (event == Event::more && !bytes.empty()) continue;
        return event;
      }
      case State::sized: return take_data(bytes, State::done);
      case State::until_close: return take_data(bytes, State::until_close);
      case State::chunk_data: {
        const Event event = take_data(bytes, State::chunk_end);
        if (event == Event::end) continue;
        return event;
      }
      case State::chunk_size:
      case State::chunk_end: {
        const Event event = take_chunk_size(bytes);
        if (event != Event::body) return event;
        continue;
      }
      case State::trailer: return take_trailer(bytes);
      case State::done: return Event::end;
      case State::failed: return Event::error;
    }
  }
}

HttpReader::Event HttpReader::finish() {
  if (state_ == State::done || state_ == State::until_close) {
    state_ = State::done;
    return Event::end;
  }
  if (state_ == State::failed) return Event::error;
  return fail("the connection ended before the answer did");
}

HttpReader::Event HttpReader::take_head(std::string_view& bytes) {
  const bool carried = !carry_.empty();
  std::size_t end = 0;
  if (!carried) {
    end = bytes.find("\r\n\r\n");
  } else {
    // The blank line may lie across the cut.
    const std::size_t from = carry_.size() < 3 ? 0 : carry_.size() - 3;
    const std::size_t had = carry_.size();
    carry_.append(bytes.substr(0, limits_.head_bytes + 4));
    end = carry_.find("\r\n\r\n", from);
    if (end == std::string::npos) carry_.resize(had);
  }
  if (end == std::string_view::npos) {
    head_bytes_ += bytes.size();
    if (head_bytes_ > limits_.head_bytes) return fail("the head of the answer is too long");
    carry_.append(bytes);
    bytes = {};
    return Event::more;
  }
  if (end + 4 > limits_.head_bytes) return fail("the head of the answer is too long");
  if (!carried) {
    const std::string_view text = bytes.substr(0, end);
    bytes.remove_prefix(end + 4);
    head_bytes_ += end + 4;
    return read_head(text);
  }
  const std::size_t before = head_bytes_;
  bytes.remove_prefix(end + 4 - before);
  head_bytes_ = end + 4;
  const std::string text = carry_.substr(0, end);
  carry_.clear();
  return read_head(text);
}

HttpReader::Event HttpReader::read_head(std::string_view text) {
  std::size_t end = text.find("\r\n");
  if (!read_status(text.substr(0, end))) return fail("the answer does not begin with an HTTP/1.1 status line");
  while (end != std::string_view::npos) {
    text.remove_prefix(end + 2);
    end = text.find("\r\n");
    if (!read_field(text.substr(0, end)))
      return state_ == State::failed ? Event::error : fail("a header field is malformed");
  }
  return begin_body();
}

bool HttpReader::read_status(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12) return false;
  http_1_0_ = line[7] == '0';
  if ((line[7] != '0' && line[7] != '1') || line[8] != ' ') return false;
  if (!is_digit(line[9]) || !is_digit(line[10]) || !is_digit(line[11])) return false;
  if (line.size() > 12 && line[12] != ' ') return false;
  head_.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  return head_.status >= 100 && line.find('\r') == std::string_view::npos;
}

bool HttpReader::read_length(std::string_view value) {
  std::uint64_t length = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), length);
  if (problem != std::errc() || end != value.data() + value.size()) return false;
  if (has_length_ && length != left_) return false;
  has_length_ = true;
  left_ = length;
  return true;
}

bool HttpReader::read_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view name = line.substr(0, colon);
  // A blank in the name is a folded line or a trick; a control character has no business in a value.
  if (name.find_first_of(" \t") != std::string_view::npos) return false;
  if (line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return false;
  const std::string_view value = trim(line.substr(colon + 1));
  switch (name.size()) {
    case 10:
      if (same_word(name, "connection")) {
        said_close_ = said_close_ || lower_case(value).find("close") != std::string::npos;
        said_keep_ = said_keep_ || lower_case(value).find("keep-alive") != std::string::npos;
      }
      break;
    case 11:
      if (same_word(name, "retry-after")) {
        std::uint32_t seconds = 0;
        std::from_chars(value.data(), value.data() + value.size(), seconds);
        head_.retry_after_s = seconds;
      }
      break;
    case 12:
      if (same_word(name, "content-type")) {
        head_.event_stream = same_word(trim(value.substr(0, value.find(';'))), "text/event-stream");
      }
      break;
    case 14:
      if (same_word(name, "content-length") && !read_length(value)) {
        fail("the length of the answer is malformed");
        return false;
      }
      break;
    case 17:
      if (same_word(name, "transfer-encoding")) {
        if (chunked_ || !same_word(value, "chunked")) {
          fail("a transfer encoding other than 'chunked'");
          return false;
        }
        chunked_ = true;
      }
      break;
    default: break;
  }
  return true;
}

HttpReader::Event HttpReader::begin_body() {
  if (has_length_ && chunked_) return fail("the answer has both a length and chunks");
  if (head_.status < 200) {
    // An interim answer: the real one follows.
    if (head_.status == 101) return fail("the server changed the protocol");
    const unsigned interim = interim_ + 1;
    if (interim > kMostInterim) return fail("too many interim answers");
    reset();
    interim_ = interim;
    return Event::more;
  }
  head_.keep_alive = !said_close_ && (!http_1_0_ || said_keep_);
  if (head_.status == 204 || head_.status == 304) {
    state_ = State::done;
  } else if (chunked_) {
    state_ = State::chunk_size;
  } else if (has_length_) {
    if (left_ > limits_.body_bytes) return fail("the answer is too long");
    state_ = left_ == 0 ? State::done : State::sized;
  } else {
    state_ = State::until_close;
    left_ = std::numeric_limits<std::uint64_t>::max();
    head_.keep_alive = false;
  }
  return Event::head;
}

HttpReader::Event HttpReader::take_data(std::string_view& bytes, State after) {
  if (left_ == 0) {
    state_ = after;
    return Event::end;
  }
  if (bytes.empty()) return Event::more;
  piece_ = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
  bytes.remove_prefix(piece_.size());
  body_bytes_ += piece_.size();
  if (body_bytes_ > limits_.body_bytes) return fail("the answer is too long");
  if (state_ != State::until_close) left_ -= piece_.size();
  return Event::body;
}

/// A line that ends in CRLF or LF; false where it is not complete yet.
bool HttpReader::take_line(std::string_view& bytes, std::string_view& line) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) {
    carry_.append(bytes);
    bytes = {};
    return false;
  }
  line = bytes.substr(0, end);
  if (!carry_.empty()) {
    carry_.append(line);
    line = carry_;
  }
  bytes.remove_prefix(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

/// `body` stands for: the size is known, go on with the data.
HttpReader::Event HttpReader::take_chunk_size(std::string_view& bytes) {
  for (;;) {
    std::string_view line;
    const bool complete = take_line(bytes, line);
    if (complete ? line.size() > kMostLineBytes : carry_.size() > kMostLineBytes + 1) {
      return fail("the size of a chunk is malformed");
    }
    if (!complete) return Event::more;
    if (state_ == State::chunk_end) {
      const bool blank = line.empty();
      carry_.clear();
      if (!blank) return fail("a chunk is longer than it says");
      state_ = State::chunk_size;
      continue;
    }
    const std::string_view size = trim(line.substr(0, line.find(';')));
    std::uint64_t length = 0;
    const auto [end, problem] = std::from_chars(size.data(), size.data() + size.size(), length, 16);
    const bool read = problem == std::errc() && end == size.data() + size.size();
    carry_.clear();
    if (!read) return fail("the size of a chunk is malformed");
    if (length > limits_.body_bytes) return fail("the answer is too long");
    left_ = length;
    state_ = length == 0 ? State::trailer : State::chunk_data;
    return length == 0 ? take_trailer(bytes) : Event::body;
  }
}

HttpReader::Event HttpReader::take_trailer(std::string_view& bytes) {
  for (;;) {
    std::string_view line;
    const std::size_t before = bytes.size();
    const bool complete = take_line(bytes, line);
    head_bytes_ += before - bytes.size();
    if (head_bytes_ > limits_.head_bytes) return fail("what follows the body is too long");
    if (!complete) return Event::more;
    const bool blank = line.empty();
    carry_.clear();
    if (!blank) continue;
    state_ = State::done;
    return Event::end;
  }
}

}  // namespace assay
