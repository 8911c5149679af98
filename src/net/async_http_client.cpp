#include "net/async_http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "net/chunk.h"

namespace assay {
namespace {

constexpr std::size_t kReadBytes = std::size_t{16} << 10;
// Once a read was filled there is more to come, and worth a larger buffer.
constexpr std::size_t kBodyReadAtOnce = std::size_t{64} << 10;
// Progress is looked at after so many bytes.
constexpr std::size_t kWrittenAtOnce = std::size_t{64} << 10;
// From here on it is worth asking first whether a body is wanted, and for so long.
constexpr std::uint64_t kAskFirstBytes = std::uint64_t{1} << 20;
constexpr Nanos kAskFirstTime = std::chrono::seconds(1);

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

bool asks_first(const ByteSource& source) { return source.length().value_or(kAskFirstBytes) >= kAskFirstBytes; }

Error interrupted() { return Error{.kind = ErrorKind::interrupted, .message = "broken off"}; }

}  // namespace

IncomingResponse::IncomingResponse(AsyncHttpClient& client, std::unique_ptr<Stream> stream, bool head_only)
    : client_(client), stream_(std::move(stream)), parser_(head_only, client.options().header_bytes) {}

IncomingResponse::~IncomingResponse() {
  if (parser_.complete() && parser_.keep_alive() && input_.empty() && !body_unsent_) client_.keep(std::move(stream_));
}

IoTask<Result<void>> IncomingResponse::receive(SteadyTime deadline) {
  if (client_.boxes_.cancelled) co_return interrupted();
  const TimeBox box(client_.boxes_, stream_->executor(), deadline, [this] { stream_->cancel(); });
  const std::size_t count = received_whole_read_ ? kBodyReadAtOnce : kReadBytes;
  const auto [error, got] = co_await stream_->read_some(input_.prepare(count));
  if (client_.boxes_.cancelled) co_return interrupted();
  if (is_end(error) && !box.expired()) co_return parser_.end_of_input();
  if (error) co_return client_.broken(error, box.expired());
  received_anything_ = true;
  received_whole_read_ = got == count;
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

IoTask<Result<void>> IncomingResponse::await_continue(SteadyTime deadline) {
  while (!parser_.head_complete() && !parser_.told_to_continue()) {
    auto received = co_await receive(deadline);
    if (!received && received.error().kind == ErrorKind::timeout) co_return Result<void>();
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
    ASSAY_TRY(tls, make_client_tls(options.trust, options.identity));
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

AsyncHttpClient::Patience AsyncHttpClient::patience_for(const ClientRequest& request, bool to_sink) const {
  const Nanos time = request.time.value_or(options_.request_time);
  if (to_sink || request.body_source) return {.until = std::nullopt, .each = time};
  return {.until = std::chrono::steady_clock::now() + time, .each = time};
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
  if (const auto& source = request.body_source) {
    const auto length = source->length();
    text += length ? fmt::format("Content-Length: {}\r\n", *length) : "Transfer-Encoding: chunked\r\n";
    if (asks_first(*source)) text += "Expect: 100-continue\r\n";
    text += "\r\n";
    return text;
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

IoTask<Result<void>> AsyncHttpClient::write(IncomingResponse& incoming, std::string_view bytes, SteadyTime deadline) {
  const TimeBox box(boxes_, executor_, deadline, [&incoming] { incoming.stream_->cancel(); });
  const auto error = co_await write_all(*incoming.stream_, bytes);
  if (boxes_.cancelled) co_return interrupted();
  co_return error ? Result<void>(broken(error, box.expired())) : Result<void>();
}

IoTask<Result<void>> AsyncHttpClient::exchange(IncomingResponse& incoming, const ClientRequest& request,
                                               std::string_view bytes, Patience patience) {
  auto written = co_await write(incoming, bytes, patience.deadline());
  if (written && request.body_source) {
    if (asks_first(*request.body_source)) {
      auto asked = co_await incoming.await_continue(std::chrono::steady_clock::now() + kAskFirstTime);
      if (!asked) co_return asked;
    }
    written = co_await send_body(incoming, *request.body_source, patience);
  }
  if (!written && written.error().kind != ErrorKind::lost_peer) co_return written;
  // A server that refuses a large body answers and closes while we still write: its answer says why.
  auto head = co_await incoming.read_head(patience.deadline());
  if (!head && !written) co_return written;
  co_return head;
}

/// Unless the answer is there already.
IoTask<Result<void>> AsyncHttpClient::send_body(IncomingResponse& incoming, ByteSource& source, Patience patience) {
  incoming.body_unsent_ = true;
  const auto length = source.length();
  std::uint64_t sent = 0;
  while (!incoming.parser_.head_complete()) {
    if (boxes_.cancelled) co_return interrupted();
    auto next = source.next();
    if (!next) {
      // Nothing but a broken connection tells the server that this was not all.
      incoming.stream_->close();
      co_return std::move(next).error().within("reading what is to be sent");
    }
    std::optional<std::string> piece = std::move(*next);
    if (piece && piece->empty()) continue;
    const bool last = !piece;
    sent += last ? 0 : piece->size();
    if (length && (sent > *length || (last && sent != *length))) {
      incoming.stream_->close();
      co_return Error{.kind = ErrorKind::internal,
                      .message = fmt::format("the body has not the {} bytes that were promised", *length)};
    }
    if (!length) piece = last ? std::string(kLastChunk) : as_chunk(*piece);
    const std::string framed = std::move(piece).value_or("");
    for (std::string_view rest = framed; !rest.empty();) {
      const auto part = rest.substr(0, kWrittenAtOnce);
      auto written = co_await write(incoming, part, patience.deadline());
      if (!written) co_return written;
      rest.remove_prefix(part.size());
    }
    incoming.body_unsent_ = !last;
    if (last) break;
  }
  co_return Result<void>();
}

IoTask<Result<std::unique_ptr<IncomingResponse>>> AsyncHttpClient::open_with(const ClientRequest& request,
                                                                             Patience patience) {
  if (boxes_.cancelled) co_return interrupted();
  auto bytes = format(request);
  if (!bytes) co_return std::move(bytes).error();
  const bool head_only = request.method == "HEAD";
  if (auto idle = take_idle()) {
    std::unique_ptr<IncomingResponse> incoming(new IncomingResponse(*this, std::move(idle), head_only));
    auto done = co_await exchange(*incoming, request, *bytes, patience);
    if (done) co_return incoming;
    // The server may have closed a kept connection at the very moment we used it.
    const bool stale = !incoming->received_anything_ && done.error().kind == ErrorKind::lost_peer;
    const bool repeatable = is_safe_to_repeat(request.method) && !incoming->body_unsent_;
    if (!stale || !repeatable) co_return std::move(done).error();
  }
  const SteadyTime connect_by =
      std::min<SteadyTime>(patience.deadline(), std::chrono::steady_clock::now() + options_.connect_time);
  auto stream = co_await connect(executor_, boxes_, url_, options_, tls_, connect_by);
  if (!stream) co_return std::move(stream).error();
  std::unique_ptr<IncomingResponse> incoming(new IncomingResponse(*this, std::move(*stream), head_only));
  auto done = co_await exchange(*incoming, request, *bytes, patience);
  if (!done) co_return std::move(done).error();
  co_return incoming;
}

IoTask<Result<std::unique_ptr<IncomingResponse>>> AsyncHttpClient::open(ClientRequest request) {
  co_return co_await open_with(request, patience_for(request, false));
}

IoTask<Result<ClientResponse>> AsyncHttpClient::send(ClientRequest request) {
  co_return co_await take(std::move(request), nullptr);
}

IoTask<Result<ClientResponse>> AsyncHttpClient::receive(ClientRequest request, const ByteSink& sink) {
  co_return co_await take(std::move(request), &sink);
}

IoTask<Result<ClientResponse>> AsyncHttpClient::take(ClientRequest request, const ByteSink* sink) {
  const Patience patience = patience_for(request, sink != nullptr);
  auto incoming = co_await open_with(request, patience);
  if (!incoming) co_return std::move(incoming).error();
  ClientResponse response{.status = (*incoming)->status(), .headers = (*incoming)->headers()};
  const bool to_sink = sink && response.status >= 200 && response.status < 300;
  for (;;) {
    auto piece = co_await (*incoming)->read(patience.deadline());
    if (!piece) co_return std::move(piece).error();
    if (piece->empty()) co_return response;
    if (to_sink) {
      auto taken = (*sink)(*piece);
      if (!taken) co_return std::move(taken).error();
      continue;
    }
    response.body += *piece;
    if (response.body.size() > options_.response_bytes) {
      co_return Error{.kind = ErrorKind::io,
                      .message = fmt::format("the answer of {} is larger than {}", options_.server,
                                             format_bytes(Bytes{static_cast<std::int64_t>(options_.response_bytes)}))};
    }
  }
}

}  // namespace assay
