#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/sse_limits.h"

namespace assay {

/// One server-sent event (WHATWG HTML, "text/event-stream").
struct ServerEvent {
  std::string event = "message";  ///< its name
  std::string data;               ///< lines are separated by '\n'
  std::string id;                 ///< the last id that the stream has named; a client resumes from it
  std::optional<Nanos> retry;     ///< how long to wait before connecting again, if the server said so
  bool operator==(const ServerEvent&) const = default;
};

/// The bytes of one event, blank line included. Names and ids lose line breaks and zero bytes: a field is one line.
std::string format_event(const ServerEvent& event);

/// Reads an event stream piece by piece, wherever the pieces are cut. Understands LF, CRLF and CR line ends, and a
/// byte order mark at the start. Not thread-safe.
class SseParser {
 public:
  explicit SseParser(SseLimits limits = {}) : limits_(limits) {}

  /// Takes bytes up to the end of the next event and removes them from `bytes`. Nothing: all bytes are taken, and
  /// more are needed. After an error (kind io: a line or an event is too long) the stream cannot be read further.
  Result<std::optional<ServerEvent>> next(std::string_view& bytes);

 private:
  Result<void> take_line(std::string_view line);
  std::optional<ServerEvent> dispatch();

  SseLimits limits_;
  std::string line_;
  bool after_return_ = false;  ///< the last byte was CR: an LF now belongs to it
  bool at_start_ = true;
  std::string name_;
  std::string data_;
  bool has_data_ = false;
  std::string last_id_;
  std::optional<Nanos> retry_;
};

}  // namespace assay
