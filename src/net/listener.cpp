#include "net/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace assay {
namespace {

// Deep enough for a whole fleet that connects again at once.
constexpr int kBacklog = 1024;

sockaddr* generic(sockaddr_storage& address) { return reinterpret_cast<sockaddr*>(&address); }

Error bind_error(int error_number, const ListenAddress& address) {
  Error error = system_error(error_number, fmt::format("cannot listen on {}", address.text()));
  if (error_number == EADDRINUSE) {
    error.kind = ErrorKind::busy;
    error.hint = "Another program listens there. Stop it, or choose another address; port 0 takes a free one.";
  } else if (error_number == EACCES || error_number == EPERM) {
    error.kind = ErrorKind::denied;
    error.hint = address.is_unix() ? "Choose a folder that you may write to."
                                   : "Ports below 1024 need the right to use them. Choose a higher one.";
  } else if (error_number == EADDRNOTAVAIL) {
    error.kind = ErrorKind::usage;
    error.hint = "This machine does not have that address. Use one of its own, or ':PORT' for all of them.";
  }
  return error;
}

Result<FileDescriptor> make_socket(int family, const ListenAddress& address) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return bind_error(errno, address);
  return FileDescriptor(fd);
}

std::uint16_t port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

PeerAddress peer_of(const sockaddr_storage& address) {
  PeerAddress peer;
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return {.host = "unix", .loopback = true};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    peer.loopback = (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
      // A socket for both families shows an IPv4 peer as ::ffff:a.b.c.d; people know it as a.b.c.d.
      ::inet_ntop(AF_INET, &v6.s6_addr[12], text.data(), text.size());
      peer.loopback = v6.s6_addr[12] == 127;
    } else {
      ::inet_ntop(AF_INET6, &v6, text.data(), text.size());
      peer.loopback = IN6_IS_ADDR_LOOPBACK(&v6);
    }
  }
  peer.host = text.data();
  peer.port = port_of(address);
  return peer;
}

/// Looks up where to bind. For "every address" IPv6 comes first, since its socket takes IPv4 as well.
Result<std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>> look_up(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* host = address.host.empty() ? "::" : address.host.c_str();
  int code = ::getaddrinfo(host, std::to_string(address.port).c_str(), &hints, &found);
  if (code != 0 && address.host.empty()) {
    code = ::getaddrinfo(nullptr, std::to_string(address.port).c_str(), &hints, &found);
  }
  if (code != 0) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("cannot listen on {}: {}", address.text(), ::gai_strerror(code)),
                 .hint = "Write an address of this machine, such as '127.0.0.1:8080' or ':8080'."};
  }
  return std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>(found, &::freeaddrinfo);
}

Result<sockaddr_un> unix_address(const ListenAddress& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.socket_path.size() >= sizeof name.sun_path) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("the socket path '{}' is too long", address.socket_path),
                 .hint = fmt::format("At most {} bytes; choose a shorter folder.", sizeof name.sun_path - 1)};
  }
  std::ranges::copy(address.socket_path, name.sun_path);
  return name;
}

/// Removes a socket file that a dead server left. One that somebody answers at, or another kind of file, stays.
Result<void> remove_stale_socket(const ListenAddress& address, const sockaddr_un& name) {
  struct stat info{};
  if (::lstat(name.sun_path, &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("cannot listen on {}: a file of that name exists", address.text()),
                 .hint = "Choose another path, or remove the file."};
  }
  ASSAY_TRY(const auto probe, make_socket(AF_UNIX, address));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 && errno == ECONNREFUSED) {
    ::unlink(name.sun_path);
    return {};
  }
  return bind_error(EADDRINUSE, address);
}

}  // namespace

Result<Listener> Listener::open(const ListenAddress& address) {
  return address.is_unix() ? open_unix(address) : open_tcp(address);
}

Result<Listener> Listener::open_tcp(const ListenAddress& address) {
  ASSAY_TRY(const auto found, look_up(address));
  Error last;
  for (const addrinfo* one = found.get(); one; one = one->ai_next) {
    auto socket = make_socket(one->ai_family, address);
    if (!socket) {
      last = std::move(socket).error();
      continue;
    }
    const int yes = 1;
    const int no = 0;
    ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (one->ai_family == AF_INET6) ::setsockopt(socket->get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (::bind(socket->get(), one->ai_addr, one->ai_addrlen) != 0 || ::listen(socket->get(), kBacklog) != 0) {
      last = bind_error(errno, address);
      continue;
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (::getsockname(socket->get(), generic(bound), &size) != 0) return bind_error(errno, address);
    ListenAddress actual = address;
    actual.port = port_of(bound);
    return Listener(std::move(*socket), std::move(actual));
  }
  return last;
}

Result<Listener> Listener::open_unix(const ListenAddress& address) {
  ASSAY_TRY(const auto name, unix_address(address));
  ASSAY_CHECK(remove_stale_socket(address, name));
  ASSAY_TRY(auto socket, make_socket(AF_UNIX, address));
  // Before bind: the file is never there with a wider mode, not even for a moment.
  if (::fchmod(socket.get(), 0600) != 0) return bind_error(errno, address);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return bind_error(errno, address);
  }
  return Listener(std::move(socket), address);
}

Listener::~Listener() {
  if (fd_ && address_.is_unix()) ::unlink(address_.socket_path.c_str());
}

Listener::Outcome Listener::accept() const {
  Outcome outcome;
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int fd = ::accept4(fd_.get(), generic(address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    outcome.error = errno == EWOULDBLOCK ? EAGAIN : errno;
    return outcome;
  }
  outcome.connection.fd = FileDescriptor(fd);
  outcome.connection.peer = peer_of(address);
  outcome.connection.family = address_.is_unix() ? AF_UNIX : address.ss_family;
  if (!address_.is_unix()) {
    // Answers are written whole; waiting for an acknowledgement would only add delay.
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  return outcome;
}

Result<std::size_t> raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return system_error(errno, "cannot read the limit of open files");
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return system_error(errno, "cannot raise the limit of open files");
  }
  return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t connections_within(std::size_t open_files, std::size_t wanted) {
  constexpr std::size_t kFilesForTheRest = 256;
  constexpr std::size_t kFewest = 64;
  const std::size_t free = open_files > kFilesForTheRest ? open_files - kFilesForTheRest : 0;
  return std::min(wanted, std::max(free, kFewest));
}

}  // namespace assay
