#include <algorithm>

#include "base/text.h"
#include "net/request_parser.h"

namespace assay {
namespace {

bool is_token_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(character) != std::string_view::npos;
}

bool is_token(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_token_character); }

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char digit) { return digit >= '0' && digit <= '9'; });
}

/// Takes one line off the front. Lines end with CRLF; a CR or LF on its own gives nothing.
std::optional<std::string_view> take_line(std::string_view& rest) {
  const auto end = rest.find_first_of("\r\n");
  if (end == std::string_view::npos || !rest.substr(end).starts_with("\r\n")) return std::nullopt;
  const auto line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

std::optional<Refusal> check_start_line(std::string_view line) {
  const auto parts = split(line, ' ');
  if (parts.size() != 3 || !is_token(parts[0]) || parts[1].empty()) {
    return Refusal{400, "the first line is not 'METHOD TARGET HTTP/1.1'"};
  }
  if (parts[2] == "HTTP/1.1" || parts[2] == "HTTP/1.0") return std::nullopt;
  if (parts[2].starts_with("HTTP/")) return Refusal{505, "this server speaks HTTP/1.1"};
  return Refusal{400, "the first line does not end with the version of HTTP"};
}

/// What of the fields decides about where the message ends and whom it is for.
struct Framing {
  int lengths = 0;
  int encodings = 0;
  int hosts = 0;
};

std::optional<Refusal> check_field(std::string_view line, Framing& framing) {
  if (line.front() == ' ' || line.front() == '\t') return Refusal{400, "a header field is folded over several lines"};
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return Refusal{400, "a header field has no valid name"};
  }
  const auto name = line.substr(0, colon);
  const auto value = trim(line.substr(colon + 1));
  const bool controls = std::ranges::any_of(value, [](char character) {
    return (static_cast<unsigned char>(character) < 0x20 && character != '\t') || character == 0x7F;
  });
  if (controls) return Refusal{400, "a header field has a control character"};
  if (equal_ignoring_case(name, "content-length")) {
    ++framing.lengths;
    if (!is_number(value)) return Refusal{400, "Content-Length is not one number"};
  } else if (equal_ignoring_case(name, "transfer-encoding")) {
    ++framing.encodings;
    if (!equal_ignoring_case(value, "chunked")) return Refusal{501, "no transfer encoding but 'chunked' is known here"};
  } else if (equal_ignoring_case(name, "host")) {
    ++framing.hosts;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> check_request_head(std::string_view head) {
  const auto start = take_line(head);
  if (!start) return Refusal{400, "a line does not end with CR LF"};
  if (auto refusal = check_start_line(*start)) return refusal;
  Framing framing;
  for (;;) {
    const auto line = take_line(head);
    if (!line) return Refusal{400, "a line does not end with CR LF"};
    if (line->empty()) break;
    if (auto refusal = check_field(*line, framing)) return refusal;
  }
  const bool old = start->ends_with("HTTP/1.0");
  if (framing.lengths > 1) return Refusal{400, "Content-Length comes more than once"};
  if (framing.encodings > 1) return Refusal{400, "Transfer-Encoding comes more than once"};
  if (framing.lengths + framing.encodings > 1)
    return Refusal{400, "both Content-Length and Transfer-Encoding are given"};
  if (framing.encodings > 0 && old) return Refusal{400, "HTTP/1.0 knows no Transfer-Encoding"};
  if (framing.hosts > 1 || (framing.hosts == 0 && !old)) return Refusal{400, "exactly one Host field is needed"};
  return std::nullopt;
}

}  // namespace assay
