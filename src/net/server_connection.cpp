#include "net/server_connection.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <functional>
#include <utility>

#include "base/log.h"
#include "net/request_target.h"
#include "net/response_head.h"
#include "net/server_options.h"

namespace assay {
namespace {

constexpr std::size_t kServerReadBytes = 4096;
// Up to here one write of head and body together is cheaper than two.
constexpr std::size_t kJoinBytes = std::size_t{16} << 10;
// How much of a refused request is read and dropped: closing earlier would reset the connection, and the client would
// not see why it was refused.
constexpr std::size_t kDroppedBytes = std::size_t{8} << 20;
constexpr Nanos kGoodbyeTime = std::chrono::seconds(1);

// Nobody waits for more than a few things that take minutes.
constexpr std::size_t kWaitingSlowly = 4;

/// The same caller's streams are counted apart from its requests.
std::size_t streams_key(std::size_t caller) { return caller ^ 0x9E3779B97F4A7C15U; }

}  // namespace

WorkerPools::WorkerPools(const ServerOptions& options)
    : usual(std::max<std::size_t>(options.workers, 1), options.limits.waiting_requests),
      urgent(std::max<std::size_t>(options.urgent_workers, 1), options.limits.waiting_requests),
      slow(1, kWaitingSlowly),
      streams(std::max<std::size_t>(options.stream_workers, 1), options.limits.waiting_requests) {}

WorkerPool& WorkerPools::of(const RouteOptions& options) {
  if (options.stream_body) return streams;
  ASSAY_ASSERT(options.run_on != RunOn::io_thread);
  if (options.run_on == RunOn::urgent_worker) return urgent;
  return options.run_on == RunOn::slow_worker ? slow : usual;
}

WorkerPool& WorkerPools::for_pieces(const RouteOptions& options) {
  return options.run_on == RunOn::urgent_worker ? urgent : usual;
}

Share::Share(std::size_t& taken, std::size_t part, std::size_t limit) : part_(part) {
  if (part > limit || taken > limit - part) return;
  taken += part;
  taken_ = &taken;
}

Share& Share::operator=(Share&& other) noexcept {
  give_back();
  taken_ = std::exchange(other.taken_, nullptr);
  part_ = other.part_;
  return *this;
}

void Share::give_back() {
  if (taken_) *std::exchange(taken_, nullptr) -= part_;
}

std::string_view ServerShared::date() {
  const WallTime now = SystemClock().wall();
  const auto second = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  if (second != date_second_) {
    date_second_ = second;
    date_ = http_date(now);
  }
  return date_;
}

ServerConnection::ServerConnection(ServerShared& shared, std::unique_ptr<Stream> stream, PeerAddress peer, bool tls)
    : shared_(shared), stream_(std::move(stream)), peer_(std::move(peer)), tls_(tls), wakeup_(stream_->executor()) {}

IoTask<void> ServerConnection::run() {
  allow(shared_.limits.header_time);
  const auto opened = co_await stream_->open();
  if (opened) {
    bool again = true;
    while (again) again = co_await serve_one();
  } else {
    log_debug("connection from {}: {}", peer_.host, opened.error().text());
  }
  stream_->close();
}

void ServerConnection::check_deadline(SteadyTime now) {
  if (now < deadline_) return;
  expired_ = true;
  stream_->cancel();
}

void ServerConnection::begin_stop() {
  if (streaming_) streaming_->finish();
  if (waiting_idle_) abort();
}

void ServerConnection::abort() {
  aborted_ = true;
  client_left_ = true;
  stream_->close();
  wakeup_.notify();
}

IoTask<bool> ServerConnection::serve_one() {
  RequestParser parser({.header_bytes = shared_.limits.header_bytes, .target_bytes = shared_.limits.target_bytes});
  const bool complete = co_await read_head(parser);
  if (!complete) co_return false;
  HttpRequest request = parser.take_request();
  request.peer = peer_;
  request.tls = tls_;
  auto target = parse_request_target(request.target);
  if (!target) {
    const Refusal unreadable{400, target.error().message};
    co_await refuse(unreadable);
    co_return false;
  }
  auto match = shared_.router.match(request.method, *target);
  request.path = std::move(target->path);
  path_ = request.path;
  request.query = std::move(target->query);
  request.captured = std::move(match.captured);
  co_return co_await answer(parser, std::move(request), std::move(match));
}

IoTask<bool> ServerConnection::read_head(RequestParser& parser) {
  bool begun = false;
  expired_ = false;
  path_ = "/";
  admission_ = {};
  if (deadline_ == SteadyTime::max()) allow(shared_.limits.idle_time);
  for (;;) {
    const std::size_t taken = parser.take_head(input_.view());
    if (parser.refusal()) {
      co_await refuse(*parser.refusal());
      co_return false;
    }
    if (parser.head_complete()) {
      input_.consume(taken);
      co_return true;
    }
    if (!begun && !input_.empty()) {
      begun = true;
      allow(shared_.limits.header_time);
    }
    if (!begun && shared_.stopping) co_return false;
    waiting_idle_ = !begun;
    const bool more = co_await read_more(kServerReadBytes);
    waiting_idle_ = false;
    if (more) continue;
    const Refusal late{408, "the header did not arrive in time"};
    if (expired_ && begun) co_await refuse(late);
    co_return false;
  }
}

IoTask<bool> ServerConnection::read_body(RequestParser& parser, std::size_t limit) {
  parser.accept_body(limit);
  expired_ = false;
  allow(shared_.limits.body_time);
  if (parser.expects_continue() && !parser.refusal() && !parser.complete() && input_.empty()) {
    const bool told = co_await write(kContinue);
    if (!told) co_return false;
  }
  Pace pace(shared_.limits.stall_time, shared_.limits.stream_bytes_per_second);
  const SteadyTime end = std::chrono::steady_clock::now() + shared_.limits.body_time;
  for (;;) {
    input_.consume(parser.take_body(input_.view()));
    if (parser.refusal()) {
      co_await refuse(*parser.refusal());
      co_return false;
    }
    if (parser.complete()) co_return true;
    const bool more = co_await read_piece(pace, end);
    if (more) continue;
    const Refusal late{408, "the body did not arrive in time"};
    if (expired_) co_await refuse(late);
    co_return false;
  }
}

IoTask<bool> ServerConnection::read_more(std::size_t count) {
  const auto [error, got] = co_await stream_->read_some(input_.prepare(count));
  if (error) co_return false;
  input_.commit(got);
  co_return true;
}

IoTask<bool> ServerConnection::answer(RequestParser& parser, HttpRequest request, Router::Match match) {
  const bool head_only = request.method == "HEAD";
  Shares shares;
  Outcome outcome = co_await handle(parser, request, match, shares);
  HttpResponse& response = outcome.response;
  if (aborted_ || outcome.over) {
    if (response.stream) response.stream->detach();
    let_go(response, match.options);
    co_return false;
  }
  const bool chunks_known = !parser.http_1_0();
  if (response.stream) {
    shares.turn.give_back();
    const bool proper_end = co_await send_stream(response, head_only, chunks_known);
    if (proper_end) co_await say_goodbye();
    co_return false;
  }
  bool keep_alive = outcome.whole && parser.keep_alive() && chunks_known && !shared_.stopping;
  bool sent = false;
  if (response.body_source) {
    const ResponseFraming framing{.keep_alive = keep_alive, .chunked = chunks_known, .date = shared_.date()};
    sent = co_await send_pulled(response, request, match.options, framing);
  } else {
    const Share unsent(shared_.unsent_bytes, response.body.size(), shared_.limits.unsent_bytes);
    if (!unsent.granted()) response = no_room("too many answers wait for clients to take them");
    sent = co_await send(response, keep_alive, head_only);
  }
  shares.turn.give_back();
  if (sent && !keep_alive) co_await say_goodbye();
  allow_forever();
  const bool again = sent && keep_alive;
  co_return again;
}

IoTask<ServerConnection::Outcome> ServerConnection::handle(RequestParser& parser, HttpRequest& request,
                                                           const Router::Match& match, Shares& shares) {
  // A body that nobody wants is not read, so the next request cannot be found either.
  Outcome outcome{.whole = !parser.has_body()};
  if (!match.handler) {
    outcome.response = match.status < 300
                           ? HttpResponse{.status = match.status}
                           : refusal(match.status, match.status == 404 ? "there is nothing at this path"
                                                                       : "this path does not take that method");
    if (!match.allow.empty()) outcome.response.headers.set("Allow", match.allow);
    co_return outcome;
  }
  admission_ = match.options.admit ? match.options.admit(request) : Admission{};
  const std::string_view caller = admission_.caller.empty() ? std::string_view(peer_.host) : admission_.caller;
  caller_ = std::hash<std::string_view>()(caller);
  auto refused = take_turn(match.options, shares);
  if (!refused && admission_.refuse) {
    RouteOptions unread = match.options;
    unread.stream_body = false;
    outcome.response = co_await run_handler(admission_.refuse, unread, request);
    co_return outcome;
  }
  if (!refused) refused = make_room(parser, match.options, shares);
  if (refused) {
    outcome.response = std::move(*refused);
    co_return outcome;
  }
  if (match.options.stream_body) {
    outcome = co_await handle_streamed(parser, request, match);
  } else {
    const bool received = co_await read_body(parser, body_limit(match.options));
    outcome.over = !received;
    if (outcome.over) co_return outcome;
    outcome.whole = true;
    request.body = parser.take_content();
    allow_forever();
    outcome.response = co_await run_handler(*match.handler, match.options, request);
    std::string().swap(request.body);
  }
  shares.body.give_back();
  shares.stream.give_back();
  co_return outcome;
}

std::optional<HttpResponse> ServerConnection::take_turn(const RouteOptions& options, Shares& shares) {
  if (options.run_on == RunOn::io_thread || options.many_callers) return std::nullopt;
  shares.turn = Share(shared_.requests_of[caller_], 1, shared_.limits.requests_of_caller);
  if (shares.turn.granted()) return std::nullopt;
  return refusal_for_now(429, "too many requests of this caller are being answered");
}

/// A refusal where there is none; the body is then not read at all.
std::optional<HttpResponse> ServerConnection::make_room(const RequestParser& parser, const RouteOptions& options,
                                                        Shares& shares) {
  if (options.stream_body && !options.many_callers) {
    shares.stream = Share(shared_.requests_of[streams_key(caller_)], 1, shared_.limits.streams_of_caller);
    if (!shares.stream.granted()) return refusal_for_now(429, "too many uploads of this caller are under way");
  }
  if (parser.has_body()) {
    // As much as it claims, not what has come: of many that were let in on trust none would get to its end.
    const std::size_t most = options.stream_body ? kStreamWindow : body_limit(options);
    const auto size = std::min<std::uint64_t>(parser.content_length().value_or(most), most);
    if (size <= shared_.limits.small_body_bytes) return std::nullopt;
    shares.body = FairPart(shared_.bodies, caller_, size);
    if (!shares.body.granted()) return no_room("too many large requests are being received");
  }
  return std::nullopt;
}

HttpResponse ServerConnection::refusal_for_now(int status, std::string_view message) const {
  HttpResponse response = refusal(status, message);
  response.headers.set("Retry-After", "1");
  return response;
}

HttpResponse ServerConnection::no_room(std::string_view message) const {
  if (admission_.turned_away) admission_.turned_away();
  return refusal_for_now(503, message);
}

HttpResponse ServerConnection::call(const Handler& handler, const HttpRequest& request) const {
  if (shared_.aborting) return refusal(503, "the server is stopping");
  try {
    return handler(request);
  } catch (const std::exception& problem) {
    log_error("{} {}: the handler failed: {}", request.method, request.path, problem.what());
  } catch (...) {
    log_error("{} {}: the handler failed with an unknown exception", request.method, request.path);
  }
  return refusal(500, "an unexpected problem; the server's log has more");
}

IoTask<HttpResponse> ServerConnection::run_handler(const Handler& handler, const RouteOptions& options,
                                                   const HttpRequest& request) {
  if (!shared_.workers || options.run_on == RunOn::io_thread) co_return call(handler, request);
  HttpResponse response;
  bool done = false;
  // Everything that is referred to lives in this coroutine, which waits until `done`.
  const bool taken = shared_.workers->of(options).submit(caller_, [&] {
    response = call(handler, request);
    asio::post(stream_->executor(), [&] {
      done = true;
      wakeup_.notify();
    });
  });
  if (!taken) co_return no_room("too many requests are waiting");
  while (!done) co_await wakeup_.wait();
  co_return response;
}

IoTask<bool> ServerConnection::send(const HttpResponse& response, bool keep_alive, bool head_only) {
  ResponseFraming framing{.keep_alive = keep_alive, .date = shared_.date()};
  if (!has_no_body(response.status)) framing.length = response.body.size();
  std::string head = format_response_head(response, framing);
  const SteadyTime end = std::chrono::steady_clock::now() + shared_.limits.answer_time;
  if (head_only || !framing.length) co_return co_await write(head, end);
  if (response.body.size() <= kJoinBytes) {
    head += response.body;
    co_return co_await write(head, end);
  }
  const bool head_sent = co_await write(head, end);
  if (!head_sent) co_return false;
  co_return co_await write(response.body, end);
}

IoTask<bool> ServerConnection::write(std::string_view bytes, SteadyTime end) {
  while (!bytes.empty()) {
    allow(shared_.limits.write_time);
    deadline_ = std::min(deadline_, end);
    const auto [error, written] = co_await stream_->write_some(bytes);
    if (error) co_return false;
    bytes.remove_prefix(written);
  }
  co_return true;
}

IoTask<void> ServerConnection::refuse(const Refusal& why) {
  expired_ = false;
  const HttpResponse response = refusal(why.status, why.message);
  const bool sent = co_await send(response, false, false);
  if (sent) co_await say_goodbye();
}

IoTask<void> ServerConnection::say_goodbye() {
  expired_ = false;
  allow(kGoodbyeTime);
  co_await stream_->end_writing();
  std::size_t dropped = 0;
  while (dropped < kDroppedBytes && !expired_ && !aborted_) {
    const auto [error, got] = co_await stream_->read_some(input_.prepare(kBodyReadBytes));
    if (error) break;
    dropped += got;
  }
}

}  // namespace assay
