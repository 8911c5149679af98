#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace assay {
namespace {

constexpr std::size_t kMaxDepth = 32;

/// The shortest text that reads back as the same number. Boost.JSON would write 0.5 as 5E-1.
std::string plain_number(double number) {
  if (!std::isfinite(number)) return "null";
  std::string text = fmt::format("{}", number);
  // Without a point it would be read back as an integer.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void write_pretty(std::string& out, const json::value& value, int indent) {
  const auto pad = [&](int level) { out.append(static_cast<std::size_t>(level) * 2, ' '); };
  if (const auto* object = value.if_object(); object && !object->empty()) {
    out += "{\n";
    bool first = true;
    for (const auto& member : *object) {
      if (!first) out += ",\n";
      first = false;
      pad(indent + 1);
      out += json::serialize(json::value(member.key()));
      out += ": ";
      write_pretty(out, member.value(), indent + 1);
    }
    out += '\n';
    pad(indent);
    out += '}';
  } else if (const auto* array = value.if_array();
             array &&
             std::any_of(array->begin(), array->end(), [](const json::value& item) { return item.is_structured(); })) {
    out += "[\n";
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i) out += ",\n";
      pad(indent + 1);
      write_pretty(out, (*array)[i], indent + 1);
    }
    out += '\n';
    pad(indent);
    out += ']';
  } else if (array) {
    out += '[';
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i) out += ", ";
      write_pretty(out, (*array)[i], indent);
    }
    out += ']';
  } else if (const auto* number = value.if_double()) {
    out += plain_number(*number);
  } else {
    out += json::serialize(value);
  }
}

/// The first key that stands twice in one object of a text that is valid JSON.
std::optional<std::string> repeated_key(std::string_view text) {
  std::vector<std::set<std::string>> keys;  // of every object that is open, and none of every list
  std::string_view last_string;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') {
      keys.emplace_back();
    } else if (c == '}' || c == ']') {
      keys.pop_back();
    } else if (c == '"') {
      const std::size_t start = at++;
      while (text[at] != '"') at += text[at] == '\\' ? 2 : 1;
      last_string = text.substr(start, at - start + 1);
    } else if (c == ':') {
      // Decoded: "a" and "\u0061" are one key.
      std::string key(json::parse(last_string).as_string());
      if (!keys.back().insert(key).second) return key;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<json::value> parse_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::stream_parser parser({}, options);
  json::error_code code;
  const std::size_t used = parser.write_some(text.data(), text.size(), code);
  // The parser stops where the document ends; asked to finish, it would call that incomplete.
  if (!code && used < text.size()) {
    return Error{.kind = ErrorKind::bad_file, .message = fmt::format("not valid JSON: extra text at byte {}", used)};
  }
  if (!code) parser.finish(code);
  if (code) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("not valid JSON at byte {}: {}", used, code.message())};
  }
  return parser.release();
}

Result<json::value> parse_json_strictly(std::string_view text) {
  ASSAY_TRY(auto value, parse_json(text));
  if (const auto key = repeated_key(text)) {
    return Error{.kind = ErrorKind::bad_file, .message = fmt::format("the key '{}' stands there twice", *key)};
  }
  return value;
}

std::string pretty_json(const json::value& value) {
  std::string out;
  write_pretty(out, value, 0);
  out += '\n';
  return out;
}

JsonFields::JsonFields(const json::value& value, std::string what)
    : object_(value.if_object()), what_(std::move(what)) {
  if (!object_)
    error_ = Error{.kind = ErrorKind::bad_file, .message = fmt::format("{}: expected a JSON object", what_)};
}

const json::value* JsonFields::find(std::string_view key) const {
  return object_ ? object_->if_contains(key) : nullptr;
}

const json::value* JsonFields::need(std::string_view key) {
  const auto* value = find(key);
  if (!value) fail(key, "is missing");
  return value;
}

void JsonFields::fail(std::string_view key, std::string_view rule) {
  if (!error_) error_ = Error{.kind = ErrorKind::bad_file, .message = fmt::format("{}: '{}' {}", what_, key, rule)};
}

Result<void> JsonFields::finish() {
  if (error_) return *error_;
  return {};
}

std::string JsonFields::text(std::string_view key) {
  const auto* value = need(key);
  if (value && !value->is_string()) fail(key, "must be a string");
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::string JsonFields::text_or(std::string_view key, std::string_view fallback) {
  return find(key) ? text(key) : std::string(fallback);
}

std::int64_t JsonFields::integer(std::string_view key) {
  const auto* value = need(key);
  if (!value) return 0;
  json::error_code code;
  const auto number = value->to_number<std::int64_t>(code);
  if (code) fail(key, "must be a whole number");
  return code ? 0 : number;
}

std::int64_t JsonFields::integer_or(std::string_view key, std::int64_t fallback) {
  return find(key) ? integer(key) : fallback;
}

int JsonFields::small_integer(std::string_view key) {
  const std::int64_t number = integer(key);
  if (std::in_range<int>(number)) return static_cast<int>(number);
  fail(key, "is out of range");
  return 0;
}

int JsonFields::small_integer_or(std::string_view key, int fallback) {
  return find(key) ? small_integer(key) : fallback;
}

double JsonFields::number(std::string_view key) {
  const auto* value = need(key);
  if (!value) return 0;
  if (value->is_null()) return std::nan("");
  json::error_code code;
  const auto number = value->to_number<double>(code);
  if (code) fail(key, "must be a number");
  return code ? 0 : number;
}

double JsonFields::number_or(std::string_view key, double fallback) { return find(key) ? number(key) : fallback; }

bool JsonFields::boolean_or(std::string_view key, bool fallback) {
  const auto* value = find(key);
  if (value && !value->is_bool()) fail(key, "must be true or false");
  return value && value->is_bool() ? value->get_bool() : fallback;
}

const json::array& JsonFields::array_or_empty(std::string_view key) {
  static const json::array empty;
  const auto* value = find(key);
  if (value && !value->is_array()) fail(key, "must be a list");
  return value && value->is_array() ? value->get_array() : empty;
}

const json::object& JsonFields::object_or_empty(std::string_view key) {
  static const json::object empty;
  const auto* value = find(key);
  if (value && !value->is_object()) fail(key, "must be an object");
  return value && value->is_object() ? value->get_object() : empty;
}

std::vector<std::string> JsonFields::texts_or_empty(std::string_view key) {
  std::vector<std::string> texts;
  for (const auto& item : array_or_empty(key)) {
    if (const auto* text = item.if_string()) {
      texts.emplace_back(*text);
    } else {
      fail(key, "must hold strings only");
    }
  }
  return texts;
}

std::map<std::string, std::string> JsonFields::text_map_or_empty(std::string_view key) {
  std::map<std::string, std::string> map;
  for (const auto& member : object_or_empty(key)) {
    if (const auto* text = member.value().if_string()) {
      map.emplace(member.key(), *text);
    } else {
      fail(key, "must hold strings only");
    }
  }
  return map;
}

Result<int> check_schema(const json::value& value, int newest, std::string_view what) {
  JsonFields fields(value, std::string(what));
  const auto schema = fields.integer("schema");
  ASSAY_CHECK(fields.finish());
  if (schema < 1) {
    return Error{.kind = ErrorKind::bad_file, .message = fmt::format("{}: schema {} does not exist", what, schema)};
  }
  if (schema > newest) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("{}: written by a newer assay (schema {}, this one reads up to {})", what,
                                        schema, newest),
                 .hint = "Update assay on this machine."};
  }
  return static_cast<int>(schema);
}

}  // namespace assay
