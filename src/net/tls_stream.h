#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "net/stream.h"

namespace assay {

struct TlsFiles;
struct TlsIdentity;
struct TlsTrust;

/// Settings shared by many connections: TLS 1.2 or newer.
struct TlsContext {
  explicit TlsContext(asio::ssl::context::method method) : ssl(method) {}
  asio::ssl::context ssl;
  std::string pinned;  ///< a client's pin; empty: verify by authority and name
};

/// Errors say which file, what is wrong with it, and what to do. A certificate that has expired is only a warning in
/// the log: clients that pin it still work.
Result<std::shared_ptr<TlsContext>> make_server_tls(const TlsFiles& files);
Result<std::shared_ptr<TlsContext>> make_client_tls(const TlsTrust& trust, const TlsIdentity& identity);

std::unique_ptr<Stream> make_tls_server_stream(std::shared_ptr<TlsContext> context, const IoExecutor& executor,
                                               FileDescriptor socket, int family);
/// `host` as in the URL: shown to the server, and compared with the certificate unless one is pinned.
std::unique_ptr<Stream> make_tls_client_stream(std::shared_ptr<TlsContext> context, const IoExecutor& executor,
                                               FileDescriptor socket, int family, std::string host);

}  // namespace assay
