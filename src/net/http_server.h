#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/router.h"
#include "net/tls.h"
#include "net/url.h"

namespace assay {

/// What a client may cost. A client beyond a limit gets the status in brackets where it can still be told.
struct HttpLimits {
  std::size_t header_bytes = std::size_t{16} << 10;     ///< start line and fields (431)
  std::size_t target_bytes = std::size_t{8} << 10;      ///< path and query (414)
  std::size_t body_bytes = std::size_t{1} << 20;        ///< unless the route says otherwise (413)
  std::size_t all_body_bytes = std::size_t{256} << 20;  ///< of all bodies being received or handled (503)
  std::size_t unsent_bytes = std::size_t{1} << 30;      ///< of all answers that clients have not taken yet (503)
  std::size_t connections = 4096;                       ///< all together (503)
  std::size_t connections_of_peer = 4096;               ///< of one address (503)
  std::size_t waiting_requests = 512;                   ///< for a free worker (503)
  std::size_t requests_of_caller = 4096;  ///< at a time, with one Authorization, or without one from one address (429)
  Nanos header_time = std::chrono::seconds(10);  ///< from the first byte to the end of the header, and TLS (408)
  Nanos idle_time = std::chrono::seconds(75);    ///< between two requests
  Nanos body_time = std::chrono::seconds(60);    ///< for the whole body (408)
  Nanos write_time = std::chrono::seconds(30);   ///< without the client taking any byte
  Nanos answer_time = std::chrono::minutes(10);  ///< for the client to take a whole answer, unless it is a stream
};

struct ServerOptions {
  std::vector<ListenAddress> listen;
  std::optional<TlsFiles> tls;  ///< for TCP; a Unix socket is always plain
  HttpLimits limits;
  std::size_t workers = 4;         ///< threads for handlers that may block
  std::size_t urgent_workers = 1;  ///< more, for the urgent ones
};

/// HTTP/1.1 server: one I/O thread, and workers for the handlers. Keep-alive, pipelining (answered in order), chunked
/// bodies both ways, 100-continue. A request that two programs could read in two ways is refused (see
/// request_parser.h).
class HttpServer {
 public:
  /// Listens and serves until stopped. Errors are those of the addresses (see listener.h) and of the TLS files.
  static Result<std::unique_ptr<HttpServer>> start(ServerOptions options, Router router);
  /// Stops without grace.
  ~HttpServer();

  /// Where it listens, in the order of the options, with the real port.
  const std::vector<ListenAddress>& addresses() const;
  std::size_t connections() const;

  /// Stops accepting, lets requests in flight finish for at most `grace`, ends streams properly, then closes what is
  /// left. Returns at once. Any thread, also a handler's. Only the first call counts.
  void request_stop(Nanos grace);
  /// Until everything has ended. A handler that does not return is waited for, however long: threads cannot be ended
  /// from outside. Not from a handler.
  void wait();
  /// Both.
  void stop(Nanos grace = std::chrono::seconds(10));

 private:
  class Core;
  explicit HttpServer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace assay
