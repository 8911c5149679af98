#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "api/api_type.h"

namespace assay {

/// Holds JSON against JSON Schema, as far as the API's descriptions use it. Stricter than a client may be: a key that
/// nobody described is a mistake, since then the description is not the whole truth.
class SchemaCheck {
 public:
  /// `components`: where `#/components/schemas/…` points to.
  explicit SchemaCheck(json::object components) : components_(std::move(components)) {}
  /// With the schemas of a type and all that it refers to.
  explicit SchemaCheck(const ApiTypeInfo& type) {
    for (const auto* known : with_referred({&type})) components_[known->name] = schema_of(*known);
  }

  /// What is wrong; nothing where the value fits.
  std::vector<std::string> problems(const json::value& value, const json::object& schema) const {
    std::vector<std::string> found;
    check(value, schema, "$", found);
    return found;
  }

 private:
  static bool has_type(const json::value& value, std::string_view type) {
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "integer") return value.is_int64() || value.is_uint64();
    if (type == "number") return value.is_number();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    return type == "null" && value.is_null();
  }
  static bool has_any_type(const json::value& value, const json::value& types) {
    if (types.is_string()) return has_type(value, types.get_string());
    for (const auto& type : types.as_array()) {
      if (has_type(value, type.as_string())) return true;
    }
    return false;
  }

  void check(const json::value& value, const json::object& schema, const std::string& at,
             std::vector<std::string>& found) const {
    if (const auto* reference = schema.if_contains("$ref")) {
      std::string_view name = reference->as_string();
      name.remove_prefix(kSchemaReference.size());
      const auto* target = components_.if_contains(name);
      if (!target) return found.push_back(fmt::format("{}: no schema '{}'", at, name));
      return check(value, target->as_object(), at, found);
    }
    if (const auto* choices = schema.if_contains("anyOf")) {
      std::vector<std::string> reasons;
      for (const auto& choice : choices->as_array()) {
        std::vector<std::string> wrong;
        check(value, choice.as_object(), at, wrong);
        if (wrong.empty()) return;
        reasons.insert(reasons.end(), wrong.begin(), wrong.end());
      }
      found.insert(found.end(), reasons.begin(), reasons.end());
      return;
    }
    if (const auto* types = schema.if_contains("type"); types && !has_any_type(value, *types)) {
      found.push_back(fmt::format("{}: {} is no {}", at, json::serialize(value), json::serialize(*types)));
      return;
    }
    if (const auto* words = schema.if_contains("enum")) {
      for (const auto& word : words->as_array()) {
        if (word == value) return;
      }
      found.push_back(fmt::format("{}: {} is none of the words", at, json::serialize(value)));
    }
    if (schema.if_contains("format") && !parse_iso8601(value.as_string())) {
      found.push_back(fmt::format("{}: {} is no time", at, json::serialize(value)));
    }
    if (value.is_array()) check_items(value.get_array(), schema, at, found);
    if (value.is_object()) check_members(value.get_object(), schema, at, found);
  }

  void check_items(const json::array& items, const json::object& schema, const std::string& at,
                   std::vector<std::string>& found) const {
    const auto* first = schema.if_contains("prefixItems");
    if (first && first->as_array().size() != items.size()) found.push_back(at + ": another length");
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto* item = first && i < first->as_array().size() ? &first->as_array()[i] : schema.if_contains("items");
      if (item && item->is_object()) check(items[i], item->as_object(), fmt::format("{}[{}]", at, i), found);
    }
  }

  void check_members(const json::object& object, const json::object& schema, const std::string& at,
                     std::vector<std::string>& found) const {
    const auto* properties = schema.if_contains("properties");
    const auto* others = schema.if_contains("additionalProperties");
    for (const auto& [key, value] : object) {
      const std::string place = fmt::format("{}.{}", at, std::string_view(key));
      if (const auto* property = properties ? properties->as_object().if_contains(key) : nullptr) {
        check(value, property->as_object(), place, found);
      } else if (others && others->is_object()) {
        check(value, others->as_object(), place, found);
      } else if (properties) {  // an object of which nothing is said may have anything in it
        found.push_back(place + " is not described");
      }
    }
    if (const auto* required = schema.if_contains("required")) {
      for (const auto& name : required->as_array()) {
        if (!object.contains(name.as_string()))
          found.push_back(fmt::format("{}.{} is missing", at, name.as_string().c_str()));
      }
    }
  }

  json::object components_;
};

/// What is wrong with a value of a described type.
template <typename T>
std::vector<std::string> schema_problems(const json::value& value) {
  const auto& info = api_type<T>().info();
  return SchemaCheck(info).problems(value, schema_of(info));
}

}  // namespace assay
