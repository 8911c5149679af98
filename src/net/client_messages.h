#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_stream.h"
#include "base/clock.h"
#include "base/result.h"
#include "net/headers.h"

namespace assay {

struct ClientRequest {
  std::string method = "GET";
  std::string target = "/";  ///< below the path of the client's URL; encoded, with the query
  Headers headers;           ///< Host, User-Agent, Content-Length and Connection are set by the client
  std::string body;
  /// Instead of `body`: its bytes are sent as they come, on the thread that sends. A failure of it is that of the
  /// request.
  std::shared_ptr<ByteSource> body_source;
  std::optional<Nanos> time;  ///< instead of `request_time`
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;
};

/// The error that a status from 400 on means, with the server's words; nothing for other statuses. 401 and 403 are
/// `denied`, 404 and 410 `not_found`, 408 and 504 `timeout`, 409, 429 and 503 `busy`, other 4xx `usage`, 5xx `crash`.
std::optional<Error> failure_of(const ClientResponse& response, std::string_view server);

}  // namespace assay
