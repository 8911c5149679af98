#include "target/openai/link.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "net/tls_stream.h"
#include "net/tls_trust.h"
#include "net/url.h"

namespace assay {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

bool is_numeric_address(const std::string& host) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 || ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

std::string tls_problem(const ssl_st* ssl) {
  const long verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code ? ERR_reason_error_string(code) : nullptr;
  return reason ? reason : "the connection ended";
}

Result<std::vector<ServerAddress>> unix_address(const std::string& path) {
  ServerAddress server;
  auto* address = reinterpret_cast<sockaddr_un*>(&server.address);
  if (path.size() >= sizeof address->sun_path) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("the path '{}' is too long for a Unix socket", path)};
  }
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path, path.c_str(), path.size() + 1);
  server.length = sizeof *address;
  server.family = AF_UNIX;
  return std::vector{server};
}

Result<std::vector<ServerAddress>> look_up(const Url& url) {
  if (url.scheme == Url::Scheme::unix_socket) return unix_address(url.socket_path);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int problem = ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &wanted, &list);
  const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
  std::vector<ServerAddress> found;
  for (const addrinfo* entry = problem == 0 ? list : nullptr; entry; entry = entry->ai_next) {
    ServerAddress& server = found.emplace_back();
    std::memcpy(&server.address, entry->ai_addr, entry->ai_addrlen);
    server.length = entry->ai_addrlen;
    server.family = entry->ai_family;
  }
  if (found.empty()) {
    return Error{.kind = ErrorKind::unreachable,
                 .message = fmt::format("cannot find the host '{}': {}", url.host, ::gai_strerror(problem)),
                 .hint = "Check the address of the target."};
  }
  return found;
}

/// What keeps the address from taking a connection, or "".
std::string try_address(const ServerAddress& server, Nanos time) {
  Link link;
  if (link.open(server, nullptr, {}) == Link::Progress::failed) return link.problem();
  pollfd waiting{.fd = link.fd(), .events = POLLOUT, .revents = 0};
  const auto time_ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  if (::poll(&waiting, 1, static_cast<int>(time_ms)) != 1) return "no answer";
  return link.connect() == Link::Progress::failed ? link.problem() : std::string();
}

}  // namespace

Result<ServerAddress> find_server(const Url& url, Nanos time) {
  ASSAY_TRY(const auto addresses, look_up(url));
  std::string problem;
  for (const ServerAddress& address : addresses) {
    problem = try_address(address, time);
    if (problem.empty()) return address;
  }
  return Error{.kind = ErrorKind::unreachable,
               .message = fmt::format("{}: {}", url.place(), problem),
               .hint = "Is the server running, and is this its address?"};
}

Result<std::shared_ptr<TlsClient>> TlsClient::create(const fs::path& ca_file) {
  ASSAY_TRY(auto context, make_client_tls({.ca_file = ca_file}, {}));
  ssl_ctx_st* native = context->ssl.native_handle();
  SSL_CTX_set_mode(native, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return std::shared_ptr<TlsClient>(new TlsClient(std::move(context), native));
}

Link::Link() = default;
Link::~Link() = default;

void Link::FreeTls::operator()(ssl_st* ssl) const { SSL_free(ssl); }

Link::Progress Link::fail(std::string problem) {
  problem_ = std::move(problem);
  return Progress::failed;
}

Link::Progress Link::open(const ServerAddress& server, const TlsClient* tls, const std::string& host) {
  close();
  fd_ = FileDescriptor(::socket(server.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_) return fail(fmt::format("no socket: {}", std::strerror(errno)));
  if (server.family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (tls) {
    tls_.reset(SSL_new(tls->context()));
    if (!tls_ || SSL_set_fd(tls_.get(), fd_.get()) != 1) return fail("TLS cannot be set up");
    SSL_set_connect_state(tls_.get());
    if (is_numeric_address(host)) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls_.get()), host.c_str());
    } else {
      // What SSL_set_tlsext_host_name does, which is a macro with an old-style cast.
      SSL_ctrl(tls_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(host.c_str()));
      SSL_set1_host(tls_.get(), host.c_str());
    }
  }
  const auto* address = reinterpret_cast<const sockaddr*>(&server.address);
  if (::connect(fd_.get(), address, server.length) == 0) return connect();
  // A Unix socket whose queue is full says EAGAIN and would never become ready.
  if (errno == EINPROGRESS) return Progress::want_write;
  return fail(fmt::format("no connection: {}", std::strerror(errno)));
}

Link::Progress Link::connect() {
  if (!connected_) {
    int problem = 0;
    socklen_t size = sizeof problem;
    ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem != 0) return fail(fmt::format("no connection: {}", std::strerror(problem)));
    connected_ = true;
  }
  if (!tls_) return Progress::done;
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_.get());
  return result == 1 ? Progress::done : tls_progress(result, "TLS");
}

Link::Progress Link::tls_progress(int result, std::string_view doing) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ: return Progress::want_read;
    case SSL_ERROR_WANT_WRITE: return Progress::want_write;
    case SSL_ERROR_ZERO_RETURN: return Progress::closed;
    default: return fail(fmt::format("{}: {}", doing, tls_problem(tls_.get())));
  }
}

Link::Progress Link::write(std::string_view& bytes) {
  while (!bytes.empty()) {
    if (tls_) {
      ERR_clear_error();
      std::size_t sent = 0;
      const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &sent);
      if (result != 1) return tls_progress(result, "sending");
      bytes.remove_prefix(sent);
      continue;
    }
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      return Progress::want_write;
    } else if (errno != EINTR) {
      return fail(fmt::format("sending: {}", std::strerror(errno)));
    }
  }
  return Progress::done;
}

Link::Progress Link::read(std::span<char> buffer, std::size_t& size) {
  size = 0;
  if (tls_) {
    ERR_clear_error();
    const int result = SSL_read_ex(tls_.get(), buffer.data(), buffer.size(), &size);
    return result == 1 ? Progress::done : tls_progress(result, "receiving");
  }
  for (;;) {
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
      size = static_cast<std::size_t>(got);
      return Progress::done;
    }
    if (got == 0) return Progress::closed;
    if (errno == EAGAIN) return Progress::want_read;
    if (errno != EINTR) return fail(fmt::format("receiving: {}", std::strerror(errno)));
  }
}

bool Link::has_pending() const { return tls_ && SSL_pending(tls_.get()) > 0; }

void Link::close() {
  tls_.reset();
  fd_.reset();
  connected_ = false;
}

}  // namespace assay
