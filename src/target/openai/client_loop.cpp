#include "target/openai/client_loop.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/hash.h"
#include "target/openai/loop_connection.h"

namespace assay {
namespace {

// Small enough that a burst of answers does not keep new requests from being sent.
constexpr int kEventsPerRound = 64;
constexpr std::size_t kRequestsPerRound = 256;
constexpr std::size_t kMostQueued = std::size_t{1} << 22;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
constexpr int kReadsPerRound = 16;
constexpr Nanos kLongestPause = std::chrono::seconds(5);

}  // namespace

Result<std::unique_ptr<ClientLoop>> ClientLoop::start(LoopContext& context) {
  FileDescriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll) return system_error(errno, "cannot make an event loop");
  FileDescriptor alarm(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!alarm) return system_error(errno, "cannot make an event loop");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  if (::epoll_ctl(poll.get(), EPOLL_CTL_ADD, alarm.get(), &event) != 0) {
    return system_error(errno, "cannot make an event loop");
  }
  std::unique_ptr<ClientLoop> loop(new ClientLoop(context, std::move(poll), std::move(alarm)));
  loop->thread_ = std::thread([raw = loop.get()] { raw->run(); });
  loop->thread_id_.wait(0);
  return loop;
}

ClientLoop::ClientLoop(LoopContext& context, FileDescriptor poll, FileDescriptor alarm)
    : context_(context),
      poll_(std::move(poll)),
      alarm_(std::move(alarm)),
      queue_(kMostQueued),
      balancer_(context.options, context.outstanding),
      idle_(context.places.size()),
      waiting_(context.places.size()),
      sweep_period_(std::clamp<Nanos>(context.wishes.request_timeout / 20, std::chrono::milliseconds(1),
                                      std::chrono::milliseconds(50))),
      buffer_(kBufferBytes) {
  for (const OpenAiEndpoint& endpoint : context.options.endpoints) writers_.emplace_back(context.options, endpoint);
  counts_.endpoints.resize(context.places.size());
}

ClientLoop::~ClientLoop() { stop(); }

void ClientLoop::wake() {
  if (!asleep_.exchange(false)) return;
  const std::uint64_t one = 1;
  (void)!::write(alarm_.get(), &one, sizeof one);
}

void ClientLoop::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  const std::uint64_t one = 1;
  (void)!::write(alarm_.get(), &one, sizeof one);
  thread_.join();
}

void ClientLoop::run() {
  // OpenSSL writes without MSG_NOSIGNAL.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_id_ = ::gettid();
  thread_id_.notify_all();
  next_sweep_ = steady_now() + sweep_period_;
  while (!stopping_) {
    take_requests();
    serve_waiting();
    flush();
    sleep_and_serve();
  }
  cancel_all();
  flush();
}

void ClientLoop::sleep_and_serve() {
  std::array<epoll_event, kEventsPerRound> events;
  int timeout_ms = -1;
  if (busy_ > 0 || waiting_count_ > 0 || !delayed_.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_sweep_ - steady_now());
    timeout_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }
  asleep_.exchange(true);  // a full barrier: what was pushed before `wake` looked is seen below
  if (!queue_.empty() || stopping_) {
    asleep_ = false;
    timeout_ms = 0;
  }
  const int count = ::epoll_wait(poll_.get(), events.data(), kEventsPerRound, timeout_ms);
  asleep_ = false;
  woke_ = steady_now();
  for (int i = 0; i < count; ++i) {
    auto* connection = static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
    if (connection) {
      serve(*connection, events[static_cast<std::size_t>(i)].events);
    } else {
      std::uint64_t rung = 0;
      (void)!::read(alarm_.get(), &rung, sizeof rung);
    }
  }
  if (woke_ >= next_sweep_) {
    sweep(woke_);
    next_sweep_ = woke_ + sweep_period_;
  }
  unused_.insert(unused_.end(), closed_.begin(), closed_.end());
  closed_.clear();
}

SteadyTime ClientLoop::deadline_of(const Request& request) const {
  return request.scheduled + context_.wishes.request_timeout;
}

