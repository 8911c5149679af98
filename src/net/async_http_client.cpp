#include "net/async_http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "base/version.h"

namespace assay {
namespace {

constexpr std::size_t kReadBytes = std::size_t{16} << 10;

bool is_safe_to_repeat(std::string_view method) { return method != "POST" && method != "PATCH"; }

bool is_end(const boost::system::error_code& error) {
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated;
}

bool has_control_or_blank(std::string_view text) {
  return std::ranges::any_of(text, [](char character) { return static_cast<unsigned char>(character) <= 0x20; });
}

bool has_line_break(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

Error interrupted() { return Error{.kind = ErrorKind::interrupted, .message = "broken off"}; }

}  // namespace

IncomingResponse::IncomingResponse(AsyncHttpClient& client, std::unique_ptr<Stream> stream, bool head_only)
    : client_(client), stream_(std::move(stream)), parser_(head_only, client.options().header_bytes) {}

IncomingResponse::~IncomingResponse() {
  if (parser_.complete() && parser_.keep_alive() && input_.empty()) client_.keep(std::move(stream_));
}

IoTask<Result<void>> IncomingResponse::receive(SteadyTime deadline) {
  if (client_.boxes_.cancelled) co_return interrupted();
  const TimeBox box(client_.boxes_, stream_->executor(), deadline, [this] { stream_->cancel(); });
  const auto [error, got] = co_await stream_->read_some(input_.prepare(kReadBytes));
  if (client_.boxes_.cancelled) co_return interrupted();
  if (is_end(error) && !box.expired()) co_return parser_.end_of_input();
  if (error) co_return client_.broken(error, box.expired());
  received_anything_ = true;
  input_.commit(got);
  auto taken = parser_.take(input_.view());
  if (!taken) co_return std::move(taken).error();
  input_.consume(*taken);
  co_return Result<void>();
}

IoTask<Result<void>> IncomingResponse::read_head(SteadyTime deadline) {
  while (!parser_.head_complete()) {
    auto received = co_await receive(deadline);
    if (!received) co_return received;
  }
  co_return Result<void>();
}

IoTask<Result<std::string>> IncomingResponse::read(SteadyTime deadline) {
  for (;;) {
    std::string content = parser_.take_content();
    if (!content.empty() || parser_.complete()) co_return content;
    auto received = co_await receive(deadline);
    if (!received) co_return std::move(received).error();
  }
}

Result<std::unique_ptr<AsyncHttpClient>> AsyncHttpClient::create(const IoExecutor& executor, Url url,
                                                                 ClientOptions options) {
  if (url.target.find('?') != std::string::npos) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("the URL of {} has a query ('?')", options.server)};
  }
  while (url.target.ends_with('/')) url.target.pop_back();
  std::shared_ptr<TlsContext> tls;
  if (url.scheme == Url::Scheme::https) {
    ASSAY_TRY(tls, make_client_tls(options.trust));
  }
  return std::unique_ptr<AsyncHttpClient>(
      new AsyncHttpClient(executor, std::move(url), std::move(options), std::move(tls)));
}

AsyncHttpClient::AsyncHttpClient(const IoExecutor& executor, Url url, ClientOptions options,
                                 std::shared_ptr<TlsContext> tls)
    : executor_(executor), url_(std::move(url)), options_(std::move(options)), tls_(std::move(tls)) {}

void AsyncHttpClient::cancel() {
  boxes_.cancelled = true;
  for (TimeBox* box : boxes_.active) box->break_off_now();
}

SteadyTime AsyncHttpClient::deadline_of(const ClientRequest& request) const {
  return std::chrono::steady_clock::now() + request.time.value_or(options_.request_time);
}

Result<std::string> AsyncHttpClient::format(const ClientRequest& request) const {
  const auto malformed = [](std::string_view what) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("the {} of the request is not valid", what)};
  };
  if (request.method.empty() || has_control_or_blank(request.method)) return malformed("method");
  if (!request.target.starts_with('/') || has_control_or_blank(request.target)) return malformed("path");
  std::string text = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: assay/{}\r\n", request.method,
                                 url_.target, request.target, url_.host_header(), version());
  for (const auto& [name, value] : request.headers) {
    if (has_control_or_blank(name) || has_line_break(value))
      return malformed(fmt::format("header '{}'", printable(name)));
    text += fmt::format("{}: {}\r\n", name, value);
  }
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH") {
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  }
  text += "\r\n";
  text += request.body;
  return text;
}

