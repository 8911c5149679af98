#include "net/client_connect.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <vector>

#include "base/units.h"
#include "net/client_options.h"
#include "net/socket_stream.h"
#include "net/url.h"

namespace assay {
namespace {

using Endpoint = asio::generic::stream_protocol::endpoint;
using Resolver = asio::ip::basic_resolver<asio::ip::tcp, IoExecutor>;

Error no_connection(const boost::system::error_code& error, const Url& url, const ClientOptions& options) {
  Error result{.kind = ErrorKind::unreachable};
  if (error == asio::error::connection_refused) {
    result.message = fmt::format("connection refused at {}", url.place());
    result.hint = fmt::format("Is {} running there?", options.server);
  } else if (url.scheme == Url::Scheme::unix_socket && error.value() == ENOENT) {
    result.message = fmt::format("there is no socket '{}'", url.socket_path);
    result.hint = fmt::format("Is {} running on this machine?", options.server);
  } else if (error.value() == EACCES || error.value() == EPERM) {
    result.kind = ErrorKind::denied;
    result.message = fmt::format("not allowed to connect to {}", url.place());
    result.hint = "The socket belongs to another user, or a firewall of this machine forbids it.";
  } else {
    result.message = fmt::format("cannot connect to {}: {}", url.place(), error.message());
    result.hint = "Check the address, the network and firewalls between the machines.";
  }
  return result;
}

Error too_late(const Url& url, const ClientOptions& options) {
  return Error{
      .kind = ErrorKind::timeout,
      .message = fmt::format("no connection to {} within {}", url.place(), format_duration(options.connect_time)),
      .hint = fmt::format("Is the address right, and can this machine reach {}?", options.server)};
}

Error broken_off() { return Error{.kind = ErrorKind::interrupted, .message = "broken off"}; }

IoTask<Result<std::vector<Endpoint>>> look_up(const IoExecutor& executor, TimeBoxes& boxes, const Url& url,
                                              const ClientOptions& options, SteadyTime deadline) {
  std::vector<Endpoint> endpoints;
  boost::system::error_code error;
  if (url.scheme == Url::Scheme::unix_socket) {
    if (url.socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
      co_return Error{.kind = ErrorKind::usage,
                      .message = fmt::format("the socket path '{}' is too long", url.socket_path)};
    }
    endpoints.emplace_back(asio::local::stream_protocol::endpoint(url.socket_path));
    co_return endpoints;
  }
  const auto address = asio::ip::make_address(url.host, error);
  if (!error) {
    endpoints.emplace_back(asio::ip::tcp::endpoint(address, url.port));
    co_return endpoints;
  }
  Resolver resolver(executor);
  const TimeBox box(boxes, executor, deadline, [&resolver] { resolver.cancel(); });
  const auto [problem, found] = co_await resolver.async_resolve(url.host, std::to_string(url.port), kAsTask);
  if (boxes.cancelled) co_return broken_off();
  if (box.expired()) co_return too_late(url, options);
  if (problem) {
    co_return Error{.kind = ErrorKind::unreachable,
                    .message = fmt::format("cannot find the host '{}': {}", url.host, problem.message()),
                    .hint = "Check the name; 'getent hosts NAME' shows what this machine knows."};
  }
  for (const auto& entry : found) endpoints.emplace_back(entry.endpoint());
  co_return endpoints;
}

}  // namespace

IoTask<Result<std::unique_ptr<Stream>>> connect(const IoExecutor& executor, TimeBoxes& boxes, const Url& url,
                                                const ClientOptions& options, std::shared_ptr<TlsContext> tls,
                                                SteadyTime deadline) {
  auto endpoints = co_await look_up(executor, boxes, url, options, deadline);
  if (!endpoints) co_return std::move(endpoints).error();
  boost::system::error_code error = asio::error::host_not_found;
  std::unique_ptr<Stream> stream;
  for (const auto& endpoint : *endpoints) {
    IoSocket socket(executor);
    const TimeBox box(boxes, executor, deadline, [&socket] { socket.close(); });
    error.clear();
    socket.open(endpoint.protocol(), error);
    if (error) continue;
    const auto [problem] = co_await socket.async_connect(endpoint, kAsTask);
    if (boxes.cancelled) co_return broken_off();
    if (box.expired()) co_return too_late(url, options);
    error = problem;
    if (error) continue;
    const int yes = 1;
    const int family = endpoint.protocol().family();
    if (family != AF_UNIX) ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    FileDescriptor fd(socket.release(error));
    stream = url.scheme == Url::Scheme::https ? make_tls_client_stream(tls, executor, std::move(fd), family, url.host)
                                              : make_socket_stream(executor, std::move(fd), family);
    break;
  }
  if (!stream) co_return no_connection(error, url, options);
  const TimeBox box(boxes, executor, deadline, [&stream] { stream->close(); });
  auto opened = co_await stream->open();
  if (boxes.cancelled) co_return broken_off();
  if (box.expired()) co_return too_late(url, options);
  if (!opened) co_return std::move(opened).error();
  co_return stream;
}

}  // namespace assay