void ClientLoop::take_requests() {
  Request request;
  for (std::size_t i = 0; i < kRequestsPerRound && queue_.pop(request); ++i) {
    Pending pending{.request = request};
    pending.endpoint = static_cast<std::uint16_t>(balancer_.pick());
    context_.outstanding[pending.endpoint].fetch_add(1, std::memory_order_relaxed);
    ++counts_.endpoints[pending.endpoint].requests;
    place_request(std::move(pending));
  }
}

/// Sends it now, or lets it wait for a connection behind those that wait already.
void ClientLoop::place_request(Pending pending) {
  const std::size_t endpoint = pending.endpoint;
  if (waiting_[endpoint].empty() && try_send(pending)) return;
  ++counts_.waited;
  ++waiting_count_;
  waiting_[endpoint].push_back(std::move(pending));
}

void ClientLoop::serve_waiting() {
  for (auto& queue : waiting_) {
    if (waiting_count_ == 0) return;
    while (!queue.empty() && try_send(queue.front())) {
      queue.pop_front();
      --waiting_count_;
    }
  }
}

bool ClientLoop::try_send(const Pending& pending) {
  Connection* connection = free_connection(pending.endpoint, pending.fresh);
  if (!connection) return false;
  begin(*connection, pending);
  return true;
}

/// An idle connection, or a new one that is being opened; null where too many are open.
ClientLoop::Connection* ClientLoop::free_connection(std::size_t endpoint, bool fresh) {
  if (!fresh && !idle_[endpoint].empty()) {
    Connection* connection = idle_[endpoint].back();
    idle_[endpoint].pop_back();
    connection->reused = true;
    return connection;
  }
  if (open_ >= context_.connections_per_loop) {
    // One that another endpoint does not need just now makes room.
    const auto spare = std::find_if(idle_.begin(), idle_.end(), [](const auto& idle) { return !idle.empty(); });
    if (spare == idle_.end()) return nullptr;
    Connection* connection = spare->back();
    spare->pop_back();
    close(*connection);
  }
  return open_connection(endpoint);
}

ClientLoop::Connection* ClientLoop::open_connection(std::size_t endpoint) {
  if (unused_.empty()) {
    connections_.push_back(std::make_unique<Connection>(context_.wishes.token_times, context_.wishes.texts));
    unused_.push_back(connections_.back().get());
  }
  Connection* connection = unused_.back();
  unused_.pop_back();
  connection->reused = false;
  connection->state = Connection::State::connecting;
  connection->pending.endpoint = static_cast<std::uint16_t>(endpoint);
  ++open_;
  ++counts_.endpoints[endpoint].connections;
  return connection;
}

void ClientLoop::begin(Connection& connection, const Pending& pending) {
  const bool is_new = connection.state == Connection::State::connecting;
  connection.pending = pending;
  connection.answer.begin();
  connection.out_at = 0;
  connection.sent = {};
  ++busy_;
  const RequestSet& set = *context_.requests;
  set.make(set.size() == 0 ? pending.request.id : pending.request.sample, scratch_);
  connection.input_estimate = scratch_.input_tokens;
  writers_[pending.endpoint].write(scratch_, connection.out);
  const SteadyTime now = steady_now();
  if (connection.pending.acted == SteadyTime()) connection.pending.acted = now;
  if (!is_new) {
    connection.state = Connection::State::busy;
    return write_out(connection);
  }
  const ServerPlace& place = context_.places[pending.endpoint];
  connection.opened = now;
  const auto progress = connection.link.open(place.address, place.tls.get(), place.host);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT;
  event.data.ptr = &connection;
  connection.watches_writing = true;
  if (progress == Link::Progress::failed ||
      ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, connection.link.fd(), &event) != 0) {
    return failed(connection, RequestError::connect, connection.link.problem());
  }
  if (progress == Link::Progress::done) {
    connection.state = Connection::State::busy;
    write_out(connection);
  }
}

