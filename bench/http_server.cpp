// Requests a second through the HTTP server, one I/O thread, 64 connections, plain and TLS, beside the limit of this
// machine: the same client against a bare epoll loop that sends the same bytes and understands nothing.
//
//   bench_http_server [SECONDS]
//
// The client is a bare loop too. Rounds alternate between server and limit, since shared machines drift. On a machine
// with few cores client and server share them, and requests a second say little about the server alone: the processor
// time that the server's thread spends on a request does, and the ratio is taken from it. Promise: a request costs at
// most three times the processor time of the limit.

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "net/listener.h"
#include "net/router.h"
#include "net/server_options.h"
#include "net/tls.h"
#include "net/tls_files.h"

namespace {

using namespace assay;

constexpr int kConnections = 64;
constexpr int kRounds = 5;
constexpr double kGoal = 1.0 / 3;
constexpr std::string_view kRequest = "GET /health HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContext = std::unique_ptr<SSL_CTX, SslDeleter>;

/// A non-blocking connection, encrypted if it has an SSL object.
class Wire {
 public:
  explicit Wire(FileDescriptor fd, SSL_CTX* context = nullptr) : fd_(std::move(fd)) {
    if (!context) return;
    ssl_.reset(SSL_new(context));
    SSL_set_fd(ssl_.get(), fd_.get());
  }
  int fd() const { return fd_.get(); }
  SSL* ssl() const { return ssl_.get(); }
  /// Bytes read; 0: none are there yet; negative: closed.
  long read(std::array<char, 16384>& buffer) {
    if (ssl_) {
      const int got = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
      if (got > 0) return got;
      return SSL_get_error(ssl_.get(), got) == SSL_ERROR_WANT_READ ? 0 : -1;
    }
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return got > 0 ? got : got < 0 && errno == EAGAIN ? 0 : -1;
  }
  /// Small messages on a loopback socket are taken whole.
  bool write(std::string_view bytes) {
    const auto size = static_cast<ssize_t>(bytes.size());
    if (ssl_) return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(size)) == size;
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == size;
  }

 private:
  FileDescriptor fd_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
};

class Poll {
 public:
  void add(int fd, std::uint64_t tag) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = tag}};
    ::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  template <typename Ready>
  void wait(Ready ready) {
    std::array<epoll_event, kConnections> events;
    const int count = ::epoll_wait(fd_.get(), events.data(), kConnections, 100);
    for (int i = 0; i < count; ++i) ready(events[static_cast<std::size_t>(i)].data.u64);
  }

 private:
  FileDescriptor fd_{::epoll_create1(EPOLL_CLOEXEC)};
};

/// The limit: for every request's worth of bytes, the bytes of an answer.
class BareServer {
 public:
  BareServer(std::string answer, SSL_CTX* context)
      : listener_(*Listener::open({.host = "127.0.0.1"})),
        answer_(std::move(answer)),
        context_(context),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  std::uint16_t port() const { return listener_.address().port; }

 private:
  static constexpr std::uint64_t kListener = ~std::uint64_t{0};

  void run(const std::stop_token& stop) {
    Poll poll;
    poll.add(listener_.fd(), kListener);
    std::vector<std::unique_ptr<Wire>> wires;
    std::array<char, 16384> buffer;
    while (!stop.stop_requested()) {
      poll.wait([&](std::uint64_t tag) {
        if (tag != kListener) {
          // A request is one small message: it is there as a whole, and nothing behind it.
          auto& wire = wires[tag];
          const long got = wire ? wire->read(buffer) : 0;
          if (got < 0 || (got > 0 && !wire->write(answer_))) wire.reset();
          return;
        }
        auto accepted = listener_.accept();
        if (accepted.error != 0) return;
        wires.push_back(std::make_unique<Wire>(std::move(accepted.connection.fd), context_));
        if (context_) SSL_set_accept_state(wires.back()->ssl());
        poll.add(wires.back()->fd(), wires.size() - 1);
      });
    }
  }

  Listener listener_;
  std::string answer_;
  SSL_CTX* context_;
  std::jthread thread_;
};

