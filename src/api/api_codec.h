#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/api_info.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/json.h"

namespace assay {

template <typename T>
class ApiType;

/// The description of a type that travels: specialised beside it, declared in the header that has the type.
template <typename T>
const ApiType<T>& api_type();

/// The words of an enumeration.
template <typename Enum>
struct ApiEnum {
  ApiTypeInfo info;
  std::vector<std::pair<Enum, std::string>> names;

  ApiEnum(std::string name, std::string meaning, std::vector<std::pair<Enum, std::string>> all)
      : names(std::move(all)) {
    info.name = std::move(name);
    info.meaning = std::move(meaning);
    for (const auto& entry : names) info.words.push_back(entry.second);
  }
};
/// Specialised as `api_type` is.
template <typename Enum>
const ApiEnum<Enum>& api_enum();
/// Under the names that `name_of` has for them.
template <typename Enum>
ApiEnum<Enum> named_enum(std::string name, std::string meaning, std::initializer_list<Enum> all) {
  std::vector<std::pair<Enum, std::string>> names;
  for (const Enum value : all) names.emplace_back(value, std::string(name_of(value)));
  return {std::move(name), std::move(meaning), std::move(names)};
}

/// How a C++ type is written, read and described. `read` gives back what is wrong, or nothing: "must be a string".
/// Whatever has no codec of its own below is a type with a description.
template <typename T>
struct ApiCodec {
  static json::value write(const T& value) { return api_type<T>().write(value); }
  static std::string read(const json::value& json, T& into) {
    auto read = api_type<T>().read(json);
    if (!read) return "is bad: " + read.error().message;
    into = std::move(*read);
    return {};
  }
  static ApiShape shape() { return reference_to(api_type<T>().info()); }
};

template <>
struct ApiCodec<std::string> {
  static json::value write(const std::string& value) { return json::value(value); }
  static std::string read(const json::value& json, std::string& into) {
    if (!json.is_string()) return "must be a string";
    into = json.get_string();
    return {};
  }
  static ApiShape shape() { return {.schema = {{"type", "string"}}, .types = {}}; }
};

template <>
struct ApiCodec<bool> {
  static json::value write(bool value) { return value; }
  static std::string read(const json::value& json, bool& into) {
    if (!json.is_bool()) return "must be true or false";
    into = json.get_bool();
    return {};
  }
  static ApiShape shape() { return {.schema = {{"type", "boolean"}}, .types = {}}; }
};

template <std::integral T>
struct ApiCodec<T> {
  static json::value write(T value) { return value; }
  static std::string read(const json::value& json, T& into) {
    json::error_code code;
    if constexpr (std::is_signed_v<T>) {
      const auto number = json.to_number<std::int64_t>(code);
      if (code) return "must be a whole number";
      if (!std::in_range<T>(number)) return "is out of range";
      into = static_cast<T>(number);
    } else {
      if (json.is_int64() && json.get_int64() < 0) return "must not be negative";
      const auto number = json.to_number<std::uint64_t>(code);
      if (code) return "must be a whole number";
      if (!std::in_range<T>(number)) return "is out of range";
      into = static_cast<T>(number);
    }
    return {};
  }
  static ApiShape shape() {
    json::object schema{{"type", "integer"}};
    if (std::is_unsigned_v<T>) schema["minimum"] = 0;
    return {.schema = std::move(schema), .types = {}};
  }
};

/// NaN and infinity are null, and null is NaN.
template <>
struct ApiCodec<double> {
  static json::value write(double value) { return finite(value); }
  static std::string read(const json::value& json, double& into) {
    json::error_code code;
    into = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.to_number<double>(code);
    return code ? "must be a number" : "";
  }
  static ApiShape shape() { return {.schema = {{"type", json::array{"number", "null"}}}, .types = {}}; }
};

/// Whatever stands there.
template <>
struct ApiCodec<json::object> {
  static json::value write(const json::object& value) { return value; }
  static std::string read(const json::value& json, json::object& into) {
    if (!json.is_object()) return "must be an object";
    into = json.get_object();
    return {};
  }
  static ApiShape shape() { return {.schema = {{"type", "object"}}, .types = {}}; }
};

template <typename T>
  requires std::is_enum_v<T>
struct ApiCodec<T> {
  static json::value write(T value) {
    for (const auto& [known, name] : api_enum<T>().names) {
      if (known == value) return json::value(name);
    }
    ASSAY_ASSERT(false);
  }
  static std::string read(const json::value& json, T& into) {
    if (!json.is_string()) return "must be a string";
    for (const auto& [known, name] : api_enum<T>().names) {
      if (json.get_string() != name) continue;
      into = known;
      return {};
    }
    return "is none that is known";
  }
  static ApiShape shape() { return reference_to(api_enum<T>().info); }
};

/// Null where there is none.
template <typename T>
struct ApiCodec<std::optional<T>> {
  static json::value write(const std::optional<T>& value) { return value ? ApiCodec<T>::write(*value) : nullptr; }
  static std::string read(const json::value& json, std::optional<T>& into) {
    into.reset();
    return json.is_null() ? "" : ApiCodec<T>::read(json, into.emplace());
  }
  static ApiShape shape() { return nullable(ApiCodec<T>::shape()); }
};

template <typename T>
struct ApiCodec<std::vector<T>> {
  static json::value write(const std::vector<T>& values) {
    json::array list;
    list.reserve(values.size());
    for (const auto& value : values) list.push_back(ApiCodec<T>::write(value));
    return list;
  }
  static std::string read(const json::value& json, std::vector<T>& into) {
    if (!json.is_array()) return "must be a list";
    into.clear();
    into.reserve(json.get_array().size());
    for (const auto& item : json.get_array()) {
      if (const auto rule = ApiCodec<T>::read(item, into.emplace_back()); !rule.empty()) {
        return "has a bad entry: entry " + std::to_string(into.size()) + " " + rule;
      }
    }
    return {};
  }
  static ApiShape shape() {
    auto item = ApiCodec<T>::shape();
    item.schema = {{"type", "array"}, {"items", std::move(item.schema)}};
    return item;
  }
};

template <typename T>
struct ApiCodec<std::map<std::string, T>> {
  static json::value write(const std::map<std::string, T>& values) {
    json::object object;
    for (const auto& [name, value] : values) object[name] = ApiCodec<T>::write(value);
    return object;
  }
  static std::string read(const json::value& json, std::map<std::string, T>& into) {
    if (!json.is_object()) return "must be an object";
    into.clear();
    for (const auto& [name, item] : json.get_object()) {
      if (const auto rule = ApiCodec<T>::read(item, into[name]); !rule.empty()) {
        return "has a bad entry: '" + std::string(name) + "' " + rule;
      }
    }
    return {};
  }
  static ApiShape shape() {
    auto item = ApiCodec<T>::shape();
    item.schema = {{"type", "object"}, {"additionalProperties", std::move(item.schema)}};
    return item;
  }
};

/// A list of so many values, each of its own type.
template <typename... Ts>
struct ApiCodec<std::tuple<Ts...>> {
  static json::value write(const std::tuple<Ts...>& values) {
    return std::apply([](const Ts&... each) { return json::value(json::array{ApiCodec<Ts>::write(each)...}); }, values);
  }
  static std::string read(const json::value& json, std::tuple<Ts...>& into) {
    if (!json.is_array() || json.get_array().size() != sizeof...(Ts)) {
      return "must be a list of " + std::to_string(sizeof...(Ts));
    }
    std::string rule;
    std::size_t next = 0;
    const auto read_one = [&]<typename T>(T& value) {
      const auto& item = json.get_array()[next++];
      if (rule.empty()) rule = ApiCodec<T>::read(item, value);
    };
    std::apply([&](Ts&... each) { (read_one(each), ...); }, into);
    return rule;
  }
  static ApiShape shape() {
    ApiShape all;
    json::array items;
    const auto add = [&](ApiShape shape) {
      items.push_back(std::move(shape.schema));
      all.types.insert(all.types.end(), shape.types.begin(), shape.types.end());
    };
    (add(ApiCodec<Ts>::shape()), ...);
    all.schema = {{"type", "array"}, {"prefixItems", std::move(items)}, {"items", false}};
    return all;
  }
};

/// ISO 8601 in UTC.
template <>
struct ApiCodec<WallTime> {
  static json::value write(WallTime value) { return json::value(iso8601(value)); }
  static std::string read(const json::value& json, WallTime& into) {
    if (!json.is_string()) return "must be a string";
    const auto time = parse_iso8601(json.get_string());
    if (!time) return "is not a time";
    into = *time;
    return {};
  }
  static ApiShape shape() { return {.schema = {{"type", "string"}, {"format", "date-time"}}, .types = {}}; }
};

/// ISO 8601 in UTC, or no text where there is no such time.
struct TimeOrEmpty {
  static json::value write(const std::optional<WallTime>& value) {
    return value ? ApiCodec<WallTime>::write(*value) : json::value("");
  }
  static std::string read(const json::value& json, std::optional<WallTime>& into) {
    into.reset();
    if (json.is_string() && json.get_string().empty()) return {};
    return ApiCodec<WallTime>::read(json, into.emplace());
  }
  static ApiShape shape() { return ApiCodec<std::string>::shape(); }
};

/// Whole nanoseconds: of a time, since the Unix epoch. For times that programs compare.
struct AsNanos {
  static json::value write(WallTime time) { return time.time_since_epoch().count(); }
  static json::value write(Nanos length) { return length.count(); }
  template <typename T>
  static json::value write(const std::optional<T>& value) {
    return value ? write(*value) : json::value();
  }
  static std::string read(const json::value& json, WallTime& into) {
    Nanos since{};
    auto rule = read(json, since);
    into = WallTime(since);
    return rule;
  }
  static std::string read(const json::value& json, Nanos& into) {
    std::int64_t count = 0;
    auto rule = ApiCodec<std::int64_t>::read(json, count);
    into = Nanos(count);
    return rule;
  }
  template <typename T>
  static std::string read(const json::value& json, std::optional<T>& into) {
    return read(json, into.emplace());
  }
  static ApiShape shape() { return ApiCodec<std::int64_t>::shape(); }
};

template <typename T>
inline constexpr bool is_optional_member = false;
template <typename T>
inline constexpr bool is_optional_member<std::optional<T>> = true;

/// Whether a value can be left out: it is what a new object has, or nothing at all.
template <typename T>
bool is_as_new(const T& value, const T& fresh) {
  if constexpr (is_optional_member<T>) {
    return !value.has_value();
  } else if constexpr (!std::is_same_v<T, std::string> && requires { value.empty(); }) {
    return value.empty();  // no list has entries when it is new, and what is in them need not be comparable
  } else {
    return value == fresh;
  }
}

}  // namespace assay