void ClientLoop::serve(Connection& connection, std::uint32_t events) {
  switch (connection.state) {
    case Connection::State::closed: return;
    case Connection::State::connecting: return go_on_connecting(connection);
    case Connection::State::busy:
      if ((events & EPOLLOUT) != 0 && connection.out_at < connection.out.size()) write_out(connection);
      if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_in(connection);
      return;
    case Connection::State::idle: {
      // The server hung up, which it may, or sent what nobody asked for.
      std::size_t size = 0;
      const auto progress = connection.link.read(buffer_, size);
      if (progress == Link::Progress::want_read) return;
      if (progress == Link::Progress::done) ++counts_.unasked;
      std::erase(idle_[connection.pending.endpoint], &connection);
      return close(connection);
    }
  }
}

void ClientLoop::go_on_connecting(Connection& connection) {
  switch (connection.link.connect()) {
    case Link::Progress::done: connection.state = Connection::State::busy; return write_out(connection);
    case Link::Progress::want_read: return watch(connection, false);
    case Link::Progress::want_write: return watch(connection, true);
    case Link::Progress::closed:
      return failed(connection, RequestError::connect, "the server ended the connection during the TLS handshake");
    case Link::Progress::failed: return failed(connection, RequestError::connect, connection.link.problem());
  }
}

void ClientLoop::write_out(Connection& connection) {
  if (connection.out_at == 0) connection.sent = steady_now();
  std::string_view rest = std::string_view(connection.out).substr(connection.out_at);
  const auto progress = connection.link.write(rest);
  connection.out_at = connection.out.size() - rest.size();
  // A server may answer and hang up before it has read all: what it said is read first, and the reading tells.
  watch(connection, progress == Link::Progress::want_write);
}

void ClientLoop::read_in(Connection& connection) {
  const SteadyTime at = std::max(woke_, connection.sent);
  for (int i = 0; i < kReadsPerRound; ++i) {
    std::size_t size = 0;
    const auto progress = connection.link.read(buffer_, size);
    AnswerReader::State state = AnswerReader::State::more;
    std::string_view bytes(buffer_.data(), size);
    if (progress == Link::Progress::done) {
      state = connection.answer.take(bytes, at);
    } else if (progress == Link::Progress::want_read) {
      return;
    } else if (progress == Link::Progress::want_write) {
      return watch(connection, true);
    } else {
      state = connection.answer.finish(at);
      if (state == AnswerReader::State::failed && progress == Link::Progress::failed &&
          connection.answer.error() == RequestError::disconnected) {
        return failed(connection, RequestError::disconnected, connection.link.problem());
      }
    }
    if (state != AnswerReader::State::more) {
      const bool extra = !bytes.empty() || connection.link.has_pending();
      if (state == AnswerReader::State::complete) return answered(connection, extra);
      return refused(connection, extra);
    }
    if (size < buffer_.size() && !connection.link.has_pending()) return;
  }
}

void ClientLoop::answered(Connection& connection, bool extra_bytes) {
  const AnswerReader& answer = connection.answer;
  LoopCounts::Endpoint& endpoint = counts_.endpoints[connection.pending.endpoint];
  ++endpoint.ok;
  ++(answer.counted() ? counts_.counted : counts_.estimated);
  if (answer.cut_short()) ++counts_.cut_short;
  ++counts_.finish_reasons[static_cast<std::size_t>(answer.finish_reason())];
  if (answer.cached_tokens()) {
    counts_.cache_input_tokens += answer.input_tokens();
    counts_.cached_tokens += *answer.cached_tokens();
  }
  if (extra_bytes) ++counts_.unasked;
  report(connection, RequestOutcome::ok, RequestError::none);
  release(connection, answer.keep_alive() && !extra_bytes);
}

/// The answer came and is none, or is not good.
void ClientLoop::refused(Connection& connection, bool extra_bytes) {
  const AnswerReader& answer = connection.answer;
  const bool reusable = answer.refused() && answer.keep_alive() && !extra_bytes;
  const RequestError error = answer.error();
  if (!reusable || (error == RequestError::overloaded && connection.pending.attempts < context_.options.retries)) {
    return failed(connection, error, answer.problem());
  }
  note_problem(answer.problem());
  ++counts_.endpoints[connection.pending.endpoint].failed;
  report(connection, RequestOutcome::error, error);
  release(connection, true);
}

