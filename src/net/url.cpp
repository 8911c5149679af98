#include "net/url.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "net/headers.h"
#include "net/listen_address.h"
#include "net/url_text.h"

namespace assay {
namespace {

Error usage(std::string message, std::string hint = "") {
  return Error{.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

int hex_digit(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

bool is_printable_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char character) { return character > 0x20 && character < 0x7F; });
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_host_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '.' || character == '-' || character == '_';
}

struct HostAndPort {
  std::string host;
  std::optional<std::uint16_t> port;
};

/// Splits `host`, `host:port`, `[v6]`, `[v6]:port`. `whole` is quoted in messages.
Result<HostAndPort> split_host_and_port(std::string_view text, std::string_view whole) {
  HostAndPort result;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return usage(fmt::format("'{}' has a '[' without ']'", whole));
    result.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    const bool valid = !result.host.empty() && std::ranges::all_of(result.host, [](char character) {
      return hex_digit(character) >= 0 || character == ':' || character == '.' || character == '%' ||
             is_host_character(character);
    });
    if (!valid) return usage(fmt::format("'{}' has no valid IPv6 address between the brackets", whole));
    if (!rest.empty() && rest.front() != ':') return usage(fmt::format("'{}' has text after ']'", whole));
  } else {
    const auto colon = text.find(':');
    result.host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    if (rest.find(':', 1) != std::string_view::npos && rest.size() > 1) {
      return usage(fmt::format("'{}' has more than one ':'", whole),
                   "An IPv6 address goes into brackets: '[::1]:8080'.");
    }
    if (!std::ranges::all_of(result.host, is_host_character)) {
      return usage(fmt::format("'{}' has a character that no host name has", whole));
    }
  }
  if (rest.empty()) return result;
  result.port = parse_port(rest.substr(1));
  if (!result.port) return usage(fmt::format("'{}' has no valid port", whole), "A port is a number from 0 to 65535.");
  return result;
}

std::string bracketed(const std::string& host) { return host.find(':') == std::string::npos ? host : '[' + host + ']'; }

Result<Url> parse_unix_url(std::string_view path, std::string_view whole) {
  // unix:///run/x.sock is a common way to write unix:/run/x.sock; unix://run/x.sock could mean two things.
  const bool ambiguous = path.starts_with("//") && !path.starts_with("///");
  while (path.starts_with("//")) path.remove_prefix(1);
  if (ambiguous || !path.starts_with('/') || path.size() < 2 || path.find('\0') != std::string_view::npos) {
    return usage(fmt::format("'{}' has no absolute path", printable(whole)), "Write 'unix:/run/assay.sock'.");
  }
  return Url{.scheme = Url::Scheme::unix_socket, .target = "/", .socket_path = std::string(path)};
}

constexpr std::uint16_t default_port(Url::Scheme scheme) { return scheme == Url::Scheme::https ? 443 : 80; }

}  // namespace

std::string Url::place() const {
  return scheme == Scheme::unix_socket ? socket_path : fmt::format("{}:{}", bracketed(host), port);
}

std::string Url::host_header() const {
  if (scheme == Scheme::unix_socket) return "localhost";
  return port == default_port(scheme) ? bracketed(host) : place();
}

Result<Url> parse_url(std::string_view text) {
  if (text.starts_with("unix:")) return parse_unix_url(text.substr(5), text);
  const std::string quoted = printable(text);
  if (!is_printable_ascii(text)) {
    return usage(fmt::format("'{}' has blanks or characters that a URL cannot have", quoted), "Write them as %XX.");
  }
  Url url;
  std::string_view rest;
  if (equal_ignoring_case(text.substr(0, 7), "http://")) {
    rest = text.substr(7);
  } else if (equal_ignoring_case(text.substr(0, 8), "https://")) {
    url.scheme = Url::Scheme::https;
    rest = text.substr(8);
  } else {
    return usage(fmt::format("'{}' is no URL that can be called", quoted),
                 "Write 'https://host:port', 'http://host:port' or 'unix:/path'.");
  }
  const auto authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.find('@') != std::string_view::npos) {
    return usage("the URL has a user name or password in it", "Give credentials by a token file.");
  }
  ASSAY_TRY(auto place, split_host_and_port(authority, quoted));
  if (place.host.empty()) return usage(fmt::format("'{}' has no host", quoted));
  if (place.port == 0) return usage(fmt::format("'{}' has port 0, which nobody can be reached at", quoted));
  url.host = std::move(place.host);
  url.port = place.port.value_or(default_port(url.scheme));
  url.target = rest.substr(authority.size());
  if (url.target.find('#') != std::string::npos) return usage(fmt::format("'{}' has a fragment ('#')", quoted));
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

std::string ListenAddress::text() const {
  return is_unix() ? "unix:" + socket_path : fmt::format("{}:{}", bracketed(host), port);
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  constexpr std::string_view kForms = "Write 'host:port', '[::]:port', ':port' or 'unix:/path'.";
  ListenAddress address;
  if (text.starts_with("unix:")) {
    ASSAY_TRY(auto url, parse_unix_url(text.substr(5), text));
    address.socket_path = std::move(url.socket_path);
    return address;
  }
  const std::string quoted = printable(text);
  ASSAY_TRY(auto place, split_host_and_port(text, quoted));
  if (!place.port) return usage(fmt::format("'{}' has no port", quoted), std::string(kForms));
  address.host = std::move(place.host);
  address.port = *place.port;
  return address;
}

bool is_loopback_host(std::string_view host) {
  if (host == "localhost") return true;
  const std::string text(host);
  in_addr four{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && std::memcmp(&six, &in6addr_loopback, sizeof six) == 0;
}

Result<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char character = text[i];
    if (character == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return usage("a '%' is not followed by two hexadecimal digits");
      character = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (character == '+' && plus_is_blank) {
      character = ' ';
    }
    if (character == '\0') return usage("a zero byte is not allowed");
    decoded += character;
  }
  return decoded;
}

std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char character : text) {
    if (is_host_character(character) || character == '~') {
      encoded += character;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(character));
    }
  }
  return encoded;
}

bool is_below(std::string_view path, std::string_view base) {
  if (base == "/" || path == base) return true;
  return path.starts_with(base) && path[base.size()] == '/';
}

}  // namespace assay
