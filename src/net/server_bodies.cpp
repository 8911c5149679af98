// How a ServerConnection hands over bodies piece by piece: of requests to handlers that read while they arrive, of
// answers from sources that make them while they are sent.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <limits>
#include <utility>

#include "base/log.h"
#include "net/chunk.h"
#include "net/server_connection.h"

namespace assay {
namespace {

// A pace is looked at after so many bytes: at the least rate they take seconds, not minutes.
constexpr std::size_t kPacedBytes = std::size_t{64} << 10;

Error client_gone() { return {.kind = ErrorKind::lost_peer, .message = "the client has left"}; }

Result<std::optional<std::string>> next_of(ByteSource& source) {
  try {
    return source.next();
  } catch (const std::exception& problem) {
    return Error{.kind = ErrorKind::internal, .message = problem.what()};
  } catch (...) {
    return Error{.kind = ErrorKind::internal, .message = "an unknown exception"};
  }
}

}  // namespace

IoTask<ServerConnection::Outcome> ServerConnection::handle_streamed(RequestParser& parser, HttpRequest& request,
                                                                    const Router::Match& match) {
  ASSAY_ASSERT(shared_.workers != nullptr);
  Outcome outcome;
  parser.accept_body(body_limit(match.options));
  if (const auto& refused = parser.refusal()) {
    outcome.response = refusal(refused->status, refused->message);
    co_return outcome;
  }
  const auto wake = [weak = weak_from_this(), executor = stream_->executor()] {
    asio::post(executor, [weak] {
      if (const auto self = weak.lock()) self->wakeup_.notify();
    });
  };
  const auto length = parser.has_body() ? parser.content_length() : std::optional<std::uint64_t>(0);
  const auto pipe = std::make_shared<BodyPipe>(kStreamWindow, length, wake);
  request.body_source = pipe;
  bool answered = false;
  // Everything that is referred to lives in this coroutine, which waits until `answered`.
  const bool taken = shared_.workers->of(match.options).submit(caller_, [&] {
    outcome.response = call(*match.handler, request);
    asio::post(stream_->executor(), [&] {
      answered = true;
      if (reading_piece_) stream_->cancel();
      wakeup_.notify();
    });
  });
  if (!taken) {
    outcome.response = no_room("too many uploads are waiting");
    co_return outcome;
  }
  const bool still_there = co_await feed(parser, *pipe, answered);
  outcome.over = !still_there;
  allow_forever();
  while (!answered) co_await wakeup_.wait();
  pipe->close();
  request.body_source.reset();
  outcome.whole = parser.complete();
  // A handler that was told of it has nothing better to say.
  if (const auto& refused = parser.refusal(); refused && pipe->failure_seen()) {
    if (outcome.response.stream) outcome.response.stream->detach();
    outcome.response = refusal(refused->status, refused->message);
  }
  co_return outcome;
}

/// Receives the body until it is complete or its handler has answered. False if the client is gone.
IoTask<bool> ServerConnection::feed(RequestParser& parser, BodyPipe& pipe, const bool& answered) {
  Pace pace(shared_.limits.body_time, shared_.limits.stream_bytes_per_second);
  bool continued = !parser.expects_continue();
  for (;;) {
    if (answered) co_return true;
    if (aborted_) {
      pipe.fail({.kind = ErrorKind::interrupted, .message = "the server is stopping"});
      co_return false;
    }
    if (parser.complete()) {
      pipe.finish();
      co_return true;
    }
    if (!pipe.thirsty()) {
      allow_forever();
      co_await wakeup_.wait();
      continue;
    }
    input_.consume(parser.take_body(input_.view()));
    if (std::string content = parser.take_content(); !content.empty()) pipe.push(std::move(content));
    if (const auto& refused = parser.refusal()) {
      pipe.fail({.kind = refused->status == 408 ? ErrorKind::timeout : ErrorKind::usage, .message = refused->message});
      co_return true;
    }
    if (parser.complete() || !pipe.thirsty()) continue;
    if (!std::exchange(continued, true) && input_.empty()) {
      const bool told = co_await write(kContinue);
      if (!told) break;
    }
    const bool more = co_await read_piece(pace);
    if (more || answered || aborted_) continue;
    if (!expired_) break;
    parser.give_up(408, "the body did not arrive in time");
  }
  pipe.fail(client_gone());
  co_return false;
}

IoTask<bool> ServerConnection::read_piece(Pace& pace, SteadyTime end) {
  const SteadyTime begin = std::chrono::steady_clock::now();
  const std::size_t before = input_.size();
  expired_ = false;
  deadline_ = std::min(begin + pace.left(), end);
  reading_piece_ = true;
  const bool more = co_await read_more(kBodyReadBytes);
  reading_piece_ = false;
  pace.waited(std::chrono::steady_clock::now() - begin, input_.size() - before);
  co_return more;
}

/// False where the body was not sent to its end.
IoTask<bool> ServerConnection::send_pulled(HttpResponse& response, const HttpRequest& request,
                                           const RouteOptions& options, ResponseFraming framing) {
  framing.length = response.body_source->length();
  const bool bodiless = has_no_body(response.status);
  if (bodiless) framing.length.reset();
  framing.chunked = framing.chunked && !framing.length && !bodiless;
  WorkerPool* const workers = shared_.workers ? &shared_.workers->for_pieces(options) : nullptr;
  const std::string head = format_response_head(response, framing);
  const bool begun = co_await write(head);
  client_left_ = !begun;
  Result<void> sent;
  if (!client_left_ && !bodiless && request.method != "HEAD") {
    sent = co_await send_pieces(*response.body_source, workers, framing);
  }
  let_go(response, options);
  if (sent && !client_left_) co_return true;
  if (!client_left_) {
    log_error("{} {}: the answer was broken off: {}", request.method, request.path, sent.error().text());
  }
  co_return false;
}

/// Closing what a source has open may take a while.
void ServerConnection::let_go(HttpResponse& response, const RouteOptions& options) {
  if (!response.body_source || !shared_.workers) return;
  shared_.workers->for_pieces(options).add(caller_, [gone = std::exchange(response.body_source, nullptr)] {});
}

IoTask<Result<void>> ServerConnection::send_pieces(ByteSource& source, WorkerPool* workers,
                                                   const ResponseFraming& framing) {
  Pace pace(shared_.limits.write_time, shared_.limits.stream_bytes_per_second);
  std::uint64_t left = framing.length.value_or(std::numeric_limits<std::uint64_t>::max());
  for (;;) {
    PieceTurn turn(shared_.pieces, caller_, kStreamWindow, wakeup_);
    allow_forever();
    while (!turn.granted() && !aborted_) co_await wakeup_.wait();
    if (aborted_) co_return client_gone();
    auto pulled = co_await pull(source, workers);
    if (aborted_) co_return client_gone();
    if (!pulled) co_return std::move(pulled).error();
    std::optional<std::string> piece = std::move(*pulled);
    if (piece && piece->empty()) continue;
    const bool fits = piece ? piece->size() <= left : !framing.length || left == 0;
    if (!fits) {
      co_return Error{.kind = ErrorKind::internal,
                      .message = fmt::format("the source's length is not the {} bytes it promised", *framing.length)};
    }
    const bool last = !piece;
    left -= last ? 0 : piece->size();
    if (framing.chunked) piece = last ? std::string(kLastChunk) : as_chunk(*piece);
    const std::string framed = std::move(piece).value_or("");
    turn.resize(framed.size());
    const bool written = co_await write_at_pace(framed, pace);
    client_left_ = !written;
    if (client_left_) co_return client_gone();
    if (last) co_return Result<void>();
  }
}

IoTask<Result<std::optional<std::string>>> ServerConnection::pull(ByteSource& source, WorkerPool* workers) {
  if (!workers) co_return next_of(source);
  allow_forever();
  std::optional<Result<std::optional<std::string>>> piece;
  bool done = false;
  // Everything that is referred to lives in this coroutine, which waits until `done`.
  workers->add(caller_, [&] {
    piece.emplace(next_of(source));
    asio::post(stream_->executor(), [&] {
      done = true;
      wakeup_.notify();
    });
  });
  while (!done) co_await wakeup_.wait();
  co_return std::move(*piece);
}

IoTask<bool> ServerConnection::write_at_pace(std::string_view bytes, Pace& pace) {
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, kPacedBytes);
    const SteadyTime begin = std::chrono::steady_clock::now();
    const bool written = co_await write(part, begin + pace.left());
    if (!written) co_return false;
    pace.waited(std::chrono::steady_clock::now() - begin, part.size());
    bytes.remove_prefix(part.size());
  }
  co_return true;
}

}  // namespace assay
