#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "net/http_client.h"

namespace assay {

/// Requests to one server as one caller. Any thread; requests of several threads go side by side.
class Connection {
 public:
  struct Options {
    Url url;
    ClientOptions client;
    Headers headers;  ///< that every request carries: who asks
  };
  /// Errors are those of `HttpClient::create`. Nothing is sent yet.
  static Result<std::unique_ptr<Connection>> create(Options options);

  /// A status from 400 on is an error with the server's words and, where it used the API's, the kind of its error.
  Result<ClientResponse> send(ClientRequest request);
  /// The same for an answer of any size, whose body goes to the sink.
  Result<ClientResponse> receive(ClientRequest request, const ByteSink& sink);
  Result<json::value> get(const std::string& target);
  Result<json::value> send_json(const std::string& method, const std::string& target, const json::object& body);

  /// Ends what is under way and refuses everything from now on.
  void cancel();

 private:
  explicit Connection(Options options) : options_(std::move(options)) {}
  /// A client for one request; it comes back when that is done.
  Result<std::shared_ptr<HttpClient>> borrow();

  const Options options_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<HttpClient>> idle_;
  std::vector<std::weak_ptr<HttpClient>> all_;
  bool cancelled_ = false;
};

/// The error in an answer of the API; nothing for a status below 400.
std::optional<Error> error_in(const ClientResponse& response, std::string_view server);

}  // namespace assay
