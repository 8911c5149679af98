#include "http/api_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text.h"

namespace assay {
namespace {

using In = ApiParameter::In;

Error mistake(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

/// What the request has and its endpoint does not know.
Error unknown(std::string_view what, std::string_view name, const std::vector<std::string>& names) {
  std::string message = fmt::format("unknown {} '{}'", what, name);
  if (const auto meant = nearest(name, names)) message += fmt::format(". Did you mean '{}'?", *meant);
  const char* where = what == "parameter" ? "The query" : "The body";
  return mistake(std::move(message), names.empty() ? fmt::format("{} must be empty here.", where)
                                                   : fmt::format("{} can have: {}.", where, join(names, ", ")));
}

Error missing(std::string_view name, std::string_view description) {
  return mistake(fmt::format("'{}' is missing", name), fmt::format("{}.", description));
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

/// Of one of JSON Schema's types, without those that may also be null.
std::string_view rule_for(std::string_view type, const json::value& value) {
  if (type == "string" && !value.is_string()) return "must be a string";
  if (type == "boolean" && !value.is_bool()) return "must be true or false";
  if (type == "object" && !value.is_object()) return "must be an object";
  if (type == "array" && !value.is_array()) return "must be a list";
  if (type == "integer" && !value.is_int64() && !value.is_uint64()) return "must be a whole number";
  return {};
}

std::string_view rule_for(const ApiShape& shape, const json::value& value) {
  if (shape.schema.contains("$ref")) return rule_for(shape.types[0]->words.empty() ? "object" : "string", value);
  const auto* type = shape.schema.if_contains("type");
  if (!type) return {};
  if (type->is_string()) return rule_for(type->get_string(), value);
  return value.is_number() || value.is_null() ? "" : "must be a number";
}

Result<void> check_query(const ApiEndpoint& endpoint, const HttpRequest& request, bool ignores_unknown) {
  std::vector<std::string> names;
  for (const auto& parameter : endpoint.parameters) {
    if (parameter.in == In::query) names.push_back(parameter.name);
  }
  std::set<std::string, std::less<>> given;
  for (const auto& [name, value] : request.query) {
    const auto parameter =
        std::find_if(endpoint.parameters.begin(), endpoint.parameters.end(),
                     [&](const ApiParameter& one) { return one.in == In::query && one.name == name; });
    if (parameter == endpoint.parameters.end()) {
      if (ignores_unknown) continue;
      return unknown("parameter", name, names);
    }
    if (!given.insert(name).second) return mistake(fmt::format("the parameter '{}' stands there twice", name));
    if (const auto rule = rule_for(*parameter, std::string_view(value)); !rule.empty()) {
      return mistake(fmt::format("'{}={}' {}", name, value, rule));
    }
  }
  for (const auto& parameter : endpoint.parameters) {
    if (parameter.in == In::query && parameter.required && !given.contains(parameter.name)) {
      return missing(parameter.name, parameter.description);
    }
  }
  return {};
}

Result<void> check_body(const ApiTypeInfo* type, const json::object& body, bool ignores_unknown) {
  static const std::vector<ApiFieldInfo> none;
  const auto& fields = type ? type->fields : none;
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const auto& field : fields) names.push_back(field.name);
  for (const auto& member : body) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const ApiFieldInfo& one) { return one.name == member.key(); });
    if (field == fields.end()) {
      if (ignores_unknown || (type && type->open)) continue;
      return unknown("key", member.key(), names);
    }
    if (const auto rule = rule_for(field->shape, member.value()); !rule.empty()) {
      return mistake(fmt::format("'{}' {}", field->name, rule));
    }
  }
  if (type && type->open) return {};  // older programs have left out what newer ones write always
  for (const auto& field : fields) {
    if (field.always && !body.contains(field.name)) return missing(field.name, field.meaning);
  }
  return {};
}

}  // namespace

Result<void> check_request(const ApiEndpoint& endpoint, const HttpRequest& request, bool ignores_unknown) {
  ASSAY_CHECK(check_query(endpoint, request, ignores_unknown));
  if (endpoint.body != ApiEndpoint::Body::json) return {};
  ASSAY_TRY(const auto body, body_object(request));
  return check_body(endpoint.handle.takes, body, ignores_unknown);
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