std::unique_ptr<Stream> AsyncHttpClient::take_idle() {
  while (!idle_.empty()) {
    auto stream = std::move(idle_.back());
    idle_.pop_back();
    if (stream->quiet()) return stream;
  }
  return nullptr;
}

void AsyncHttpClient::keep(std::unique_ptr<Stream> stream) {
  if (idle_.size() < options_.idle_connections && !boxes_.cancelled) idle_.push_back(std::move(stream));
}

Error AsyncHttpClient::broken(const boost::system::error_code& error, bool expired) const {
  if (expired) {
    return Error{.kind = ErrorKind::timeout,
                 .message = fmt::format("{} at {} did not answer in time", options_.server, url_.place())};
  }
  return Error{
      .kind = ErrorKind::lost_peer,
      .message = fmt::format("the connection to {} at {} broke: {}", options_.server, url_.place(), error.message())};
}

IoTask<Result<void>> AsyncHttpClient::exchange(IncomingResponse& incoming, std::string_view bytes,
                                               SteadyTime deadline) {
  Result<void> written;
  {
    const TimeBox box(boxes_, executor_, deadline, [&incoming] { incoming.stream_->cancel(); });
    const auto error = co_await write_all(*incoming.stream_, bytes);
    if (boxes_.cancelled) co_return interrupted();
    if (error) written = broken(error, box.expired());
    if (box.expired()) co_return written;
  }
  // A server that refuses a large body answers and closes while we still write: its answer says why.
  auto head = co_await incoming.read_head(deadline);
  if (!head && !written) co_return written;
  co_return head;
}

IoTask<Result<std::unique_ptr<IncomingResponse>>> AsyncHttpClient::open_until(const ClientRequest& request,
                                                                              SteadyTime deadline) {
  if (boxes_.cancelled) co_return interrupted();
  auto bytes = format(request);
  if (!bytes) co_return std::move(bytes).error();
  const bool head_only = request.method == "HEAD";
  if (auto idle = take_idle()) {
    std::unique_ptr<IncomingResponse> incoming(new IncomingResponse(*this, std::move(idle), head_only));
    auto done = co_await exchange(*incoming, *bytes, deadline);
    if (done) co_return incoming;
    // The server may have closed a kept connection at the very moment we used it.
    const bool stale = !incoming->received_anything_ && done.error().kind == ErrorKind::lost_peer;
    if (!stale || !is_safe_to_repeat(request.method)) co_return std::move(done).error();
  }
  const SteadyTime connect_by =
      std::min<SteadyTime>(deadline, std::chrono::steady_clock::now() + options_.connect_time);
  auto stream = co_await connect(executor_, boxes_, url_, options_, tls_, connect_by);
  if (!stream) co_return std::move(stream).error();
  std::unique_ptr<IncomingResponse> incoming(new IncomingResponse(*this, std::move(*stream), head_only));
  auto done = co_await exchange(*incoming, *bytes, deadline);
  if (!done) co_return std::move(done).error();
  co_return incoming;
}

IoTask<Result<std::unique_ptr<IncomingResponse>>> AsyncHttpClient::open(ClientRequest request) {
  co_return co_await open_until(request, deadline_of(request));
}

IoTask<Result<ClientResponse>> AsyncHttpClient::send(ClientRequest request) {
  const SteadyTime deadline = deadline_of(request);
  auto incoming = co_await open_until(request, deadline);
  if (!incoming) co_return std::move(incoming).error();
  ClientResponse response{.status = (*incoming)->status(), .headers = (*incoming)->headers()};
  for (;;) {
    auto piece = co_await (*incoming)->read(deadline);
    if (!piece) co_return std::move(piece).error();
    if (piece->empty()) co_return response;
    response.body += *piece;
    if (response.body.size() > options_.response_bytes) {
      co_return Error{.kind = ErrorKind::io,
                      .message = fmt::format("the answer of {} is larger than {}", options_.server,
                                             format_bytes(Bytes{static_cast<std::int64_t>(options_.response_bytes)}))};
    }
  }
}

}  // namespace assay
