#include "net/tls_stream.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "base/text.h"
#include "net/openssl.h"
#include "net/socket_stream.h"

namespace assay {
namespace {

class TlsStream : public Stream {
 public:
  TlsStream(std::shared_ptr<TlsContext> context, IoSocket socket)
      : context_(std::move(context)), stream_(std::move(socket), context_->ssl) {}

  IoTask<IoOutcome> read_some(std::span<char> buffer) final {
    return stream_.async_read_some(asio::buffer(buffer.data(), buffer.size()), kAsTask);
  }
  IoTask<IoOutcome> write_some(std::string_view bytes) final {
    return stream_.async_write_some(asio::buffer(bytes.data(), bytes.size()), kAsTask);
  }
  IoTask<void> end_writing() final { co_await stream_.async_shutdown(kAsTask); }
  void cancel() final {
    boost::system::error_code ignored;
    stream_.next_layer().cancel(ignored);
  }
  void close() final {
    boost::system::error_code ignored;
    stream_.next_layer().close(ignored);
  }
  bool quiet() final { return SSL_pending(stream_.native_handle()) == 0 && nothing_to_read(stream_.next_layer()); }
  IoExecutor executor() final { return stream_.get_executor(); }

 protected:
  std::shared_ptr<TlsContext> context_;
  asio::ssl::stream<IoSocket> stream_;
};

constexpr std::string_view kSpeaksTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 106\r\n\r\n"
    R"({"error":{"kind":"usage","message":"this server speaks TLS","hint":"Write https:// instead of http://."}})"
    "\n";
static_assert(kSpeaksTls.size() - kSpeaksTls.find("\r\n\r\n") - 4 == 106);

class TlsServerStream final : public TlsStream {
 public:
  using TlsStream::TlsStream;
  IoTask<Result<void>> open() override {
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kAsTask);
    if (!error) co_return Result<void>();
    if (error.category() == asio::error::get_ssl_category() &&
        ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST) {
      // Somebody has written http:// for https://, and would see nothing but a closed connection.
      co_await asio::async_write(stream_.next_layer(), asio::buffer(kSpeaksTls), kAsTask);
    }
    co_return Error{.kind = ErrorKind::lost_peer, .message = "TLS handshake: " + error.message()};
  }
};

/// What to do about a certificate that OpenSSL does not accept.
std::string hint_for(long verdict) {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return "Renew the server's certificate, and check the clock of this machine.";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "Check the clocks of both machines.";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "Use a name that the certificate was made for, or pin the certificate by its fingerprint.";
    default:
      return "Give the authority's certificate as CA file, or pin the server's own by the fingerprint it prints.";
  }
}

class TlsClientStream final : public TlsStream {
 public:
  TlsClientStream(std::shared_ptr<TlsContext> context, IoSocket socket, std::string host)
      : TlsStream(std::move(context), std::move(socket)), host_(std::move(host)) {}

  IoTask<Result<void>> open() override {
    expect_host();
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::client, kAsTask);
    co_return error ? Result<void>(explain(error)) : check_pin();
  }

 private:
  void expect_host() {
    SSL* ssl = stream_.native_handle();
    std::array<unsigned char, 16> address{};
    is_address_ = ::inet_pton(AF_INET, host_.c_str(), address.data()) == 1 ||
                  ::inet_pton(AF_INET6, host_.c_str(), address.data()) == 1;
    if (is_address_) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host_.c_str());
    } else {
      // What SSL_set_tlsext_host_name does, which is a macro with an old-style cast.
      SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host_.data());
      SSL_set1_host(ssl, host_.c_str());
    }
  }

  Error explain(const boost::system::error_code& error) {
    const long verdict = SSL_get_verify_result(stream_.native_handle());
    if (verdict != X509_V_OK) {
      return Error{.kind = ErrorKind::denied,
                   .message = fmt::format("the certificate of {} is not trusted: {}", host_,
                                          X509_verify_cert_error_string(verdict)),
                   .hint = hint_for(verdict)};
    }
    if (error == asio::error::operation_aborted) {
      return Error{.kind = ErrorKind::interrupted, .message = "the TLS handshake was broken off"};
    }
    return Error{.kind = ErrorKind::lost_peer,
                 .message = fmt::format("{} does not complete a TLS handshake: {}", host_, error.message()),
                 .hint = "Is it a server for https? A plain one is called with http://."};
  }

  Result<void> check_pin() {
    if (context_->pinned.empty()) return {};
    const OpensslPointer<X509> certificate(SSL_get1_peer_certificate(stream_.native_handle()));
    for (const auto pin : split(context_->pinned, ',')) {
      if (certificate && fits(*certificate, pin)) return {};
    }
    const std::string actual = certificate ? fingerprint_of(*certificate) : "none";
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("{} shows another certificate than expected: {} instead of {}", host_, actual,
                                        context_->pinned),
                 .hint =
                     "If the server's certificate was renewed, take over the fingerprint that the server prints. "
                     "If not, somebody may be listening in."};
  }

  bool fits(X509& certificate, std::string_view pin) {
    if (pin == fingerprint_of(certificate) || pin == key_fingerprint_of(certificate)) return true;
    constexpr std::string_view kAuthority = "ca-";
    if (!pin.starts_with(kAuthority)) return false;
    STACK_OF(X509)* chain = SSL_get_peer_cert_chain(stream_.native_handle());
    for (int i = 0; chain && i < sk_X509_num(chain); ++i) {
      X509* authority = sk_X509_value(chain, i);
      if (pin.substr(kAuthority.size()) == fingerprint_of(*authority))
        return comes_from(certificate, *authority, chain);
    }
    return false;
  }

  /// Whether the certificate is one for this host, and the authority vouches for it over the others in the chain.
  bool comes_from(X509& certificate, X509& authority, STACK_OF(X509) * chain) {
    const OpensslPointer<X509_STORE> store(X509_STORE_new());
    const OpensslPointer<X509_STORE_CTX> check(X509_STORE_CTX_new());
    if (!store || !check || X509_STORE_add_cert(store.get(), &authority) != 1 ||
        X509_STORE_CTX_init(check.get(), store.get(), &certificate, chain) != 1) {
      return false;
    }
    X509_VERIFY_PARAM* expected = X509_STORE_CTX_get0_param(check.get());
    X509_VERIFY_PARAM_set_flags(expected, X509_V_FLAG_PARTIAL_CHAIN);
    X509_VERIFY_PARAM_set_purpose(expected, X509_PURPOSE_SSL_SERVER);
    const bool asked = is_address_ ? X509_VERIFY_PARAM_set1_ip_asc(expected, host_.c_str()) == 1
                                   : X509_VERIFY_PARAM_set1_host(expected, host_.data(), host_.size()) == 1;
    return asked && X509_verify_cert(check.get()) == 1;
  }

  std::string host_;
  bool is_address_ = false;
};

}  // namespace

std::unique_ptr<Stream> make_tls_server_stream(std::shared_ptr<TlsContext> context, const IoExecutor& executor,
                                               FileDescriptor socket, int family) {
  return std::make_unique<TlsServerStream>(std::move(context), adopt_socket(executor, std::move(socket), family));
}

std::unique_ptr<Stream> make_tls_client_stream(std::shared_ptr<TlsContext> context, const IoExecutor& executor,
                                               FileDescriptor socket, int family, std::string host) {
  return std::make_unique<TlsClientStream>(std::move(context), adopt_socket(executor, std::move(socket), family),
                                           std::move(host));
}

}  // namespace assay
