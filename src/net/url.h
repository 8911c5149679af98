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

/// Where a server listens: `host:port`, `[::]:port`, `:port` (every address), `unix:/path`. Port 0 takes a free one.
struct ListenAddress {
  std::string host;  ///< empty: every address of the machine
  std::uint16_t port = 0;
  std::string socket_path;  ///< if set, a Unix socket

  bool is_unix() const { return !socket_path.empty(); }
  std::string text() const;
  bool operator==(const ListenAddress&) const = default;
};
Result<ListenAddress> parse_listen_address(std::string_view text);

/// Whether a host is this very machine: `localhost`, 127.0.0.0/8 or ::1. A name that merely begins with "127." is not:
/// it may be anybody's.
bool is_loopback_host(std::string_view host);

/// Replaces %XX; with `plus_is_blank` also '+' (queries). A broken escape or a zero byte is an error (kind usage).
Result<std::string> percent_decode(std::string_view text, bool plus_is_blank = false);
/// Escapes everything but unreserved characters, so that the result fits into one path segment or query value.
std::string percent_encode(std::string_view text);

/// Whether a decoded path is `base` or within it: "/api/v1/nodes" is below "/api/v1", "/api/v10" is not. Everything is
/// below "/".
bool is_below(std::string_view path, std::string_view base);

}  // namespace assay
