#include "access/ldap/ldap_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

namespace assay {
namespace {

Error not_connected(const LdapUrl& url, std::string_view why) {
  return {.kind = ErrorKind::unreachable,
          .message = fmt::format("{}: connecting: {}", url.text(), why),
          .hint = "Is the directory there, and is 'ldap.url' its address?"};
}

/// Waits for a connection that is under way; what became of it as a number of errno.
int outcome_of(int socket, SteadyTime deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().now());
    if (left.count() <= 0) return ETIMEDOUT;
    pollfd asked{.fd = socket, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&asked, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return errno;
    if (ready <= 0) continue;
    int outcome = 0;
    socklen_t length = sizeof outcome;
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &outcome, &length) == 0 ? outcome : errno;
  }
}

/// A number of errno; 0 with `socket` connected.
int connect_one(const addrinfo& address, SteadyTime deadline, FileDescriptor& socket) {
  socket = FileDescriptor(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno;
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (const int outcome = outcome_of(socket.get(), deadline); outcome != 0) return outcome;
  }
  // Questions are small and each waits for the answer to the one before: nothing is gained by gathering them.
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // The library expects one that waits.
  const int flags = ::fcntl(socket.get(), F_GETFL);
  return ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) == 0 ? 0 : errno;
}

}  // namespace

Result<FileDescriptor> connect_to(const LdapUrl& url, SteadyTime deadline) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int found = ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &wanted, &list);
  if (found != 0) return not_connected(url, ::gai_strerror(found));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, ::freeaddrinfo);
  int problem = 0;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    FileDescriptor socket;
    problem = connect_one(*each, deadline, socket);
    if (problem == 0) return socket;
  }
  return not_connected(url, system_error(problem, "no connection").text());
}

HangUp::HangUp(int socket, SteadyTime when)
    : socket_(::fcntl(socket, F_DUPFD_CLOEXEC, 0)),
      thread_([this, when](const std::stop_token& stop) { wait(stop, when); }) {}

void HangUp::wait(const std::stop_token& stop, SteadyTime when) {
  std::unique_lock lock(mutex_);
  ended_.wait_until(lock, stop, when, [] { return false; });
  if (stop.stop_requested()) return;
  happened_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace assay
