#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

struct ssl_st;
struct ssl_ctx_st;

namespace assay {

struct Url;

/// Where an endpoint is, looked up once before the load starts.
struct ServerAddress {
  sockaddr_storage address{};
  socklen_t length = 0;
  int family = 0;
};
/// Looks a host name up, or takes the path of a Unix socket, and gives the first of its addresses that takes a
/// connection: `localhost` is often two, and a server listens on one. Blocks, at most `time` for each address beside
/// the look-up. Error: `unreachable`.
Result<ServerAddress> find_server(const Url& url, Nanos time);

/// What clients of https believe; shared by all their links.
class TlsClient {
 public:
  /// An empty file: the system's authorities. Errors are those of the file.
  static Result<std::shared_ptr<TlsClient>> create(const fs::path& ca_file);
  ssl_ctx_st* context() const { return context_; }

 private:
  TlsClient(std::shared_ptr<void> owner, ssl_ctx_st* context) : owner_(std::move(owner)), context_(context) {}
  std::shared_ptr<void> owner_;
  ssl_ctx_st* context_;
};

/// A connection that never blocks, plain or TLS. The certificate is checked against authorities and name. Not
/// thread-safe.
class Link {
 public:
  enum class Progress {
    done,
    want_read,   ///< call again once the socket can be read
    want_write,  ///< call again once it can be written
    closed,      ///< the other end has ended it in good order
    failed       ///< see `problem`
  };

  Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  /// Begins to connect. `tls` may be null; `host` is the name that the certificate must bear.
  Progress open(const ServerAddress& server, const TlsClient* tls, const std::string& host);
  /// Goes on connecting: `done` once bytes can be sent.
  Progress connect();
  /// Takes what fits off the front of `bytes`; `done` once it is empty.
  Progress write(std::string_view& bytes);
  /// Reads once into `buffer`; `size` bytes are there after `done`.
  Progress read(std::span<char> buffer, std::size_t& size);
  /// Whether bytes are here that the socket does not show (TLS).
  bool has_pending() const;
  void close();

  int fd() const { return fd_.get(); }
  const std::string& problem() const { return problem_; }

 private:
  struct FreeTls {
    void operator()(ssl_st* ssl) const;
  };
  Progress fail(std::string problem);
  Progress tls_progress(int result, std::string_view doing);

  FileDescriptor fd_;
  std::unique_ptr<ssl_st, FreeTls> tls_;
  bool connected_ = false;
  std::string problem_;
};

}  // namespace assay
