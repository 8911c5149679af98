#include "net/http_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/log.h"
#include "net/listener.h"
#include "net/server_connection.h"
#include "net/server_options.h"
#include "net/tls_files.h"
#include "net/tls_stream.h"

namespace assay {
namespace {

using Descriptor = asio::posix::basic_stream_descriptor<IoExecutor>;

constexpr std::string_view kNoRoom =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Type: text/plain\r\n\r\n"
    "503 Service Unavailable: too many connections are open\n";

// A full table of files is said, not repeated with every attempt.
constexpr Nanos kAcceptLogPeriod = std::chrono::minutes(1);

/// Often enough for the shortest limit, rarely enough to cost nothing.
Nanos sweep_period(const HttpLimits& limits) {
  const Nanos shortest = std::min({limits.header_time, limits.idle_time, limits.body_time, limits.stall_time,
                                   limits.write_time, limits.answer_time});
  return std::clamp<Nanos>(shortest / 8, std::chrono::milliseconds(2), std::chrono::milliseconds(250));
}

}  // namespace

class HttpServer::Core {
 public:
  Core(ServerOptions options, Router router, std::vector<Listener> listeners, std::shared_ptr<TlsContext> tls)
      : shared_(options.limits),
        workers_(std::in_place, options),
        listeners_(std::move(listeners)),
        tls_(std::move(tls)),
        sweep_timer_(context_.get_executor()) {
    shared_.pieces.limit = options.limits.piece_bytes;
    shared_.router = std::move(router);
    shared_.workers = &*workers_;
    for (const auto& listener : listeners_) addresses_.push_back(listener.address());
  }

  void start() {
    for (auto& listener : listeners_) {
      descriptors_.emplace_back(context_.get_executor(), listener.fd());
      spawn(accept_from(listener, descriptors_.back()));
    }
    spawn(sweep());
    thread_ = std::thread([this] { run(); });
  }

  void change_tls(std::shared_ptr<TlsContext> tls) {
    asio::post(context_, [this, tls = std::move(tls)]() mutable { tls_ = std::move(tls); });
  }
  void request_stop(Nanos grace) {
    asio::post(context_.get_executor(), [this, grace] { begin_stop(grace); });
  }

  void wait() {
    const std::lock_guard lock(wait_mutex_);
    if (thread_.joinable()) thread_.join();
    workers_.reset();
  }

  const std::vector<ListenAddress>& addresses() const { return addresses_; }
  std::size_t connections() const { return count_; }

 private:
  void spawn(IoTask<void> task) { asio::co_spawn(context_.get_executor(), std::move(task), asio::detached); }

  void run() {
    for (;;) {
      try {
        context_.run();
        return;
      } catch (const std::exception& problem) {
        log_error("the HTTP server goes on after an unexpected problem: {}", problem.what());
      }
    }
  }

  IoTask<void> accept_from(Listener& listener, Descriptor& descriptor) {
    IoTimer pause(context_.get_executor());
    while (!shared_.stopping) {
      const auto [error] = co_await descriptor.async_wait(Descriptor::wait_read, kAsTask);
      if (error || shared_.stopping) break;
      const int problem = accept_all(listener);
      if (problem == 0) continue;
      // Most likely out of file descriptors: the queue stays readable, so without a pause this would spin.
      log_accept_problem(listener, problem);
      pause.expires_after(std::chrono::milliseconds(200));
      co_await pause.async_wait(kAsTask);
    }
  }

  /// Accepts what is waiting. The error that needs a pause, or 0.
  int accept_all(Listener& listener) {
    for (;;) {
      auto accepted = listener.accept();
      if (accepted.error == EAGAIN) return 0;
      // The client gave up before it was its turn.
      if (accepted.error == ECONNABORTED || accepted.error == EINTR || accepted.error == EPROTO) continue;
      if (accepted.error != 0) return accepted.error;
      try {
        serve(std::move(accepted.connection), listener.address().is_unix());
      } catch (const std::exception& problem) {
        log_error("a connection on {} is not served: {}", listener.address().text(), problem.what());
      }
    }
  }

