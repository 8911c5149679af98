#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/client_connect.h"
#include "net/http_client.h"
#include "net/input_buffer.h"
#include "net/response_parser.h"
#include "net/stream.h"

namespace assay {

class AsyncHttpClient;

/// An answer whose head has arrived and whose body is still coming. Must not outlive its client.
class IncomingResponse {
 public:
  int status() const { return parser_.status(); }
  Headers headers() const { return parser_.headers(); }
  /// The next piece of the body; empty at its end. `timeout` may be followed by another read.
  IoTask<Result<std::string>> read(SteadyTime deadline);
  /// Breaks the connection off unless the body was read to its end: then it is kept for the next request.
  ~IncomingResponse();

 private:
  friend class AsyncHttpClient;
  IncomingResponse(AsyncHttpClient& client, std::unique_ptr<Stream> stream, bool head_only);
  IoTask<Result<void>> receive(SteadyTime deadline);
  IoTask<Result<void>> read_head(SteadyTime deadline);

  AsyncHttpClient& client_;
  std::unique_ptr<Stream> stream_;
  ResponseParser parser_;
  InputBuffer input_;
  bool received_anything_ = false;
};

/// The client for coroutines: any number of requests at a time, each on a connection of its own; see HttpClient for the
/// rules. Everything on the executor's thread. Must outlive its coroutines.
class AsyncHttpClient {
 public:
  /// Errors as in HttpClient::create.
  static Result<std::unique_ptr<AsyncHttpClient>> create(const IoExecutor& executor, Url url, ClientOptions options);

  IoTask<Result<ClientResponse>> send(ClientRequest request);
  /// Until the head of the answer is there.
  IoTask<Result<std::unique_ptr<IncomingResponse>>> open(ClientRequest request);
  void cancel();

  const Url& url() const { return url_; }
  const ClientOptions& options() const { return options_; }

 private:
  friend class IncomingResponse;
  AsyncHttpClient(const IoExecutor& executor, Url url, ClientOptions options, std::shared_ptr<TlsContext> tls);

  Result<std::string> format(const ClientRequest& request) const;
  IoTask<Result<std::unique_ptr<IncomingResponse>>> open_until(const ClientRequest& request, SteadyTime deadline);
  IoTask<Result<void>> exchange(IncomingResponse& incoming, std::string_view bytes, SteadyTime deadline);
  std::unique_ptr<Stream> take_idle();
  void keep(std::unique_ptr<Stream> stream);
  Error broken(const boost::system::error_code& error, bool expired) const;
  SteadyTime deadline_of(const ClientRequest& request) const;

  IoExecutor executor_;
  Url url_;
  ClientOptions options_;
  std::shared_ptr<TlsContext> tls_;
  TimeBoxes boxes_;
  std::vector<std::unique_ptr<Stream>> idle_;
};

}  // namespace assay
