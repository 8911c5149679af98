#include "net/http_client.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "base/text.h"
#include "net/async_http_client.h"
#include "net/http_message.h"
#include "net/sse.h"

namespace assay {
namespace {

// Of the body of a failed answer: enough for a sentence, not for a page.
constexpr std::size_t kQuotedBytes = 300;

ErrorKind kind_of_status(int status) {
  switch (status) {
    case 401:
    case 403: return ErrorKind::denied;
    case 404:
    case 410: return ErrorKind::not_found;
    case 408:
    case 504: return ErrorKind::timeout;
    case 409:
    case 429:
    case 503: return ErrorKind::busy;
    default: return status >= 500 ? ErrorKind::crash : ErrorKind::usage;
  }
}

}  // namespace

std::optional<Error> failure_of(const ClientResponse& response, std::string_view server) {
  if (response.status < 400) return std::nullopt;
  const std::string said(trim(printable(std::string_view(response.body).substr(0, kQuotedBytes))));
  Error error{.kind = kind_of_status(response.status)};
  error.message = fmt::format("{} answered {} {}", server, response.status, reason_phrase(response.status));
  if (!said.empty()) error.message += ": " + said;
  if (error.kind == ErrorKind::denied) error.hint = "Check the token, and that its role may do this.";
  return error;
}

/// Runs coroutines of the asynchronous client on the caller's own thread.
class HttpClient::Core {
 public:
  Result<void> init(Url url, ClientOptions options) {
    ASSAY_TRY(client_, AsyncHttpClient::create(context_.get_executor(), std::move(url), std::move(options)));
    return {};
  }

  AsyncHttpClient& client() { return *client_; }

  template <typename T>
  Result<T> run(IoTask<Result<T>> task) {
    std::optional<Result<T>> result;
    std::exception_ptr problem;
    bool done = false;
    asio::co_spawn(context_, keep_result(std::move(task), result), [&problem, &done](const std::exception_ptr& thrown) {
      problem = thrown;
      done = true;
    });
    context_.restart();
    // Not run(): a name look-up that was given up may still be under way in the background.
    while (!done) context_.run_one();
    if (problem) std::rethrow_exception(problem);
    return std::move(*result);
  }

  void cancel() {
    asio::post(context_, [this] { client_->cancel(); });
  }

 private:
  template <typename T>
  static IoTask<void> keep_result(IoTask<Result<T>> task, std::optional<Result<T>>& result) {
    result.emplace(co_await std::move(task));
  }

  asio::io_context context_{1};
  std::unique_ptr<AsyncHttpClient> client_;
};

HttpClient::HttpClient(std::unique_ptr<Core> core) : core_(std::move(core)) {}

HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::create(Url url, ClientOptions options) {
  auto core = std::make_unique<Core>();
  ASSAY_CHECK(core->init(std::move(url), std::move(options)));
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(core)));
}

Result<ClientResponse> HttpClient::send(ClientRequest request) {
  const std::string doing = fmt::format("{} {}", request.method, request.target);
  return core_->run(core_->client().send(std::move(request))).within(doing);
}

Result<ClientResponse> HttpClient::receive(ClientRequest request, const ByteSink& sink) {
  const std::string doing = fmt::format("{} {}", request.method, request.target);
  return core_->run(core_->client().receive(std::move(request), sink)).within(doing);
}

void HttpClient::cancel() { core_->cancel(); }

struct EventSource::State {
  HttpClient::Core& core;
  std::unique_ptr<IncomingResponse> incoming;
  SseParser parser;
  std::string received;
  std::size_t used = 0;  ///< of `received`
};

EventSource::EventSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
EventSource::EventSource(EventSource&&) noexcept = default;
EventSource::~EventSource() = default;

Result<EventSource> HttpClient::open_events(ClientRequest request) {
  const std::string doing = fmt::format("{} {}", request.method, request.target);
  request.headers.set("Accept", "text/event-stream");
  auto& client = core_->client();
  ASSAY_TRY(auto incoming, core_->run(client.open(std::move(request))).within(doing));
  const Headers headers = incoming->headers();
  const std::string_view type = headers.find("Content-Type").value_or("");
  if (incoming->status() == 200 && equal_ignoring_case(type.substr(0, type.find(';')), "text/event-stream")) {
    return EventSource(std::make_unique<EventSource::State>(
        EventSource::State{*core_, std::move(incoming), SseParser(client.options().events), {}, 0}));
  }
  ClientResponse refused{.status = incoming->status()};
  const auto deadline = std::chrono::steady_clock::now() + client.options().connect_time;
  if (auto said = core_->run(incoming->read(deadline))) refused.body = *said;
  auto error = failure_of(refused, client.options().server);
  if (!error) {
    error = Error{
        .kind = ErrorKind::io,
        .message = fmt::format("{} answered {} without an event stream", client.options().server, refused.status)};
  }
  return std::move(*error).within(doing);
}

Result<ServerEvent> EventSource::next(Nanos patience) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    std::string_view rest = std::string_view(state_->received).substr(state_->used);
    ASSAY_TRY(auto event, state_->parser.next(rest));
    state_->used = state_->received.size() - rest.size();
    if (event) return std::move(*event);
    ASSAY_TRY(state_->received, state_->core.run(state_->incoming->read(deadline)));
    state_->used = 0;
    if (state_->received.empty()) {
      return Error{.kind = ErrorKind::lost_peer, .message = "the event stream has ended"};
    }
  }
}

}  // namespace assay
