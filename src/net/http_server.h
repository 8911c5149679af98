#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

class Router;
struct ListenAddress;
struct ServerOptions;
struct TlsFiles;

/// HTTP/1.1 server: one I/O thread, and workers for the handlers. Keep-alive, pipelining (answered in order), chunked
/// bodies both ways, also as streams with back-pressure, 100-continue. A request that two programs could read in two
/// ways is refused (see request_parser.h).
class HttpServer {
 public:
  /// Listens and serves until stopped. Errors are those of the addresses (see listener.h) and of the TLS files.
  static Result<std::unique_ptr<HttpServer>> start(ServerOptions options, Router router);
  /// Stops without grace.
  ~HttpServer();

  /// Where it listens, in the order of the options, with the real port.
  const std::vector<ListenAddress>& addresses() const;
  std::size_t connections() const;  ///< Called by tests.

  /// Shows another certificate from now on; connections that there are go on with the old one. Any thread. Errors are
  /// those of the TLS files, and then nothing changes.
  Result<void> change_certificate(const TlsFiles& files);

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
