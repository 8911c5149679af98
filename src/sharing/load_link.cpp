#include "sharing/load_link.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/spawn.h"

namespace assay {
namespace {

constexpr Nanos kSendPatience = std::chrono::seconds(30);
constexpr Nanos kLook = std::chrono::milliseconds(100);  // how long a wait goes on without looking for a stop
constexpr Nanos kTryAgain = std::chrono::milliseconds(200);

SteadyTime now() { return SystemClock().now(); }

int milliseconds_until(SteadyTime deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 60'000));
}

bool wait_for(int fd, short events, SteadyTime deadline) {
  pollfd poll{.fd = fd, .events = events, .revents = 0};
  return ::poll(&poll, 1, milliseconds_until(deadline)) > 0;
}

void set_option(int fd, int level, int option, int value) {
  static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
}

Error gone(int error_number) {
  return {.kind = ErrorKind::lost_peer,
          .message = error_number == 0
                         ? "the connection was closed"
                         : fmt::format("the connection broke: {}", system_error(error_number, "").text())};
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

/// One attempt, over all addresses of the host. Why not, where there is none.
Result<FileDescriptor> try_to_connect(const std::string& host, std::uint16_t port, SteadyTime deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); failed != 0) {
    return Error{.kind = ErrorKind::unreachable, .message = fmt::format("{}: {}", host, ::gai_strerror(failed))};
  }
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  int why = ECONNREFUSED;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    FileDescriptor socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) continue;
    if (::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    why = errno;
    if (why != EINPROGRESS) continue;
    why = ETIMEDOUT;
    if (!wait_for(socket.get(), POLLOUT, std::min(deadline, now() + std::chrono::seconds(5)))) continue;
    socklen_t length = sizeof why;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &why, &length);
    if (why == 0) return socket;
  }
  return Error{.kind = ErrorKind::unreachable, .message = system_error(why, fmt::format("{}:{}", host, port)).message};
}

}  // namespace

LoadLink::LoadLink(FileDescriptor socket, LinkEnd end, const LoadKey& secret)
    : socket_(std::move(socket)),
      end_(end),
      secret_(secret),
      nonce_(make_link_nonce()),
      reader_(end == LinkEnd::client ? LinkEnd::coordinator : LinkEnd::client) {
  static_cast<void>(make_non_blocking(socket_.get()).ok());
  // Questions about the time must not wait for a full packet; a machine that has gone must not be waited for.
  set_option(socket_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket_.get(), IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(socket_.get(), IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket_.get(), IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
  if (auto sent = send_bytes(preamble_of(nonce_)); !sent) broken_ = sent.error();
}

Result<void> LoadLink::send_bytes(std::string_view bytes) {
  const SteadyTime deadline = now() + kSendPatience;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(socket_.get(), POLLOUT, deadline) && now() >= deadline) return gone(ETIMEDOUT);
    } else if (errno != EINTR) {
      return gone(errno);
    }
  }
  return {};
}

Result<void> LoadLink::send(FrameType type, std::string_view payload) {
  if (!writer_) return Error{.kind = ErrorKind::lost_peer, .message = "the connection is not open yet"};
  return send_bytes(writer_->write(type, payload));
}

Result<void> LoadLink::pump() {
  if (broken_) return *broken_;
  char buffer[1 << 16];
  // Bounded: somebody who sends without end must not keep us from the others.
  for (int i = 0; i < 64; ++i) {
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (got > 0) {
      reader_.feed(std::string_view(buffer, static_cast<std::size_t>(got)));
      continue;
    }
    if (got < 0 && errno == EAGAIN) return {};
    if (got < 0 && errno == EINTR) continue;
    broken_ = gone(got == 0 ? 0 : errno);
    // What came before the end is worth reading.
    return {};
  }
  return {};
}

Result<std::optional<LoadFrame>> LoadLink::next() {
  if (!writer_) {
    ASSAY_TRY(const auto theirs, reader_.nonce());
    if (!theirs) return broken_ ? Result<std::optional<LoadFrame>>(*broken_) : std::optional<LoadFrame>();
    const bool ours_first = end_ == LinkEnd::coordinator;
    const LoadKey link = ours_first ? link_key(secret_, nonce_, *theirs) : link_key(secret_, *theirs, nonce_);
    reader_.use(link);
    writer_.emplace(link, end_);
  }
  ASSAY_TRY(auto frame, reader_.next());
  if (!frame && broken_) return *broken_;
  return frame;
}

Result<std::optional<LoadFrame>> LoadLink::receive(Nanos patience, const std::stop_token& stopping) {
  const SteadyTime deadline = now() + patience;
  for (;;) {
    const bool was_open = is_open();
    ASSAY_TRY(auto frame, next());
    if (frame || (!was_open && is_open())) return frame;
    if (stopping.stop_requested() || now() >= deadline) return std::optional<LoadFrame>();
    static_cast<void>(wait_for(socket_.get(), POLLIN, std::min(deadline, now() + kLook)));
    ASSAY_CHECK(pump());
  }
}

Result<FileDescriptor> connect_to_coordinator(const std::string& host, std::uint16_t port, Nanos patience,
                                              const std::stop_token& stopping) {
  const SteadyTime deadline = now() + patience;
  for (;;) {
    auto connected = try_to_connect(host, port, deadline);
    if (connected) return connected;
    if (stopping.stop_requested()) return Error{.kind = ErrorKind::interrupted, .message = "stopped while joining"};
    if (now() + kTryAgain >= deadline) return std::move(connected).error();
    std::this_thread::sleep_for(kTryAgain);
  }
}

}  // namespace assay
