#include "net/response_parser.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <utility>

#include "net/piece_body.h"

namespace assay {
namespace {

namespace http = boost::beast::http;

// A chunk's size line, with extensions, and the trailer: nobody needs more.
constexpr std::size_t kAnswerChunkLineBytes = 4096;

Error not_http(std::string_view problem) {
  return Error{.kind = ErrorKind::io, .message = fmt::format("the answer is not valid HTTP: {}", problem)};
}

}  // namespace

struct ResponseParser::Parser : http::response_parser<PieceBody> {};

ResponseParser::ResponseParser(bool head_only, std::size_t header_bytes)
    : head_only_(head_only), header_bytes_(header_bytes) {
  begin();
}

ResponseParser::~ResponseParser() = default;

void ResponseParser::begin() {
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(static_cast<std::uint32_t>(header_bytes_));
  parser_->body_limit(boost::none);
  parser_->eager(true);
  parser_->skip(head_only_);
}

Result<std::size_t> ResponseParser::take(std::string_view input) {
  std::size_t taken = 0;
  while (taken < input.size() && !parser_->is_done()) {
    boost::system::error_code error;
    const std::size_t used = parser_->put(boost::asio::buffer(input.data() + taken, input.size() - taken), error);
    taken += used;
    if (error == http::error::need_more) {
      const std::size_t limit = head_complete() ? kAnswerChunkLineBytes : header_bytes_;
      if (input.size() - taken > limit) return not_http("a header or a chunk's size line is too long");
      break;
    }
    if (error) return not_http(error.message());
    if (head_complete() && status() >= 100 && status() < 200) {
      if (status() == 101) return not_http("the server changes the protocol, which nobody asked for");
      begin();
      told_to_continue_ = true;
    }
  }
  return taken;
}

Result<void> ResponseParser::end_of_input() {
  boost::system::error_code error;
  if (!parser_->is_done()) {
    if (!parser_->got_some()) error = http::error::partial_message;
    if (!error) parser_->put_eof(error);
  }
  if (!error) return {};
  return Error{.kind = ErrorKind::lost_peer, .message = "the connection was closed before the answer was complete"};
}

bool ResponseParser::head_complete() const { return parser_->is_header_done(); }

bool ResponseParser::complete() const { return parser_->is_done(); }

bool ResponseParser::keep_alive() const { return parser_->keep_alive(); }

int ResponseParser::status() const { return static_cast<int>(parser_->get().result_int()); }

Headers ResponseParser::headers() const {
  Headers headers;
  for (const auto& field : parser_->get()) {
    headers.add({field.name_string().data(), field.name_string().size()}, {field.value().data(), field.value().size()});
  }
  return headers;
}

std::string ResponseParser::take_content() { return std::exchange(parser_->get().body(), {}); }

}  // namespace assay
