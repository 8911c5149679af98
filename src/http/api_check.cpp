#include "http/api_check.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "base/text.h"

namespace assay {
namespace {

using In = ApiParameter::In;

Error mistake(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

/// The parameter of that name, or what could have been meant; null where that is not asked for.
Result<const ApiParameter*> known(const std::vector<ApiParameter>& parameters, In in, std::string_view name,
                                  bool ignores_unknown) {
  std::vector<std::string> names;
  for (const auto& parameter : parameters) {
    if (parameter.in != in) continue;
    if (parameter.name == name) return &parameter;
    names.push_back(parameter.name);
  }
  if (ignores_unknown) return nullptr;
  std::string message = fmt::format("unknown {} '{}'", in == In::query ? "parameter" : "key", name);
  if (const auto meant = nearest(name, names)) message += fmt::format(". Did you mean '{}'?", *meant);
  const char* where = in == In::query ? "The query" : "The body";
  return mistake(std::move(message), names.empty() ? fmt::format("{} must be empty here.", where)
                                                   : fmt::format("{} can have: {}.", where, join(names, ", ")));
}

bool is_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

/// What a value must be, or nothing if it is.
std::string_view rule_for(const ApiParameter& parameter, std::string_view value) {
  if (parameter.type == "boolean" && value != "true" && value != "false") return "must be true or false";
  if (parameter.type == "integer" && !is_integer(value)) return "must be a whole number";
  return {};
}

std::string_view rule_for(const ApiParameter& parameter, const json::value& value) {
  if (parameter.type == "string" && !value.is_string()) return "must be a string";
  if (parameter.type == "boolean" && !value.is_bool()) return "must be true or false";
  if (parameter.type == "object" && !value.is_object()) return "must be an object";
  if (parameter.type == "array" && !value.is_array()) return "must be a list";
  if (parameter.type == "integer" && !value.is_int64() && !value.is_uint64()) return "must be a whole number";
  if (parameter.type == "number" && !value.is_number()) return "must be a number";
  return {};
}

Result<void> check_all_there(const std::vector<ApiParameter>& parameters, In in,
                             const std::set<std::string, std::less<>>& given) {
  for (const auto& parameter : parameters) {
    if (parameter.in == in && parameter.required && !given.contains(parameter.name)) {
      return mistake(fmt::format("'{}' is missing", parameter.name), parameter.description + ".");
    }
  }
  return {};
}

}  // namespace

Result<void> check_request(const ApiEndpoint& endpoint, const HttpRequest& request, bool ignores_unknown) {
  const auto& parameters = endpoint.parameters;
  std::set<std::string, std::less<>> given;
  for (const auto& [name, value] : request.query) {
    ASSAY_TRY(const auto* parameter, known(parameters, In::query, name, ignores_unknown));
    if (!parameter) continue;
    if (!given.insert(name).second) return mistake(fmt::format("the parameter '{}' stands there twice", name));
    if (const auto rule = rule_for(*parameter, std::string_view(value)); !rule.empty()) {
      return mistake(fmt::format("'{}={}' {}", name, value, rule));
    }
  }
  ASSAY_CHECK(check_all_there(parameters, In::query, given));
  if (endpoint.body != ApiEndpoint::Body::json) return {};
  ASSAY_TRY(const auto body, body_object(request));
  given.clear();
  for (const auto& member : body) {
    ASSAY_TRY(const auto* parameter, known(parameters, In::body, member.key(), ignores_unknown));
    if (!parameter) continue;
    given.insert(member.key());
    if (const auto rule = rule_for(*parameter, member.value()); !rule.empty()) {
      return mistake(fmt::format("'{}' {}", parameter->name, rule));
    }
  }
  return check_all_there(parameters, In::body, given);
}

Result<std::size_t> limit_of(const HttpRequest& request, std::size_t usual, std::size_t most) {
  const auto text = request.query_value("limit");
  if (!text) return usual;
  std::size_t limit = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), limit);
  if (code != std::errc() || end != text->data() + text->size() || limit < 1 || limit > most) {
    return mistake(fmt::format("'limit={}' must be a number from 1 to {}", *text, most));
  }
  return limit;
}

Result<std::optional<WallTime>> time_of(const HttpRequest& request, std::string_view name) {
  const auto text = request.query_value(name);
  if (!text || text->empty()) return std::optional<WallTime>();
  const auto time = parse_iso8601(*text);
  if (!time) return mistake(fmt::format("'{}={}' is no time", name, *text), "Write it as 2026-11-15T08:00:00Z.");
  return std::optional(*time);
}

}  // namespace assay
