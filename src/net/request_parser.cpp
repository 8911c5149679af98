#include "net/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <utility>

#include "base/assert.h"
#include "net/piece_body.h"

namespace assay {
namespace {

namespace http = boost::beast::http;

// A chunk's size line, with extensions, and the trailer: nobody needs more.
constexpr std::size_t kChunkLineBytes = 4096;

std::string too_large(std::size_t limit) { return fmt::format("the body is larger than {} bytes", limit); }

bool has_bare_line_feed(std::string_view text) {
  for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') return true;
  }
  return false;
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct RequestParser::Parser : http::request_parser<PieceBody> {};

RequestParser::RequestParser(RequestLimits limits) : limits_(limits), parser_(std::make_unique<Parser>()) {
  // Judged by ourselves: Beast would have one limit for all routes.
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes + 1));
  parser_->body_limit(boost::none);
  parser_->eager(true);
}

RequestParser::~RequestParser() = default;

std::size_t RequestParser::refuse(int status, std::string message) {
  if (!refusal_) refusal_ = Refusal{status, std::move(message)};
  return 0;
}

std::size_t RequestParser::take_head(std::string_view input) {
  if (refusal_ || head_complete()) return 0;
  std::size_t start = 0;
  // Old clients send an empty line after a body; RFC 9112 asks servers to pass over it.
  while (input.substr(start).starts_with("\r\n")) start += 2;
  const auto end = input.find("\r\n\r\n", std::max(start, scanned_));
  // First of all, so that a client that ends its lines with LF alone is told instead of waited for.
  const auto looked_at = end == std::string_view::npos ? input.size() : end + 4;
  if (has_bare_line_feed(input.substr(0, std::min(looked_at, limits_.header_bytes)))) {
    return refuse(400, "a line does not end with CR LF");
  }
  if (end == std::string_view::npos || end + 4 > limits_.header_bytes) {
    if (end != std::string_view::npos || input.size() >= limits_.header_bytes) {
      const bool in_first_line = input.substr(start, limits_.header_bytes).find('\n') == std::string_view::npos;
      if (in_first_line) return refuse(414, "the request target is too long");
      return refuse(431, fmt::format("the header is larger than {} bytes", limits_.header_bytes));
    }
    scanned_ = input.size() < 3 ? 0 : input.size() - 3;
    return 0;
  }
  const auto head = input.substr(start, end + 4 - start);
  if (auto refusal = check_request_head(head)) return refuse(refusal->status, std::move(refusal->message));
  boost::system::error_code error;
  parser_->eager(false);
  const std::size_t used = parser_->put(boost::asio::buffer(head.data(), head.size()), error);
  if (error || used != head.size() || !parser_->is_header_done()) {
    return refuse(400, fmt::format("the header cannot be read: {}", error ? error.message() : "unexpected end"));
  }
  parser_->eager(true);
  copy_head();
  if (request_.target.size() > limits_.target_bytes) return refuse(414, "the request target is too long");
  if (const auto expect = request_.headers.find("Expect")) {
    expects_continue_ = equal_ignoring_case(*expect, "100-continue");
    if (!expects_continue_) return refuse(417, "no expectation but '100-continue' is known here");
  }
  return start + used;
}

bool RequestParser::head_complete() const { return parser_->is_header_done(); }

bool RequestParser::complete() const { return parser_->is_done() || (head_complete() && !has_body()); }

bool RequestParser::has_body() const { return parser_->chunked() || content_length().value_or(0) > 0; }

std::optional<std::uint64_t> RequestParser::content_length() const {
  const auto length = parser_->content_length();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

bool RequestParser::keep_alive() const { return parser_->keep_alive(); }

bool RequestParser::http_1_0() const { return parser_->get().version() == 10; }

void RequestParser::accept_body(std::size_t limit) {
  ASSAY_ASSERT(head_complete());
  body_limit_ = limit;
  parser_->body_limit(limit);
  if (content_length().value_or(0) > limit) refuse(413, too_large(limit));
}

std::size_t RequestParser::take_body(std::string_view input) {
  if (refusal_ || complete()) return 0;
  std::size_t taken = 0;
  while (taken < input.size() && !parser_->is_done()) {
    boost::system::error_code error;
    const std::size_t used = parser_->put(boost::asio::buffer(input.data() + taken, input.size() - taken), error);
    taken += used;
    if (error == http::error::need_more) {
      // What Beast waits for is the end of a chunk's size line or of the trailer.
      const auto rest = input.substr(taken);
      if (rest.size() > kChunkLineBytes) return refuse(400, "a chunk's size line or the trailer is too long");
      if (has_bare_line_feed(rest)) return refuse(400, "a line does not end with CR LF");
      break;
    }
    if (error == http::error::body_limit) return refuse(413, too_large(body_limit_));
    if (error) return refuse(400, fmt::format("the body cannot be read: {}", error.message()));
    if (used == 0) break;
  }
  return taken;
}

void RequestParser::copy_head() {
  const auto& message = parser_->get();
  request_.method = view(message.method_string());
  request_.target = view(message.target());
  for (const auto& field : message) {
    request_.headers.add(std::string(view(field.name_string())), std::string(view(field.value())));
  }
}

HttpRequest RequestParser::take_request() { return std::move(request_); }

std::string RequestParser::take_content() { return std::exchange(parser_->get().body(), {}); }

}  // namespace assay
