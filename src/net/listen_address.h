#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

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

}  // namespace assay