  void log_accept_problem(const Listener& listener, int problem) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now < next_accept_log_) return;
    next_accept_log_ = now + kAcceptLogPeriod;
    log_error("cannot accept connections on {}: {}", listener.address().text(), std::strerror(problem));
  }

  bool has_room_for(const PeerAddress& peer) const {
    if (connections_.size() >= shared_.limits.connections) return false;
    const auto of_peer = of_peer_.find(peer.host);
    return of_peer == of_peer_.end() || of_peer->second < shared_.limits.connections_of_peer;
  }

  void serve(Listener::Accepted accepted, bool unix_socket) {
    const bool encrypted = tls_ && !unix_socket;
    if (!has_room_for(accepted.peer)) {
      if (!encrypted) (void)::send(accepted.fd.get(), kNoRoom.data(), kNoRoom.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      return;
    }
    const auto executor = context_.get_executor();
    auto stream = encrypted ? make_tls_server_stream(tls_, executor, std::move(accepted.fd), accepted.family)
                            : make_socket_stream(executor, std::move(accepted.fd), accepted.family);
    auto connection =
        std::make_shared<ServerConnection>(shared_, std::move(stream), std::move(accepted.peer), encrypted);
    connections_.emplace(connection.get(), connection);
    ++of_peer_[connection->peer().host];
    count_ = connections_.size();
    asio::co_spawn(executor, connection->run(),
                   [this, raw = connection.get()](const std::exception_ptr& problem) { forget(raw, problem); });
  }

  void forget(ServerConnection* connection, const std::exception_ptr& problem) {
    const auto of_peer = of_peer_.find(connection->peer().host);
    if (--of_peer->second == 0) of_peer_.erase(of_peer);
    connections_.erase(connection);
    count_ = connections_.size();
    if (connections_.empty() && shared_.stopping) sweep_timer_.cancel();
    if (!problem) return;
    try {
      std::rethrow_exception(problem);
    } catch (const std::exception& what) {
      log_error("a connection ended with an unexpected problem: {}", what.what());
    }
  }

  IoTask<void> sweep() {
    const Nanos period = sweep_period(shared_.limits);
    while (!shared_.stopping || !connections_.empty()) {
      sweep_timer_.expires_after(period);
      co_await sweep_timer_.async_wait(kAsTask);
      const SteadyTime now = std::chrono::steady_clock::now();
      for (const auto& [raw, connection] : connections_) connection->check_deadline(now);
      std::erase_if(shared_.requests_of, [](const auto& caller) { return caller.second == 0; });
      if (shared_.stopping && now >= stop_deadline_ && !shared_.aborting) {
        shared_.aborting = true;
        for (const auto& [raw, connection] : connections_) connection->abort();
      }
    }
  }

  void begin_stop(Nanos grace) {
    if (shared_.stopping) return;
    shared_.stopping = true;
    stop_deadline_ = std::chrono::steady_clock::now() + grace;
    // The listeners close their own descriptors.
    for (auto& descriptor : descriptors_) descriptor.release();
    listeners_.clear();
    for (const auto& [raw, connection] : connections_) connection->begin_stop();
    sweep_timer_.cancel();
  }

  ServerShared shared_;  ///< outlives the coroutines in the context
  asio::io_context context_{1};
  std::optional<WorkerPools> workers_;
  std::vector<Listener> listeners_;
  std::deque<Descriptor> descriptors_;  ///< a deque: coroutines refer to its elements
  std::shared_ptr<TlsContext> tls_;
  std::vector<ListenAddress> addresses_;
  std::unordered_map<ServerConnection*, std::shared_ptr<ServerConnection>> connections_;
  std::atomic<std::size_t> count_ = 0;
  std::unordered_map<std::string, std::size_t> of_peer_;  ///< connections by host
  SteadyTime next_accept_log_;
  IoTimer sweep_timer_;
  SteadyTime stop_deadline_ = SteadyTime::max();
  std::mutex wait_mutex_;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, Router router) {
  ASSAY_ASSERT(!options.listen.empty());
  std::shared_ptr<TlsContext> tls;
  if (options.tls) {
    ASSAY_TRY(tls, make_server_tls(*options.tls));
  }
  std::vector<Listener> listeners;
  for (const auto& address : options.listen) {
    ASSAY_TRY(auto listener, Listener::open(address));
    listeners.push_back(std::move(listener));
  }
  auto core = std::make_unique<Core>(std::move(options), std::move(router), std::move(listeners), std::move(tls));
  core->start();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(core)));
}

HttpServer::~HttpServer() { stop(Nanos(0)); }

const std::vector<ListenAddress>& HttpServer::addresses() const { return core_->addresses(); }

std::size_t HttpServer::connections() const { return core_->connections(); }

Result<void> HttpServer::change_certificate(const TlsFiles& files) {
  ASSAY_TRY(auto tls, make_server_tls(files));
  core_->change_tls(std::move(tls));
  return {};
}

void HttpServer::request_stop(Nanos grace) { core_->request_stop(grace); }

void HttpServer::wait() { core_->wait(); }

void HttpServer::stop(Nanos grace) {
  core_->request_stop(grace);
  core_->wait();
}

}  // namespace assay