/// Ends the connection; its request is sent again where that is right, else reported.
void ClientLoop::failed(Connection& connection, RequestError error, const std::string& problem) {
  Pending pending = connection.pending;
  const bool unheard = !connection.answer.begun();
  const bool stale = error == RequestError::disconnected && connection.reused && unheard;
  const bool may_retry = error == RequestError::connect || error == RequestError::overloaded ||
                         (error == RequestError::disconnected && unheard);
  if (stale) {
    // The server had ended a kept connection while the request was on its way.
    ++counts_.resent;
    pending.fresh = true;
    close(connection);
    --busy_;
    waiting_[pending.endpoint].push_front(pending);
    ++waiting_count_;
    return;
  }
  if (may_retry && pending.attempts < context_.options.retries) {
    ++counts_.retried;
    const Nanos most =
        std::min<Nanos>(context_.options.retry_pause * (1LL << std::min(pending.attempts, 20U)), kLongestPause);
    // Between half and all of it, so that requests that failed together do not come back together.
    const double share = 0.5 + static_cast<double>(stable_hash(std::to_string(pending.request.id)) % 512) / 1024;
    const Nanos own_pause(static_cast<std::int64_t>(static_cast<double>(most.count()) * share));
    ++pending.attempts;
    const Nanos pause = std::max(own_pause, std::min(connection.answer.retry_after(), kLongestPause));
    delayed_.push({std::min(woke_ + pause, deadline_of(pending.request)), pending});
    close(connection);
    --busy_;
    return;
  }
  note_problem(problem);
  ++counts_.endpoints[pending.endpoint].failed;
  report(connection, RequestOutcome::error, error);
  close(connection);
  --busy_;
}

void ClientLoop::release(Connection& connection, bool reusable) {
  --busy_;
  if (!reusable || connection.out_at < connection.out.size()) return close(connection);
  connection.state = Connection::State::idle;
  watch(connection, false);
  idle_[connection.pending.endpoint].push_back(&connection);
}

void ClientLoop::close(Connection& connection) {
  connection.link.close();
  connection.state = Connection::State::closed;
  --open_;
  closed_.push_back(&connection);
}

void ClientLoop::watch(Connection& connection, bool for_writing) {
  if (connection.watches_writing == for_writing) return;
  connection.watches_writing = for_writing;
  epoll_event event{};
  event.events = for_writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &connection;
  ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, connection.link.fd(), &event);
}

void ClientLoop::sweep(SteadyTime now) {
  for (const auto& owner : connections_) {
    Connection& connection = *owner;
    if (connection.state != Connection::State::busy && connection.state != Connection::State::connecting) continue;
    if (deadline_of(connection.pending.request) <= now) {
      if (connection.answer.said_done() && connection.answer.finish(now) == AnswerReader::State::complete) {
        answered(connection, true);
        continue;
      }
      ++counts_.endpoints[connection.pending.endpoint].failed;
      report(connection, RequestOutcome::timeout, RequestError::none);
      release(connection, false);
    } else if (connection.state == Connection::State::connecting &&
               now - connection.opened > context_.options.connect_time) {
      failed(connection, RequestError::connect, "no connection within the time for connecting");
    }
  }
  for (auto& queue : waiting_) {
    while (!queue.empty() && deadline_of(queue.front().request) <= now) {
      report_unsent(queue.front(), RequestOutcome::timeout);
      queue.pop_front();
      --waiting_count_;
    }
  }
  while (!delayed_.empty() && delayed_.top().until <= now) {
    const Pending pending = delayed_.top().pending;
    delayed_.pop();
    if (deadline_of(pending.request) <= now) {
      report_unsent(pending, RequestOutcome::timeout);
    } else {
      place_request(pending);
    }
  }
}

}  // namespace assay
