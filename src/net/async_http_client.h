#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/client_connect.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/input_buffer.h"
#include "net/response_parser.h"
#include "net/stream.h"
#include "net/url.h"

namespace assay {

class AsyncHttpClient;

/// An answer whose head has arrived and whose body is still coming. Must not outlive its client.
class IncomingResponse {
 public:
  int status() const { return parser_.status(); }
  Headers headers() const { return parser_.headers(); }
  /// The next piece of the body; empty at its end. `timeout` may be followed by another read.
  IoTask<Result<std::string>> read(SteadyTime deadline);
  /// Breaks the connection off unless both bodies came to their ends: then it is kept for the next request.
  ~IncomingResponse();

 private:
  friend class AsyncHttpClient;
  IncomingResponse(AsyncHttpClient& client, std::unique_ptr<Stream> stream, bool head_only);
  IoTask<Result<void>> receive(SteadyTime deadline);
  IoTask<Result<void>> read_head(SteadyTime deadline);
  /// Until the server has said whether it wants the body, or `deadline`: not all servers say it.
  IoTask<Result<void>> await_continue(SteadyTime deadline);

  AsyncHttpClient& client_;
  std::unique_ptr<Stream> stream_;
  ResponseParser parser_;
  InputBuffer input_;
  bool received_anything_ = false;
  bool received_whole_read_ = false;  ///< the last read was filled
  bool body_unsent_ = false;          ///< the server still waits for some of the request
};

/// The client for coroutines: any number of requests at a time, each on a connection of its own; see HttpClient for the
/// rules. Everything on the executor's thread. Must outlive its coroutines.
class AsyncHttpClient {
 public:
  /// Errors as in HttpClient::create.
  static Result<std::unique_ptr<AsyncHttpClient>> create(const IoExecutor& executor, Url url, ClientOptions options);

  /// A body's source or sink is called on the executor's thread: every other request waits while it blocks.
  IoTask<Result<ClientResponse>> send(ClientRequest request);
  /// `sink` must live until this has ended.
  IoTask<Result<ClientResponse>> receive(ClientRequest request, const ByteSink& sink);
  /// Until the head of the answer is there.
  IoTask<Result<std::unique_ptr<IncomingResponse>>> open(ClientRequest request);
  void cancel();

  const Url& url() const { return url_; }
  const ClientOptions& options() const { return options_; }

 private:
  friend class IncomingResponse;
  AsyncHttpClient(const IoExecutor& executor, Url url, ClientOptions options, std::shared_ptr<TlsContext> tls);

  /// When to give up: at a time, or after so long without any progress.
  struct Patience {
    std::optional<SteadyTime> until;
    Nanos each{};
    SteadyTime deadline() const { return until ? *until : std::chrono::steady_clock::now() + each; }
  };
  Patience patience_for(const ClientRequest& request, bool to_sink) const;

  /// The head, and the body unless it has a source.
  Result<std::string> format(const ClientRequest& request) const;
  IoTask<Result<std::unique_ptr<IncomingResponse>>> open_with(const ClientRequest& request, Patience patience);
  IoTask<Result<void>> exchange(IncomingResponse& incoming, const ClientRequest& request, std::string_view bytes,
                                Patience patience);
  IoTask<Result<void>> write(IncomingResponse& incoming, std::string_view bytes, SteadyTime deadline);
  IoTask<Result<void>> send_body(IncomingResponse& incoming, ByteSource& source, Patience patience);
  IoTask<Result<ClientResponse>> take(ClientRequest request, const ByteSink* sink);
  std::unique_ptr<Stream> take_idle();
  void keep(std::unique_ptr<Stream> stream);
  Error broken(const boost::system::error_code& error, bool expired) const;

  IoExecutor executor_;
  Url url_;
  ClientOptions options_;
  std::shared_ptr<TlsContext> tls_;
  TimeBoxes boxes_;
  std::vector<std::unique_ptr<Stream>> idle_;
};

}  // namespace assay
