#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

/// Where a server is, as users write it: `https://leader:8443/base`, `http://[::1]:8080`, `unix:/run/assay.sock`.
struct Url {
  enum class Scheme { http, https, unix_socket };
  Scheme scheme = Scheme::http;
  std::string host;         ///< without brackets; empty for a Unix socket
  std::uint16_t port = 0;   ///< the scheme's own (80, 443) unless given; 0 for a Unix socket
  std::string target;       ///< path and query as written, at least "/"
  std::string socket_path;  ///< only for a Unix socket

  /// `leader:8443`, `[::1]:80` or the socket's path: for messages.
  std::string place() const;
  /// What belongs into the Host header: without the port where it is the scheme's own.
  std::string host_header() const;
  bool operator==(const Url&) const = default;
};

/// Errors (kind usage) name the value, the rule and the remedy. User names, passwords and fragments are refused:
/// secrets in a URL end up in logs.
Result<Url> parse_url(std::string_view text);

/// Whether a host is this very machine: `localhost`, 127.0.0.0/8 or ::1. A name that merely begins with "127." is not:
/// it may be anybody's.
bool is_loopback_host(std::string_view host);

}  // namespace assay
