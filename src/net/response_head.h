#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "net/http_message.h"

namespace assay {

/// How a response travels; the server decides, whatever the handler wrote into the headers.
struct ResponseFraming {
  bool keep_alive = true;
  bool chunked = false;
  std::optional<std::uint64_t> length;  ///< Content-Length, if it is to be said
  std::string_view date;                ///< see `http_date`
};

/// Status line and fields, up to and with the blank line. A field that could break out of its line is left out and
/// named in the log: values may come from users.
std::string format_response_head(const HttpResponse& response, const ResponseFraming& framing);

/// `Sun, 15 Nov 2026 10:37:12 GMT`
std::string http_date(WallTime time);

}  // namespace assay
