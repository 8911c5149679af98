#include "net/request_target.h"

#include <utility>

#include "base/text.h"
#include "net/headers.h"
#include "net/url_text.h"

namespace assay {
namespace {

Error wrong_target(std::string message) { return Error{.kind = ErrorKind::usage, .message = std::move(message)}; }

}  // namespace

Result<NamedValues> parse_query(std::string_view query) {
  NamedValues values;
  if (query.empty()) return values;
  for (const auto part : split(query, '&')) {
    if (part.empty()) continue;
    const auto equals = part.find('=');
    ASSAY_TRY(auto name, percent_decode(part.substr(0, equals), true));
    std::string_view raw = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    ASSAY_TRY(auto value, percent_decode(raw, true));
    values.emplace_back(std::move(name), std::move(value));
  }
  return values;
}

Result<RequestTarget> parse_request_target(std::string_view target) {
  if (target == "*") return RequestTarget{.path = "*"};
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const auto slash = target.find_first_of("/?");
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    if (target.starts_with('?')) return wrong_target("the request target has no path");
    break;
  }
  if (!target.starts_with('/')) return wrong_target("the request target does not start with '/'");
  if (target.find('#') != std::string_view::npos) return wrong_target("the request target has a fragment ('#')");
  const auto question = target.find('?');
  RequestTarget result;
  for (const auto raw : split(target.substr(1, question == std::string_view::npos ? question : question - 1), '/')) {
    ASSAY_TRY(auto segment, percent_decode(raw));
    if (segment == "." || segment == "..") return wrong_target("the path has a '.' or '..' in it");
    result.path += '/';
    result.path += segment;
    result.segments.push_back(std::move(segment));
  }
  if (question != std::string_view::npos) {
    ASSAY_TRY(result.query, parse_query(target.substr(question + 1)));
  }
  return result;
}

}  // namespace assay
