#pragma once

#include <cstddef>
#include <optional>

namespace assay {

/// Which thread a handler runs on.
enum class RunOn {
  worker,         ///< may block: stores, files, hashing
  urgent_worker,  ///< the same on threads of their own: never behind what is slow
  slow_worker,    ///< takes minutes; one at a time
  io_thread,      ///< must return at once: every connection waits for it
};

struct RouteOptions {
  std::optional<std::size_t> body_bytes;  ///< instead of the server's limit
  RunOn run_on = RunOn::worker;
  /// The handler begins with the head and reads the body from `HttpRequest::body_source` while it arrives, for as long
  /// as that takes: on a stream worker, whatever `run_on` says.
  bool stream_body = false;
  bool many_callers = false;  ///< who share one Authorization: `HttpLimits::requests_of_caller` does not hold
};

}  // namespace assay
