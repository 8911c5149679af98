// Megabytes a second of one large body through the HTTP server and client, up and down, plain and TLS, beside the limit
// of this machine: the same bytes from one thread to another over a bare loopback connection, unencrypted.
//
//   bench_http_bodies [MEGABYTES]
//
// Rounds alternate between HTTP and limit, since shared machines drift. Promise: a plain body moves at a third of the
// limit or faster. (Each byte is copied twice more than on the bare wire, between three threads instead of two.)

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "net/listener.h"
#include "net/router.h"
#include "net/server_options.h"
#include "net/tls.h"
#include "net/tls_files.h"
#include "net/url.h"

namespace {

using namespace assay;

constexpr int kRounds = 5;
constexpr double kGoal = 1.0 / 3;
constexpr std::size_t kPiece = std::size_t{64} << 10;

class Zeros : public ByteSource {
 public:
  explicit Zeros(std::uint64_t size) : size_(size), left_(size) {}
  Result<std::optional<std::string>> next() override {
    if (left_ == 0) return std::optional<std::string>();
    const auto count = std::min<std::uint64_t>(left_, kPiece);
    left_ -= count;
    return std::optional<std::string>(std::in_place, count, '\0');
  }
  std::optional<std::uint64_t> length() const override { return size_; }

 private:
  std::uint64_t size_;
  std::uint64_t left_;
};

Result<void> drop(std::string_view) { return {}; }

double seconds_of(const std::function<bool()>& work) {
  const auto start = std::chrono::steady_clock::now();
  if (!work()) return 0;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool over_bare_wire(std::uint64_t size) {
  auto listener = Listener::open({.host = "127.0.0.1"});
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(listener->address().port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const FileDescriptor sender(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(sender.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
  const FileDescriptor receiver(::accept(listener->fd(), nullptr, nullptr));
  std::jthread thread([&] {
    const std::string piece(kPiece, '\0');
    for (std::uint64_t left = size; left > 0;) {
      const ssize_t sent = ::send(sender.get(), piece.data(), std::min<std::uint64_t>(left, kPiece), MSG_NOSIGNAL);
      if (sent <= 0) return;
      left -= static_cast<std::uint64_t>(sent);
    }
    ::shutdown(sender.get(), SHUT_WR);
  });
  std::string buffer(kPiece, '\0');
  std::uint64_t taken = 0;
  for (;;) {
    const ssize_t got = ::recv(receiver.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return taken == size;
    taken += static_cast<std::uint64_t>(got);
  }
}

struct Pair {
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<HttpClient> client;
};

Result<Pair> make_pair(const std::optional<TlsFiles>& tls, std::uint64_t size) {
  Router router;
  router.post(
      "/up",
      [](const HttpRequest& request) { return HttpResponse::text(pour(*request.body_source, drop) ? 200 : 500, ""); },
      {.stream_body = true});
  router.get("/down", [size](const HttpRequest&) {
    return HttpResponse::pulled(std::make_shared<Zeros>(size), "application/octet-stream");
  });
  Pair pair;
  ASSAY_TRY(pair.server, HttpServer::start({.listen = {{.host = "127.0.0.1"}}, .tls = tls}, std::move(router)));
  ClientOptions options;
  if (tls) {
    ASSAY_TRY(options.trust.fingerprint, certificate_fingerprint(tls->certificate));
  }
  Url url{.scheme = tls ? Url::Scheme::https : Url::Scheme::http,
          .host = "127.0.0.1",
          .port = pair.server->addresses().front().port,
          .target = "/"};
  ASSAY_TRY(pair.client, HttpClient::create(std::move(url), std::move(options)));
  return pair;
}

Result<bool> measure(const char* name, const std::optional<TlsFiles>& tls, std::uint64_t size) {
  ASSAY_TRY(const auto pair, make_pair(tls, size));
  std::vector<double> up;
  std::vector<double> down;
  std::vector<double> limit;
  for (int round = 0; round < kRounds; ++round) {
    up.push_back(seconds_of([&] {
      const auto sent =
          pair.client->send({.method = "POST", .target = "/up", .body_source = std::make_shared<Zeros>(size)});
      return sent && sent->status == 200;
    }));
    down.push_back(seconds_of([&] { return pair.client->receive({.target = "/down"}, drop).ok(); }));
    limit.push_back(seconds_of([&] { return over_bare_wire(size); }));
    if (up.back() == 0 || down.back() == 0 || limit.back() == 0) {
      return Error{.kind = ErrorKind::lost_peer, .message = "a body did not arrive whole"};
    }
  }
  const auto rate = [size](std::vector<double>& times) {
    std::ranges::sort(times);
    return static_cast<double>(size) / 1e6 / times[kRounds / 2];
  };
  const double worst = std::min(rate(up), rate(down)) / rate(limit);
  fmt::print("{:<8} {:>10.0f} {:>10.0f} {:>12.0f} {:>7.2f}\n", name, rate(up), rate(down), rate(limit), worst);
  return worst >= kGoal;
}

Result<bool> bench(std::uint64_t size) {
  const TemporaryFolder folder;
  ASSAY_TRY(const auto tls, keep_self_made_certificate(folder.path(), {"127.0.0.1"}));
  fmt::print("bodies of {} MB, median of {} rounds, MB/s\n\n", size / 1'000'000, kRounds);
  fmt::print("{:<8} {:>10} {:>10} {:>12} {:>7}\n", "", "up", "down", "bare wire", "ratio");
  ASSAY_TRY(const bool plain, measure("plain", std::nullopt, size));
  // Encryption is OpenSSL's time, so it is shown and not judged.
  ASSAY_TRY(const bool encrypted, measure("TLS", tls, size));
  static_cast<void>(encrypted);
  return plain;
}

}  // namespace

int main(int argc, char** argv) {
  const double megabytes = argc > 1 ? std::atof(argv[1]) : 1000;
  if (megabytes < 1) {
    fmt::print(stderr, "usage: bench_http_bodies [MEGABYTES]\n");
    return 2;
  }
  const auto met = bench(static_cast<std::uint64_t>(megabytes * 1e6));
  if (!met.ok()) {
    fmt::print(stderr, "bench_http_bodies: {}\n", met.error().text());
    return 1;
  }
  return *met ? 0 : 1;
}
