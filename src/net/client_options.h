#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "net/sse_limits.h"
#include "net/tls_trust.h"

namespace assay {

struct ClientOptions {
  std::string server = "the server";  ///< what messages call it: "the leader"
  TlsTrust trust;                     ///< for https
  TlsIdentity identity = {};          ///< for https, where the server asks for a client's certificate
  Nanos connect_time = std::chrono::seconds(5);
  /// From start to end, connecting included. Where a body is streamed: without a byte of it moving.
  Nanos request_time = std::chrono::seconds(30);
  std::size_t header_bytes = std::size_t{64} << 10;
  std::size_t response_bytes = std::size_t{64} << 20;
  std::size_t idle_connections = 8;  ///< kept for the next request
  SseLimits events;
};

}  // namespace assay
