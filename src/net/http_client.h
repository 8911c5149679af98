#pragma once

#include <memory>

#include "base/byte_stream.h"
#include "base/clock.h"
#include "base/result.h"

namespace assay {

class HttpClient;
struct ClientOptions;
struct ClientRequest;
struct ClientResponse;
struct ServerEvent;
struct Url;

/// A stream of server-sent events that is being read. Must not outlive its client. One caller at a time.
class EventSource {
 public:
  EventSource(EventSource&&) noexcept;
  ~EventSource();

  /// The next event. Blocks; errors: `timeout` (nothing complete came for `patience`; may be called again),
  /// `lost_peer` (the stream has ended), `interrupted`, `io` (an event is too large). Connecting again is up to the
  /// caller: with the last id as Last-Event-ID.
  Result<ServerEvent> next(Nanos patience);

 private:
  friend class HttpClient;
  struct State;
  explicit EventSource(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Talks to one server, for code that may block (command line, agent threads). Connections are kept alive. One caller
/// at a time, except for `cancel`. Errors: `unreachable` (no connection), `denied` (certificate, socket file),
/// `timeout`, `lost_peer` (the connection broke), `io` (no HTTP, too large), `interrupted`. A status is not an error:
/// see `failure_of`.
class HttpClient {
 public:
  /// Nothing is sent yet. Errors are those of the CA file and of a malformed fingerprint.
  static Result<std::unique_ptr<HttpClient>> create(Url url, ClientOptions options);
  /// May wait for a look-up of a host name that is still under way.
  ~HttpClient();

  /// A request that failed on a kept connection is repeated on a new one if its method allows that (not POST, PATCH).
  /// What was taken from a `body_source` cannot be sent again.
  Result<ClientResponse> send(ClientRequest request);
  /// The same for an answer of any size: the body of a 2xx goes to the sink as it arrives, that of any other status
  /// is in the response. A failure of the sink is returned as it is.
  Result<ClientResponse> receive(ClientRequest request, const ByteSink& sink);
  /// Sends the request and waits for the head of the answer, which must be 200 and an event stream.
  Result<EventSource> open_events(ClientRequest request);

  /// Ends what is under way, and refuses everything from now on: `interrupted`. Any thread.
  void cancel();

 private:
  friend class EventSource;
  class Core;
  explicit HttpClient(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace assay