FileDescriptor dial(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

/// Connected, shaken hands, and non-blocking from then on.
std::unique_ptr<Wire> connect(std::uint16_t port, SSL_CTX* context) {
  auto wire = std::make_unique<Wire>(dial(port), context);
  if (context && SSL_connect(wire->ssl()) != 1) return nullptr;
  const int flags = ::fcntl(wire->fd(), F_GETFL);
  if (flags < 0 || ::fcntl(wire->fd(), F_SETFL, flags | O_NONBLOCK) != 0) return nullptr;
  return wire;
}

struct Rate {
  double per_second = 0;
  double server_micros = 0;  ///< processor time a request outside the client's thread
};

double cpu_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double server_cpu_seconds() { return cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_seconds(CLOCK_THREAD_CPUTIME_ID); }

/// Keeps one request under way on each connection. Nothing if a connection broke.
std::optional<Rate> load(std::uint16_t port, SSL_CTX* context, std::size_t answer_bytes, double seconds) {
  Poll poll;
  std::vector<std::unique_ptr<Wire>> wires;
  std::vector<std::size_t> missing(kConnections, answer_bytes);
  for (int i = 0; i < kConnections; ++i) {
    wires.push_back(connect(port, context));
    if (!wires.back()) return std::nullopt;
    poll.add(wires.back()->fd(), static_cast<std::uint64_t>(i));
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (const auto& wire : wires) {
    if (!wire->write(kRequest)) return std::nullopt;
  }
  std::array<char, 16384> buffer;
  const double cpu_before = server_cpu_seconds();
  long answered = 0;
  bool broken = false;
  while (elapsed() < seconds && !broken) {
    poll.wait([&](std::uint64_t tag) {
      const long got = wires[tag]->read(buffer);
      if (got < 0 || static_cast<std::size_t>(got) > missing[tag]) {
        broken = true;
        return;
      }
      missing[tag] -= static_cast<std::size_t>(got);
      if (missing[tag] > 0) return;
      ++answered;
      missing[tag] = answer_bytes;
      broken = broken || !wires[tag]->write(kRequest);
    });
  }
  if (broken || answered == 0) return std::nullopt;
  const auto count = static_cast<double>(answered);
  return Rate{count / elapsed(), (server_cpu_seconds() - cpu_before) / count * 1e6};
}

Result<std::unique_ptr<HttpServer>> start_server(std::optional<TlsFiles> tls) {
  Router router;
  router.get("/health", [](const HttpRequest&) { return HttpResponse::text(200, "OK"); }, {.run_on = RunOn::io_thread});
  return HttpServer::start({.listen = {{.host = "127.0.0.1"}}, .tls = std::move(tls)}, std::move(router));
}

/// One whole answer of the server: what the bare loop sends as well.
std::string sample_answer(std::uint16_t port, SSL_CTX* context) {
  const auto wire = connect(port, context);
  if (!wire || !wire->write(kRequest)) return "";
  std::array<char, 16384> buffer;
  for (int tries = 0; tries < 1000; ++tries) {
    const long got = wire->read(buffer);
    if (got != 0) return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : "";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return "";
}

Result<bool> measure(const char* name, const std::optional<TlsFiles>& tls, double seconds) {
  SslContext client;
  SslContext bare;
  if (tls) {
    client.reset(SSL_CTX_new(TLS_client_method()));
    bare.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate_chain_file(bare.get(), tls->certificate.c_str());
    SSL_CTX_use_PrivateKey_file(bare.get(), tls->key.c_str(), SSL_FILETYPE_PEM);
  }
  ASSAY_TRY(const auto server, start_server(tls));
  const std::uint16_t port = server->addresses().front().port;
  const std::string answer = sample_answer(port, client.get());
  if (answer.empty()) return Error{.kind = ErrorKind::lost_peer, .message = "the server did not answer"};
  const BareServer limit(answer, bare.get());
  std::vector<Rate> ours;
  std::vector<Rate> limits;
  for (int round = 0; round < kRounds; ++round) {
    const auto own = load(port, client.get(), answer.size(), seconds);
    const auto bound = load(limit.port(), client.get(), answer.size(), seconds);
    if (!own || !bound) return Error{.kind = ErrorKind::lost_peer, .message = "a connection broke"};
    ours.push_back(*own);
    limits.push_back(*bound);
  }
  const auto median = [](std::vector<Rate>& rates, double Rate::* figure) {
    std::ranges::sort(rates, {}, figure);
    return rates[kRounds / 2].*figure;
  };
  const double ratio = median(limits, &Rate::server_micros) / median(ours, &Rate::server_micros);
  fmt::print("{:<8} {:>12.0f} {:>12.0f} {:>14.1f} {:>14.1f} {:>7.2f}\n", name, median(ours, &Rate::per_second),
             median(limits, &Rate::per_second), median(ours, &Rate::server_micros),
             median(limits, &Rate::server_micros), ratio);
  return ratio >= kGoal;
}

Result<bool> bench(double seconds) {
  const TemporaryFolder folder;
  ASSAY_TRY(const auto tls, keep_self_made_certificate(folder.path(), {"localhost", "127.0.0.1"}));
  fmt::print("{} connections, one I/O thread, median of {} rounds of {} s\n\n", kConnections, kRounds, seconds);
  fmt::print("{:<8} {:>12} {:>12} {:>14} {:>14} {:>7}\n", "", "requests/s", "limit/s", "CPU us/request", "limit CPU us",
             "ratio");
  ASSAY_TRY(const bool plain, measure("plain", std::nullopt, seconds));
  ASSAY_TRY(const bool encrypted, measure("TLS", tls, seconds));
  return plain && encrypted;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  if (seconds <= 0) {
    fmt::print(stderr, "usage: bench_http_server [SECONDS]\n");
    return 2;
  }
  // OpenSSL writes to a socket that the other thread has closed already; an error is enough.
  std::signal(SIGPIPE, SIG_IGN);
  const auto met = bench(seconds);
  if (!met.ok()) {
    fmt::print(stderr, "bench_http_server: {}\n", met.error().text());
    return 1;
  }
  return *met ? 0 : 1;
}
