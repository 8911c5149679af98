#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/headers.h"

namespace assay {

class ByteSource;
class ResponseStream;

/// Who is at the other end of a connection.
struct PeerAddress {
  std::string host;        ///< numeric address; "unix" for a Unix socket
  std::uint16_t port = 0;  ///< 0 for a Unix socket
  bool loopback = false;   ///< this very machine (a Unix socket always is)
};

/// A request as a handler sees it: complete, or with a body that is still arriving where the route says so.
struct HttpRequest {
  std::string method;    ///< as sent: "GET"
  std::string target;    ///< as sent: "/runs/a%20b?limit=5"
  std::string path;      ///< percent-decoded, without the query: "/runs/a b"
  NamedValues query;     ///< decoded, in order
  NamedValues captured;  ///< what the route's {names} stood for, decoded
  Headers headers;
  std::string body;
  std::shared_ptr<ByteSource> body_source;  ///< instead of `body`, for routes with `RouteOptions::stream_body` alone
  PeerAddress peer;
  bool tls = false;

  /// The first query parameter of that name.
  std::optional<std::string_view> query_value(std::string_view name) const;
  /// What `{name}` of the route's pattern stood for; "" for a name that the pattern does not have.
  std::string_view capture(std::string_view name) const;
};

/// What a handler answers: a whole body, one that is made while it is sent, or a stream that is fed later by any
/// thread.
struct HttpResponse {
  int status = 200;
  Headers headers;
  std::string body;
  /// If set, `body` is not sent but what this gives: on a worker, and only as fast as the client takes it. An error is
  /// logged and breaks the connection off, so that the client sees that something is missing. Goes away on a worker.
  std::shared_ptr<ByteSource> body_source;
  std::shared_ptr<ResponseStream> stream;  ///< if set, `body` is not sent; see response_stream.h

  static HttpResponse text(int status, std::string body);
  static HttpResponse json(int status, std::string body);
  /// 200 with a body that is pulled from the source while it is sent; see body_source.h.
  static HttpResponse pulled(std::shared_ptr<ByteSource> source, std::string content_type);
  /// 200 with the given stream. `content_type` as in `text/event-stream`.
  static HttpResponse streaming(std::shared_ptr<ResponseStream> stream, std::string content_type);
};

/// "Not Found" for 404; "Unknown" for a code that has no name here.
std::string_view reason_phrase(int status);

}  // namespace assay
