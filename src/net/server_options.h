#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "net/listen_address.h"
#include "net/tls_files.h"

namespace assay {

/// What a client may cost. A client beyond a limit gets the status in brackets where it can still be told.
struct HttpLimits {
  std::size_t header_bytes = std::size_t{16} << 10;         ///< start line and fields (431)
  std::size_t target_bytes = std::size_t{8} << 10;          ///< path and query (414)
  std::size_t body_bytes = std::size_t{1} << 20;            ///< unless the route says otherwise (413)
  std::size_t streamed_body_bytes = std::size_t{64} << 30;  ///< the same where the route streams it (413)
  /// Of all bodies being received or handled, by the length that they claim. A caller has a quarter of what is left for
  /// the others at most (503).
  std::size_t all_body_bytes = std::size_t{256} << 20;
  /// Up to here a body costs hardly more than its connection: it is let in whatever others hold.
  std::size_t small_body_bytes = std::size_t{16} << 10;
  std::size_t unsent_bytes = std::size_t{1} << 30;  ///< of all answers that clients have not taken yet (503)
  std::size_t piece_bytes = std::size_t{64}
                            << 20;         ///< of pulled answers, made and not taken: beyond it callers take turns
  std::size_t connections = 4096;          ///< all together (503)
  std::size_t connections_of_peer = 4096;  ///< of one address (503)
  std::size_t waiting_requests = 512;      ///< for a free worker (503)
  std::size_t requests_of_caller =
      4096;  ///< at a time, of whom `RouteOptions::admit` says it is, or of an address (429)
  /// Of those, the ones with a streamed body: half of the workers, so that nobody takes them all (429).
  std::size_t streams_of_caller = 4;
  /// What a client must send of a body, or take of a pulled one, on average. What it may be behind (408) is
  /// `stall_time`, `body_time` for a streamed body, and `write_time`.
  std::size_t stream_bytes_per_second = std::size_t{32} << 10;
  Nanos header_time = std::chrono::seconds(10);  ///< from the first byte to the end of the header, and TLS (408)
  Nanos idle_time = std::chrono::seconds(75);    ///< between two requests
  Nanos body_time = std::chrono::seconds(60);    ///< for the whole body, unless it is streamed (408)
  Nanos stall_time = std::chrono::seconds(10);   ///< who sends nothing must not hold room for long (408)
  Nanos write_time = std::chrono::seconds(30);   ///< without the client taking any byte
  Nanos answer_time = std::chrono::minutes(10);  ///< to take a whole answer, unless it is pulled or a stream
};

struct ServerOptions {
  std::vector<ListenAddress> listen;
  std::optional<TlsFiles> tls;  ///< for TCP; a Unix socket is always plain
  HttpLimits limits;
  std::size_t workers = 4;         ///< threads for handlers that may block
  std::size_t urgent_workers = 1;  ///< more, for the urgent ones
  /// More, for handlers that read a body while it arrives. Each waits for its own client most of the time: that costs a
  /// stack, while a disk is busy with fewer. Who comes when all are taken waits, with its body unsent.
  std::size_t stream_workers = 8;
};

}  // namespace assay
