#include "access/ldap_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/ascii.h"
#include "base/text.h"
#include "net/url.h"

namespace assay {
namespace {

constexpr std::uint16_t kLdapPort = 389;
constexpr std::uint16_t kLdapsPort = 636;

Error bad_ldap_url(std::string_view text, std::string_view rule) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("'{}' {}", printable(text), rule),
          .hint = "Write 'ldaps://host' or 'ldap://host', with ':port' behind it if need be."};
}

Result<std::uint16_t> parse_port(std::string_view digits, std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error == std::errc() && end == digits.data() + digits.size() && port != 0) return port;
  return bad_ldap_url(text, "has no port from 1 to 65535");
}

/// Splits `host:port`, `[::1]:port`, `host`.
Result<LdapUrl> parse_ldap_place(std::string_view place, bool tls, std::string_view text) {
  LdapUrl url{.tls = tls, .host = {}, .port = tls ? kLdapsPort : kLdapPort};
  const bool bracketed = place.starts_with('[');
  const auto host_end = bracketed ? place.find(']') : place.find(':');
  if (bracketed && host_end == std::string_view::npos) return bad_ldap_url(text, "has a '[' without a ']'");
  const auto is_host = [&](char c) { return is_url_safe(c) || c == '.' || (bracketed && c == ':'); };
  url.host = place.substr(bracketed ? 1 : 0, bracketed ? host_end - 1 : host_end);
  if (url.host.empty() || !std::all_of(url.host.begin(), url.host.end(), is_host)) {
    return bad_ldap_url(text, "has no host, or more than a host and a port");
  }
  std::string_view rest = host_end == std::string_view::npos ? "" : place.substr(host_end + (bracketed ? 1 : 0));
  if (rest.empty()) return url;
  if (!rest.starts_with(':')) return bad_ldap_url(text, "has more than a host and a port");
  ASSAY_TRY(url.port, parse_port(rest.substr(1), text));
  return url;
}

Error bad_filter(std::string_view text, std::string message, std::string_view example) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("'{}' {}", printable(text), std::move(message)),
          .hint = fmt::format("Write for example '{}'.", example)};
}

Result<std::string> parse_filter(std::string_view text, std::span<const std::string_view> places,
                                 std::string_view example) {
  int depth = 0;
  bool has_place = false;
  bool in_value = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(') ++depth;
    in_value = c == '=' || (in_value && c != '(' && c != ')');
    if (c == ')') --depth;
    // Before its end it must never be closed, at its end it must be.
    if ((depth == 0) != (i + 1 == text.size())) return bad_filter(text, "has parentheses that do not match", example);
    if (c == '}') return bad_filter(text, "has a '}' that closes nothing", example);
    if (c != '{') continue;
    const auto end = text.find('}', i);
    const std::string_view place = text.substr(i, end == std::string_view::npos ? end : end - i + 1);
    if (!contains(places, place)) {
      return bad_filter(text, fmt::format("has a '{}', and there is only {}", place, join(places, " and ")), example);
    }
    if (!in_value) return bad_filter(text, fmt::format("has a '{}' that nothing is compared with", place), example);
    has_place = true;
    i = end;
  }
  // A place was stepped over as a whole, perhaps to the end.
  if (depth != 0) return bad_filter(text, "has parentheses that do not match", example);
  if (has_place) return std::string(text);
  return bad_filter(text, fmt::format("would find the same for everybody: it has no {}", join(places, " or ")),
                    example);
}

/// Of settings that have no value unless somebody gives one.
std::string_view first_given(const LdapSettings& settings) {
  if (settings.start_tls) return "ldap.start_tls";
  if (!settings.ca_file.empty()) return "ldap.ca_file";
  if (!settings.bind_dn.empty()) return "ldap.bind_dn";
  if (!settings.bind_password_file.empty()) return "ldap.bind_password_file";
  if (!settings.user_base.empty()) return "ldap.user_base";
  if (!settings.group_base.empty()) return "ldap.group_base";
  return settings.roles.empty() ? "" : "ldap.roles";
}

}  // namespace

std::string LdapUrl::text() const {
  const bool needs_brackets = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", tls ? "ldaps" : "ldap", needs_brackets ? "[" : "", host,
                     needs_brackets ? "]" : "", port);
}

Result<LdapUrl> parse_ldap_url(std::string_view text) {
  std::string_view place = text;
  const bool tls = text.starts_with("ldaps://");
  if (!tls && !text.starts_with("ldap://")) return bad_ldap_url(text, "does not begin with ldaps:// or ldap://");
  place.remove_prefix(std::string_view(tls ? "ldaps://" : "ldap://").size());
  if (place.ends_with('/')) place.remove_suffix(1);
  return parse_ldap_place(place, tls, text);
}

Result<std::string> parse_user_filter(std::string_view text) {
  constexpr std::array<std::string_view, 1> kPlaces = {"{user}"};
  return parse_filter(text, kPlaces, "(uid={user})");
}

Result<std::string> parse_group_filter(std::string_view text) {
  constexpr std::array<std::string_view, 2> kPlaces = {"{user}", "{dn}"};
  return parse_filter(text, kPlaces, "(member={dn})");
}

std::vector<LdapMistake> mistakes_between(const LdapSettings& settings) {
  std::vector<LdapMistake> found;
  if (settings.url.empty()) {
    if (const auto key = first_given(settings); !key.empty()) {
      found.push_back(
          {key, "ldap.url", fmt::format("'{}' is of a directory, and there is no 'ldap.url'. Add it.", key)});
    }
    return found;
  }
  const auto url = parse_ldap_url(settings.url);
  if (!url) return {{"ldap.url", "ldap.url", url.error().message + ". " + url.error().hint}};
  if (url->tls && settings.start_tls) {
    found.push_back({"ldap.start_tls", "ldap.url",
                     "'ldap.start_tls' is for 'ldap://': 'ldaps://' speaks TLS from the first byte on. Leave it out."});
  }
  if (!url->tls && !settings.start_tls && !is_loopback_host(url->host)) {
    found.push_back({"ldap.url", "ldap.start_tls",
                     "passwords would travel in the clear. Write 'ldaps://', or add 'start_tls: true'."});
  }
  if (settings.bind_dn.empty() != settings.bind_password_file.empty()) {
    found.push_back({"ldap.bind_dn", "ldap.bind_password_file",
                     "'ldap.bind_dn' and 'ldap.bind_password_file' belong together. Give both, or neither."});
  }
  if (settings.user_base.empty()) {
    found.push_back({"ldap.url", "ldap.user_base",
                     "it is not said where users are. Add 'user_base', such as 'ou=people,dc=example,dc=org'."});
  }
  if (settings.roles.empty()) {
    found.push_back({"ldap.url", "ldap.roles",
                     "nobody in the directory has a role. Add 'roles', such as '[gpu-admins=admin, \"*=viewer\"]'."});
  }
  return found;
}

}  // namespace assay
