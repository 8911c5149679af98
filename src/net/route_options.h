#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace assay {

struct HttpRequest;
struct HttpResponse;

/// Answers one request. Runs on a worker thread unless the route says otherwise, several at a time; may block. An
/// exception becomes a 500 and a line in the log.
using Handler = std::function<HttpResponse(const HttpRequest&)>;

/// Which thread a handler runs on.
enum class RunOn {
  worker,         ///< may block: stores, files, hashing
  urgent_worker,  ///< the same on threads of their own: never behind what is slow
  slow_worker,    ///< takes minutes; one at a time
  io_thread,      ///< must return at once: every connection waits for it
};

/// What is known of a request from its head alone.
struct Admission {
  /// Whose request it is: what all have together is shared by callers. Empty: whoever has its address.
  std::string caller = {};
  /// Answers instead of the route's handler, on the same threads; the body stays unread. None: it may be handled.
  Handler refuse = {};
  /// Called on the I/O thread where the server has no room for it: it must return at once.
  std::function<void()> turned_away = {};
};

struct RouteOptions {
  std::optional<std::size_t> body_bytes;  ///< instead of the server's limit
  RunOn run_on = RunOn::worker;
  /// The handler begins with the head and reads the body from `HttpRequest::body_source` while it arrives, for as long
  /// as that takes: on a stream worker, whatever `run_on` says.
  bool stream_body = false;
  bool many_callers = false;  ///< who count as one: `HttpLimits::requests_of_caller` does not hold
  /// Asked about the head of every request of the route, on the I/O thread, so it must return at once. None: everybody
  /// may ask, and counts by address. This spares room and decides nothing: handlers check who asks themselves.
  std::function<Admission(const HttpRequest& head)> admit = {};
};

}  // namespace assay
