#include <fmt/format.h>
#include <openssl/ssl.h>

#include <array>

#include "base/log.h"
#include "net/openssl.h"
#include "net/tls.h"
#include "net/tls_files.h"
#include "net/tls_stream.h"
#include "net/tls_trust.h"

namespace assay {
namespace {

// Where distributions keep the authorities they trust; a statically linked OpenSSL knows only its builder's place.
constexpr std::array kSystemStores = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

Result<void> readable(const fs::path& path, std::string_view what) {
  ASSAY_TRY(const auto content, read_file(path, std::size_t{1} << 20).within(fmt::format("reading the {}", what)));
  if (content.find("-----BEGIN ") == std::string::npos) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' is no PEM file", path.string()),
                 .hint = "Convert it: openssl x509 -inform der -in FILE -out FILE.pem (or openssl pkcs12 for .pfx)."};
  }
  return {};
}

void warn_if_expired(const asio::ssl::context& context, const fs::path& path) {
  const X509* certificate = SSL_CTX_get0_certificate(const_cast<asio::ssl::context&>(context).native_handle());
  if (certificate && X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    log_warning("the certificate '{}' has expired; clients that do not pin it will refuse it", path.string());
  }
}

Result<void> show_identity(asio::ssl::context& context, const TlsIdentity& identity) {
  if (identity.certificate.empty() && identity.key.empty()) return {};
  boost::system::error_code error;
  context.use_certificate_chain(asio::buffer(identity.certificate), error);
  if (error) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = "the client's certificate cannot be used: " + error.message(),
                 .hint = "It must be PEM, the certificate first, then its chain."};
  }
  context.use_private_key(asio::buffer(identity.key), asio::ssl::context::pem, error);
  if (error) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = "the key of the client's certificate cannot be used: " + error.message(),
                 .hint = "Give the key that the certificate was made for, as PEM without a passphrase."};
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<TlsContext>> make_server_tls(const TlsFiles& files) {
  ASSAY_CHECK(readable(files.certificate, "certificate"));
  ASSAY_CHECK(readable(files.key, "key of the certificate"));
  auto context = std::make_shared<TlsContext>(asio::ssl::context::tls_server);
  SSL_CTX* ssl = context->ssl.native_handle();
  SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
  SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Thousands of connections are idle most of the time: 34 kB less for each.
  SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_use_certificate_chain_file(ssl, files.certificate.c_str()) != 1) {
    return Error{
        .kind = ErrorKind::bad_file,
        .message = fmt::format("'{}' holds no usable certificate: {}", files.certificate.string(), openssl_problem()),
        .hint = "It must be a PEM file with the server's certificate first, then its chain."};
  }
  if (SSL_CTX_use_PrivateKey_file(ssl, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' holds no key for '{}': {}", files.key.string(),
                                        files.certificate.string(), openssl_problem()),
                 .hint = "Give the key that the certificate was made for, as PEM without a passphrase."};
  }
  warn_if_expired(context->ssl, files.certificate);
  return context;
}

Result<std::shared_ptr<TlsContext>> make_client_tls(const TlsTrust& trust, const TlsIdentity& identity) {
  auto context = std::make_shared<TlsContext>(asio::ssl::context::tls_client);
  SSL_CTX* ssl = context->ssl.native_handle();
  SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
  ASSAY_CHECK(show_identity(context->ssl, identity));
  if (!trust.fingerprint.empty()) {
    ASSAY_TRY(context->pinned, parse_fingerprint(trust.fingerprint));
    return context;
  }
  SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  if (!trust.ca_text.empty()) {
    boost::system::error_code error;
    context->ssl.add_certificate_authority(asio::buffer(trust.ca_text), error);
    if (!error) return context;
    return Error{.kind = ErrorKind::bad_file,
                 .message = "the certificate of the authority cannot be used: " + error.message(),
                 .hint = "It must be PEM."};
  }
  if (!trust.ca_file.empty()) {
    ASSAY_CHECK(readable(trust.ca_file, "CA file"));
    if (SSL_CTX_load_verify_locations(ssl, trust.ca_file.c_str(), nullptr) != 1) {
      return Error{
          .kind = ErrorKind::bad_file,
          .message = fmt::format("'{}' holds no usable certificate: {}", trust.ca_file.string(), openssl_problem())};
    }
    return context;
  }
  SSL_CTX_set_default_verify_paths(ssl);
  std::error_code code;
  for (const char* store : kSystemStores) {
    if (fs::exists(store, code) && SSL_CTX_load_verify_locations(ssl, store, nullptr) == 1) break;
  }
  return context;
}

}  // namespace assay
