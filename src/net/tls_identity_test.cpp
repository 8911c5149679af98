#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "base/files.h"
#include "net/authority_fixture.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/tls_trust.h"
#include "net/url.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// One connection of a server that asks its clients for a certificate of an authority, and answers with the name in it.
class AskingServer {
 public:
  AskingServer(const TlsFiles& own, const fs::path& authority) : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate_chain_file(context_, own.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context_, own.key.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_load_verify_locations(context_, authority.c_str(), nullptr);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    listener_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve_one(); });
  }
  AskingServer(const AskingServer&) = delete;
  AskingServer& operator=(const AskingServer&) = delete;
  ~AskingServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    SSL_CTX_free(context_);
  }
  std::uint16_t port() const { return port_; }

 private:
  void serve_one() {
    const FileDescriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return;
    SSL* ssl = SSL_new(context_);
    SSL_set_fd(ssl, connection.get());
    if (SSL_accept(ssl) == 1) {
      std::array<char, 4096> request;
      SSL_read(ssl, request.data(), static_cast<int>(request.size()));
      const OpensslPointer<X509> client(SSL_get1_peer_certificate(ssl));
      std::array<char, 64> name{};
      X509_NAME_get_text_by_NID(X509_get_subject_name(client.get()), NID_commonName, name.data(), name.size());
      const std::string body(name.data());
      const std::string answer = fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
      SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
    }
    SSL_shutdown(ssl);
    SSL_free(ssl);
  }

  SSL_CTX* context_;
  FileDescriptor listener_;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

class TlsIdentityTest : public testing::Test {
 protected:
  Result<ClientResponse> ask(const AskingServer& server, TlsIdentity identity) const {
    auto client = HttpClient::create(
        {.scheme = Url::Scheme::https, .host = "127.0.0.1", .port = server.port(), .target = "/"},
        {.trust = {.fingerprint = {}, .ca_file = {}, .ca_text = text_of(own_.certificate)}, .identity = identity});
    if (!client) return std::move(client).error();
    return (*client)->send({});
  }
  static std::string text_of(const fs::path& file) { return read_file(file).value(); }

  TemporaryFolder folder_;
  TestAuthority authority_;
  TlsFiles own_ = authority_.issue(folder_.path() / "server.pem", "127.0.0.1");
  TlsFiles alice_ = authority_.issue(folder_.path() / "alice.pem", "alice");
};

TEST_F(TlsIdentityTest, AClientShowsWhoItIs) {
  const AskingServer server(own_, own_.certificate);
  const auto answer = ask(server, {.certificate = text_of(alice_.certificate), .key = text_of(alice_.key)});
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->body, "alice");
}

TEST_F(TlsIdentityTest, WhoShowsNothingIsRefused) {
  const AskingServer server(own_, own_.certificate);
  EXPECT_FALSE(ask(server, {}).ok());
}

TEST_F(TlsIdentityTest, SaysWhatIsWrongWithAnIdentity) {
  const auto made = [&](TlsIdentity identity) {
    const auto client = HttpClient::create({.scheme = Url::Scheme::https, .host = "x", .port = 1, .target = "/"},
                                           {.identity = std::move(identity)});
    return client.ok() ? std::string() : client.error().text();
  };
  EXPECT_THAT(made({.certificate = "nonsense", .key = text_of(alice_.key)}), HasSubstr("certificate cannot be used"));
  EXPECT_THAT(made({.certificate = text_of(alice_.certificate), .key = "nonsense"}), HasSubstr("key of the client's"));
}

TEST_F(TlsIdentityTest, AnAuthorityThatIsNoneIsAnError) {
  const auto client = HttpClient::create({.scheme = Url::Scheme::https, .host = "x", .port = 1, .target = "/"},
                                         {.trust = {.fingerprint = {}, .ca_file = {}, .ca_text = "nonsense"}});
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().kind, ErrorKind::bad_file);
}

}  // namespace
}  // namespace assay
