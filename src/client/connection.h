#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

class EventSource;
class HttpClient;
struct ClientRequest;
struct ClientResponse;

/// Requests to one server as one caller. Any thread; requests of several threads go side by side.
class Connection {
 public:
  struct Options;  // client/connection_options.h
  /// Errors are those of `HttpClient::create`. Nothing is sent yet.
  static Result<std::unique_ptr<Connection>> create(Options options);

  /// A status from 400 on is an error with the server's words and, where it used the API's, the kind of its error.
  Result<ClientResponse> send(ClientRequest request);
  /// The same for an answer of any size, whose body goes to the sink.
  Result<ClientResponse> receive(ClientRequest request, const ByteSink& sink);
  Result<json::value> get(const std::string& target);
  /// `time`: how long it may take, where that is not the usual time.
  Result<json::value> send_json(const std::string& method, const std::string& target, const json::object& body,
                                std::optional<Nanos> time = std::nullopt);
  /// A stream of events, one at a time, beside whatever else is asked. It must not outlive this.
  Result<EventSource> open_events(const std::string& target);
  /// Whom it asks, as users write it.
  const std::string& address() const;

  /// Ends what is under way and refuses everything from now on.
  void cancel();

 private:
  explicit Connection(Options options);
  /// A client for one request; it comes back when that is done.
  Result<std::shared_ptr<HttpClient>> borrow();

  /// With what people need to know: where it was asked, and what may be wrong.
  Error explained(Error error) const;

  const std::shared_ptr<const Options> options_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<HttpClient>> idle_;
  std::shared_ptr<HttpClient> streaming_;  ///< for events
  std::vector<std::weak_ptr<HttpClient>> all_;
  bool cancelled_ = false;
};

/// The error in an answer of the API; nothing for a status below 400.
std::optional<Error> error_in(const ClientResponse& response, std::string_view server);

}  // namespace assay
