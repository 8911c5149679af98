#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace assay {

/// Why a request is not served, as the client will read it.
struct Refusal {
  int status = 400;
  std::string message;
};

/// Judges the head of a request (start line and fields, blank line included) more strictly than parsers do: whatever
/// two programs could read in two ways (bare LF, folded lines, two lengths, length beside chunks …) is refused, since
/// that is what request smuggling is made of.
std::optional<Refusal> check_request_head(std::string_view head);

struct RequestLimits {
  std::size_t header_bytes = std::size_t{16} << 10;
  std::size_t target_bytes = std::size_t{8} << 10;
};

/// Turns bytes into one request, wherever the pieces are cut. First the head, so that the caller can decide about the
/// body (route, limit, 100-continue), then the body. One object per request; not thread-safe.
class RequestParser {
 public:
  explicit RequestParser(RequestLimits limits);
  ~RequestParser();

  /// Looks for the whole head at the front of `input`. The number of bytes it has taken: 0 as long as the head is
  /// not complete (call again with the same bytes and more), or when it is refused.
  std::size_t take_head(std::string_view input);
  bool head_complete() const;
  /// Says how large the body may be after decoding; once, before the first `take_body`.
  void accept_body(std::size_t limit);
  /// Takes what belongs to the body. The number of bytes taken; the rest must come again, with more behind it.
  std::size_t take_body(std::string_view input);
  bool complete() const;

  const std::optional<Refusal>& refusal() const { return refusal_; }
  /// Refused for a reason that is not in the bytes: they come too slowly.
  void give_up(int status, std::string message) { refuse(status, std::move(message)); }

  // After the head:
  bool has_body() const;
  std::optional<std::uint64_t> content_length() const;  ///< absent for chunks
  bool keep_alive() const;
  bool expects_continue() const { return expects_continue_; }
  bool http_1_0() const;

  /// Method, target and headers as they came in the head (a trailer cannot change them); the caller adds the rest.
  HttpRequest take_request();
  /// What of the body has arrived since the last call.
  std::string take_content();

 private:
  struct Parser;
  std::size_t refuse(int status, std::string message);
  void copy_head();

  RequestLimits limits_;
  std::unique_ptr<Parser> parser_;
  std::size_t body_limit_ = 0;
  std::size_t scanned_ = 0;  ///< bytes known not to hold the end of the head
  HttpRequest request_;
  bool expects_continue_ = false;
  std::optional<Refusal> refusal_;
};

}  // namespace assay
