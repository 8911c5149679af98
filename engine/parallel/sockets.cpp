#include "parallel/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "formats/failure.h"

namespace assay::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;
using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

constexpr auto kRetryAfter = std::chrono::milliseconds(100);
// Long enough for a packet that got lost once, short enough to try the next address of a host.
constexpr auto kOneTry = std::chrono::seconds(3);

/// The socket API is typed that way.
template <typename Address>
sockaddr* generic(Address& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

[[noreturn]] void fail(const std::string& what, int code) {
  throw Failure(code == EADDRINUSE ? "busy" : "io", what + ": " + std::strerror(code),
                code == EADDRINUSE ? "Set MASTER_PORT to a free port on all ranks." : "");
}

void send_at_once(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Fd bound(int family, sockaddr* address, socklen_t length) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  const int off = 0;
  if (!fd.valid() || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) return {};
  if (family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (::bind(fd.get(), address, length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    const int code = errno;
    fd.close();
    errno = code;
  }
  return fd;
}

Fd bound_to_all(int port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_any;
  six.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (Fd fd = bound(AF_INET6, generic(six), sizeof(six)); fd.valid() || errno == EADDRINUSE) return fd;
  sockaddr_in four{};  // IPv6 can be switched off
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_ANY);
  four.sin_port = htons(static_cast<std::uint16_t>(port));
  return bound(AF_INET, generic(four), sizeof(four));
}

/// TCP lets a socket connect to itself if the port nobody listens on happens to be the one it was given.
bool is_own_end(const Fd& fd) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_length = sizeof(here);
  socklen_t there_length = sizeof(there);
  return ::getsockname(fd.get(), generic(here), &here_length) == 0 &&
         ::getpeername(fd.get(), generic(there), &there_length) == 0 && here_length == there_length &&
         std::memcmp(&here, &there, here_length) == 0;
}

/// One try; the reason of a failure is in errno.
Fd connected(const addrinfo& target, SteadyClock::time_point deadline) {
  Fd fd(::socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fd;
  int code = ::connect(fd.get(), target.ai_addr, target.ai_addrlen) == 0 ? 0 : errno;
  if (code == EINPROGRESS) {
    const auto left = std::min<SteadyClock::duration>(deadline - SteadyClock::now(), kOneTry);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    pollfd ready{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    socklen_t length = sizeof(code);
    if (::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(wait, 0))) <= 0) {
      code = ETIMEDOUT;
    } else {
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &code, &length);
    }
  }
  if (code == 0 && is_own_end(fd)) code = ECONNREFUSED;
  if (code != 0) {
    fd.close();
    errno = code;
  }
  return fd;
}

std::string text_of(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, &address, sizeof(four));
    ::inet_ntop(AF_INET, &four.sin_addr, text, sizeof(text));
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 six;
    std::memcpy(&six, &address, sizeof(six));
    ::inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof(text));
  }
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view found = text;
  return std::string(found.starts_with(kMapped) ? found.substr(kMapped.size()) : found);
}

}  // namespace

void Fd::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Fd listen_on(const std::string& address, int port) {
  Fd fd;
  if (is_loopback(address)) {
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    loopback.sin_port = htons(static_cast<std::uint16_t>(port));
    fd = bound(AF_INET, generic(loopback), sizeof(loopback));
  } else {
    fd = bound_to_all(port);
  }
  if (!fd.valid()) fail("rank 0 cannot listen on port " + std::to_string(port), errno);
  return fd;
}

Fd connect_to(const std::string& address, int port, SteadyClock::time_point deadline, std::string& problem) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  const std::string target = address == "localhost" ? "127.0.0.1" : address;
  do {
    addrinfo* found = nullptr;
    const int code = ::getaddrinfo(target.c_str(), std::to_string(port).c_str(), &wanted, &found);
    const AddressList list(found, &::freeaddrinfo);
    if (code != 0) problem = ::gai_strerror(code);
    // All ranks must end up in one address family, whatever order the resolver of each node prefers.
    for (const int family : {AF_INET, AF_INET6}) {
      for (const addrinfo* entry = code == 0 ? found : nullptr; entry; entry = entry->ai_next) {
        if (entry->ai_family != family) continue;
        if (Fd fd = connected(*entry, deadline); fd.valid()) {
          send_at_once(fd.get());
          return fd;
        }
        problem = std::strerror(errno);
      }
    }
    std::this_thread::sleep_for(kRetryAfter);
  } while (SteadyClock::now() < deadline);
  return {};
}

Fd accept_from(const Fd& listening) {
  Fd fd(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.valid()) send_at_once(fd.get());
  return fd;
}

std::pair<Fd, Fd> local_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) fail("socketpair", errno);
  return {Fd(ends[0]), Fd(ends[1])};
}

int port_of(int listening) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (::getsockname(listening, generic(address), &length) != 0) fail("asking for a port", errno);
  std::uint16_t port = 0;
  // Both families have the port right behind the family.
  std::memcpy(&port, reinterpret_cast<const char*>(&address) + offsetof(sockaddr_in, sin_port), sizeof(port));
  return ntohs(port);
}

std::string local_address_of(const Fd& connection) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (::getsockname(connection.get(), generic(address), &length) != 0) return {};
  return text_of(address);
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

std::string this_host() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "an unknown host";
}

}  // namespace assay::engine
