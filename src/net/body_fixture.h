#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_stream.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/server_options.h"
#include "net/tls.h"
#include "net/url.h"

namespace assay {

/// For tests: bytes that are known from their places, so that a body of any size can be made and checked without being
/// held.
class Pattern {
 public:
  /// From `at` on; at most some 64 KiB.
  static std::string_view bytes(std::uint64_t at, std::uint64_t count) {
    return std::string_view(text()).substr(at % kPeriod, std::min<std::uint64_t>(count, kPeriod));
  }

  /// Takes bytes in order and says whether they are the pattern's.
  class Check {
   public:
    Result<void> take(std::string_view piece) {
      while (!piece.empty()) {
        const auto expected = bytes(taken_, piece.size());
        if (piece.substr(0, expected.size()) != expected) return Error{.message = "other bytes than were sent"};
        piece.remove_prefix(expected.size());
        taken_ += expected.size();
      }
      return {};
    }
    ByteSink sink() {
      return [this](std::string_view piece) { return take(piece); };
    }
    std::uint64_t taken() const { return taken_; }

   private:
    std::atomic<std::uint64_t> taken_ = 0;
  };

 private:
  static constexpr std::size_t kPeriod = 65'521;
  static const std::string& text() {
    static const std::string made = [] {
      std::string text;
      std::uint64_t state = 1;
      while (text.size() < kPeriod) text += static_cast<char>((state = state * 6364136223846793005U + 1) >> 56U);
      return text + text;
    }();
    return made;
  }
};

/// Gives so many bytes of the pattern.
class PatternSource : public ByteSource {
 public:
  struct Options {
    bool length_known = true;
    std::optional<std::uint64_t> fails_at;  ///< after so many bytes
    std::function<void()> before_each;
  };
  PatternSource(std::uint64_t size, Options options) : size_(size), options_(std::move(options)) {}
  explicit PatternSource(std::uint64_t size) : PatternSource(size, Options{}) {}

  Result<std::optional<std::string>> next() override {
    if (options_.before_each) options_.before_each();
    if (options_.fails_at && given_ >= *options_.fails_at)
      return Error{.kind = ErrorKind::io, .message = "disk on fire"};
    if (given_ == size_) return std::optional<std::string>();
    const auto piece = Pattern::bytes(given_, size_ - given_);
    given_ += piece.size();
    return std::optional<std::string>(piece);
  }
  std::optional<std::uint64_t> length() const override {
    return options_.length_known ? std::optional(size_) : std::nullopt;
  }
  std::uint64_t given() const { return given_; }

 private:
  const std::uint64_t size_;
  const Options options_;
  std::atomic<std::uint64_t> given_ = 0;
};

/// What a test with and without TLS is called.
inline std::string name_of_wire(const testing::TestParamInfo<bool>& tls) { return tls.param ? "Tls" : "Plain"; }

/// A server, plain or TLS, and clients that trust it.
class BodyServer {
 public:
  BodyServer(Router router, bool tls, ServerOptions options = {}) : tls_(tls) {
    if (tls) {
      auto files = keep_self_made_certificate(folder_.path(), {"127.0.0.1"});
      EXPECT_TRUE(files.ok());
      options.tls = *files;
      fingerprint_ = *certificate_fingerprint(files->certificate);
    }
    server_ = start_server(std::move(router), std::move(options));
  }
  HttpServer& server() { return *server_; }
  std::unique_ptr<HttpClient> client(ClientOptions options = {}) {
    if (tls_) options.trust.fingerprint = fingerprint_;
    auto client = HttpClient::create({.scheme = tls_ ? Url::Scheme::https : Url::Scheme::http,
                                      .host = "127.0.0.1",
                                      .port = port_of(*server_),
                                      .target = "/"},
                                     std::move(options));
    EXPECT_TRUE(client.ok());
    return std::move(*client);
  }

 private:
  TemporaryFolder folder_;
  bool tls_;
  std::string fingerprint_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace assay
