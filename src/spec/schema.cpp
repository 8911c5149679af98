// JSON Schema (2020-12) of the file format, made from the settings table.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "spec/setting.h"
#include "spec/spec.h"

namespace assay {
namespace {

constexpr std::string_view kDurationPattern = R"(^\s*([0-9.]+(e[+-]?[0-9]+)?\s*(ns|us|µs|μs|ms|s|min|h|d)\s*)+$)";
constexpr std::string_view kBytesPattern = R"(^\s*[0-9.]+(e[+-]?[0-9]+)?\s*(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)\s*$)";
constexpr std::string_view kRatePattern = R"(^\s*[0-9.]+(e[+-]?[0-9]+)?\s*(/s|/min|/h|Hz|kHz)\s*$)";
constexpr std::string_view kPricePattern = R"(^\s*[0-9.]+\s*[A-Z]{3}\s*/\s*(GPUh|h)\s*$)";

// YAML reads an unquoted `4` or `true` as a number or a boolean; where assay takes text, so must the schema.
const json::array kAnyScalar = {"string", "number", "boolean", "null"};

json::object with_pattern(std::string_view pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

json::value limit(double number) {
  if (number == std::floor(number) && std::fabs(number) < 9.1e15) return static_cast<std::int64_t>(number);
  return number;
}

void add_range(json::object& schema, const std::optional<Range>& range) {
  if (!range) return;
  if (std::isfinite(range->least)) schema[range->above_least ? "exclusiveMinimum" : "minimum"] = limit(range->least);
  if (std::isfinite(range->most)) schema[range->below_most ? "exclusiveMaximum" : "maximum"] = limit(range->most);
}

json::object choice_schema(const std::vector<std::string_view>& choices) {
  json::array values;
  for (const std::string_view choice : choices) {
    values.push_back(json::value(choice));
    // An unquoted null is a null to editors and the word "null" to assay.
    if (choice == "null") values.push_back(nullptr);
  }
  return {{"enum", std::move(values)}};
}

json::object dataset_schema(const std::vector<std::string_view>& choices) {
  std::vector<std::string_view> plain;
  std::vector<std::string_view> prefixes;
  for (const std::string_view choice : choices) (choice.ends_with(':') ? prefixes : plain).push_back(choice);
  return {{"anyOf", json::array{choice_schema(plain), with_pattern(fmt::format("^({}).+", fmt::join(prefixes, "|")))}}};
}

json::object one_or_list(const json::object& item) {
  return {{"anyOf", json::array{item, json::object{{"type", "array"}, {"items", item}}}}};
}

json::object free_map(const json::object& entry) { return {{"type", "object"}, {"additionalProperties", entry}}; }

json::object number_schema(const Setting& setting, std::string_view type) {
  json::object schema = {{"type", type}};
  add_range(schema, setting.rule.range);
  return schema;
}

json::object size_list_schema() {
  const json::object count = {{"type", "integer"}, {"minimum", 1}};
  const json::object size = {{"type", "object"},
                             {"properties", json::object{{"ranks", count}, {"nodes", count}}},
                             {"required", json::array{"ranks"}},
                             {"additionalProperties", false}};
  return {{"type", "array"}, {"minItems", 1}, {"items", json::object{{"anyOf", json::array{count, size}}}}};
}

json::object entry_schema(SettingType map) {
  switch (map) {
    case SettingType::patterns: return {{"type", "string"}, {"format", "regex"}};
    case SettingType::expectations: return {{"type", json::array{"number", "string"}}};
    case SettingType::goals: return choice_schema({"higher", "lower"});
    case SettingType::latency_limits: return with_pattern(kDurationPattern);
    default: return {{"type", kAnyScalar}};
  }
}

json::object value_schema(const Setting& setting, SpecKind kind);

/// The settings of a kind as properties: nested below their groups and, as in a matrix, by dotted keys.
json::object properties_of(SpecKind kind, bool of_variant) {
  json::object properties;
  for (const Setting& setting : settings_table()) {
    if (!setting.kinds.has(kind) || (of_variant && setting.rule.whole_study)) continue;
    json::object schema = value_schema(setting, kind);
    schema["description"] = setting.description;
    if (!setting.default_value.empty())
      schema["description"] = fmt::format("{} Default: {}", setting.description, setting.default_value);
    schema["examples"] = json::array{json::value(setting.example)};
    properties[setting.key] = std::move(schema);
  }
  if (of_variant) properties["name"] = {{"type", kAnyScalar}, {"description", "Name of the variant."}};
  return properties;
}

json::object dotted_names(SpecKind kind) {
  json::object patterns;
  for (const Setting& setting : settings_table()) {
    if (setting.kinds.has(kind) && is_free_map(setting.type)) {
      patterns[fmt::format("^{}\\..+", setting.key)] = entry_schema(setting.type);
    }
  }
  return patterns;
}

json::object group_schema(const Setting& group, SpecKind kind) {
  json::object below;
  for (const Setting* setting : settings_below(group, kind)) {
    json::object schema = value_schema(*setting, kind);
    schema["description"] = setting->description;
    below[setting->key.substr(group.key.size() + 1)] = std::move(schema);
  }
  json::object mapping = {{"type", "object"}, {"properties", std::move(below)}, {"additionalProperties", false}};
  const Setting* shorthand = shorthand_setting(group, kind);
  if (!shorthand) return mapping;
  return {{"anyOf", json::array{value_schema(*shorthand, kind), std::move(mapping)}}};
}

json::object value_schema(const Setting& setting, SpecKind kind) {
  switch (setting.type) {
    case SettingType::group: return group_schema(setting, kind);
    case SettingType::choice: return choice_schema(setting.rule.choices);
    case SettingType::dataset: return dataset_schema(setting.rule.choices);
    case SettingType::boolean: return {{"type", "boolean"}};
    case SettingType::whole: return number_schema(setting, "integer");
    case SettingType::number: return number_schema(setting, "number");
    case SettingType::duration: return with_pattern(kDurationPattern);
    case SettingType::bytes: return with_pattern(kBytesPattern);
    case SettingType::rate: return with_pattern(kRatePattern);
    case SettingType::price: return with_pattern(kPricePattern);
    case SettingType::url: return with_pattern("^https?://");
    case SettingType::variable: return with_pattern("^[A-Za-z_][A-Za-z0-9_]*$");
    case SettingType::wholes: return one_or_list(number_schema(setting, "integer"));
    case SettingType::choices: return one_or_list(choice_schema(setting.rule.choices));
    case SettingType::texts:
    case SettingType::tags:
    case SettingType::nodes: return one_or_list({{"type", kAnyScalar}});
    case SettingType::command: return one_or_list({{"type", kAnyScalar}});
    case SettingType::suite:
      return {{"anyOf", json::array{choice_schema({"quick", "standard"}),
                                    json::object{{"type", "array"},
                                                 {"items", json::object{{"type", json::array{"string", "object"}}}}}}}};
    case SettingType::matrix:
      return {{"type", "array"},
              {"minItems", 1},
              {"items", json::object{{"$ref", fmt::format("#/$defs/{}_variant", name_of(kind))}}}};
    case SettingType::sweep: return free_map({{"type", json::array{"array", "object"}}});
    case SettingType::scale: return size_list_schema();
    default:
      return is_free_map(setting.type) ? free_map(entry_schema(setting.type)) : json::object{{"type", kAnyScalar}};
  }
}

json::object closed_object(SpecKind kind, bool of_variant) {
  return {{"type", "object"},
          {"properties", properties_of(kind, of_variant)},
          {"patternProperties", dotted_names(kind)},
          {"additionalProperties", false}};
}

json::array required_keys(SpecKind kind) {
  json::array keys;
  for (const Setting& setting : settings_table()) {
    if (setting.kinds.has(kind) && setting.rule.required) keys.push_back(json::value(setting.key));
  }
  return keys;
}

}  // namespace

json::object spec_schema() {
  json::object definitions;
  json::array conditions;
  for (const SpecKind kind : kAllKinds) {
    const std::string name(name_of(kind));
    definitions[name] = closed_object(kind, false);
    definitions[name].as_object()["required"] = required_keys(kind);
    definitions[name + "_variant"] = closed_object(kind, true);
    const json::object is_kind = {{"properties", json::object{{"kind", choice_schema({name_of(kind)})}}},
                                  {"required", json::array{"kind"}}};
    conditions.push_back(
        json::object{{"if", is_kind}, {"then", json::object{{"$ref", fmt::format("#/$defs/{}", name)}}}});
  }
  const Setting& kind = *resolve_key(kEveryKind, "kind").setting;
  json::object kind_schema = choice_schema(kind.rule.choices);
  kind_schema["description"] = kind.description;
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "assay benchmark specification"},
          {"type", "object"},
          {"properties", json::object{{"kind", std::move(kind_schema)}}},
          {"required", json::array{"kind"}},
          {"allOf", std::move(conditions)},
          {"$defs", std::move(definitions)}};
}

}  // namespace assay
