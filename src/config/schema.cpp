#include "config/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace assay {
namespace {

constexpr std::string_view kDurationPattern = R"(^\s*([0-9.]+(e[+-]?[0-9]+)?\s*(ns|us|µs|μs|ms|s|min|h|d)\s*)+$)";
constexpr std::string_view kBytesPattern = R"(^\s*[0-9.]+(e[+-]?[0-9]+)?\s*(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)\s*$)";
constexpr std::string_view kRatePattern = R"(^\s*[0-9.]+(e[+-]?[0-9]+)?\s*(/s|/min|/h|Hz|kHz)\s*$)";
constexpr std::string_view kPricePattern = R"(^\s*[0-9.]+\s*[A-Z]{3}\s*/\s*(GPUh|h)\s*$)";

json::value limit(double number) {
  if (number == std::floor(number) && std::fabs(number) < 9.1e15) return static_cast<std::int64_t>(number);
  return number;
}

void add_range(json::object& schema, const std::optional<Range>& range) {
  if (!range) return;
  if (std::isfinite(range->least)) schema[range->above_least ? "exclusiveMinimum" : "minimum"] = limit(range->least);
  if (std::isfinite(range->most)) schema[range->below_most ? "exclusiveMaximum" : "maximum"] = limit(range->most);
}

json::object number_schema(const Setting& setting, std::string_view type) {
  json::object schema = {{"type", type}};
  add_range(schema, setting.rule.range);
  return schema;
}

}  // namespace

json::object any_scalar_schema() { return {{"type", json::array{"string", "number", "boolean", "null"}}}; }

json::object choice_schema(const std::vector<std::string_view>& choices) {
  json::array values;
  for (const std::string_view choice : choices) {
    values.push_back(json::value(choice));
    // An unquoted null is a null to editors and the word "null" to assay.
    if (choice == "null") values.push_back(nullptr);
  }
  return {{"enum", std::move(values)}};
}

json::object pattern_schema(std::string_view pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

json::object duration_schema() { return pattern_schema(kDurationPattern); }

json::object one_or_list_schema(const json::object& item) {
  return {{"anyOf", json::array{item, json::object{{"type", "array"}, {"items", item}}}}};
}

json::object value_schema(const Setting& setting) {
  switch (setting.type) {
    case SettingType::choice: return choice_schema(setting.rule.choices);
    case SettingType::boolean: return {{"type", "boolean"}};
    case SettingType::whole: return number_schema(setting, "integer");
    case SettingType::number: return number_schema(setting, "number");
    case SettingType::duration: return duration_schema();
    case SettingType::bytes: return pattern_schema(kBytesPattern);
    case SettingType::rate: return pattern_schema(kRatePattern);
    case SettingType::price: return pattern_schema(kPricePattern);
    case SettingType::url: return pattern_schema("^https?://");
    case SettingType::variable: return pattern_schema("^[A-Za-z_][A-Za-z0-9_]*$");
    case SettingType::wholes: return one_or_list_schema(number_schema(setting, "integer"));
    case SettingType::choices: return one_or_list_schema(choice_schema(setting.rule.choices));
    case SettingType::texts: return one_or_list_schema(any_scalar_schema());
    default: return any_scalar_schema();
  }
}

json::object group_schema(const Setting& group, const SettingRows& rows, const SchemaOf& schema_of) {
  json::object below;
  const Setting* shorthand = nullptr;
  for (const Setting* setting : rows) {
    if (!is_key_below(setting->key, group.key)) continue;
    const std::string_view name = setting->key.substr(group.key.size() + 1);
    json::object schema = schema_of(*setting);
    schema["description"] = setting->description;
    below[name] = std::move(schema);
    if (name == group.rule.shorthand) shorthand = setting;
  }
  json::object mapping = {{"type", "object"}, {"properties", std::move(below)}, {"additionalProperties", false}};
  if (!shorthand) return mapping;
  return {{"anyOf", json::array{schema_of(*shorthand), std::move(mapping)}}};
}

json::object properties_schema(const SettingRows& rows, const SchemaOf& schema_of) {
  json::object properties;
  for (const Setting* setting : rows) {
    json::object schema = schema_of(*setting);
    schema["description"] = setting->default_value.empty()
                                ? std::string(setting->description)
                                : fmt::format("{} Default: {}", setting->description, setting->default_value);
    schema["examples"] = json::array{json::value(setting->example)};
    properties[setting->key] = std::move(schema);
  }
  return properties;
}

json::object file_schema(std::string_view title, const SettingRows& rows) {
  const SchemaOf schema_of = [&](const Setting& setting) {
    return setting.type == SettingType::group ? group_schema(setting, rows, value_schema) : value_schema(setting);
  };
  json::array required;
  for (const Setting* setting : rows) {
    if (setting->rule.required) required.push_back(json::value(setting->key));
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", title},
          {"type", "object"},
          {"properties", properties_schema(rows, schema_of)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

}  // namespace assay
