// JSON Schema (2020-12) of the file format, made from the settings table.
#include <fmt/format.h>

#include "config/schema.h"
#include "spec/mlperf_limits.h"
#include "spec/spec.h"
#include "spec/spec_setting.h"

namespace assay {
namespace {

json::object dataset_schema(const std::vector<std::string_view>& choices) {
  std::vector<std::string_view> plain;
  std::vector<std::string_view> prefixes;
  for (const std::string_view choice : choices) (choice.ends_with(':') ? prefixes : plain).push_back(choice);
  return {
      {"anyOf", json::array{choice_schema(plain), pattern_schema(fmt::format("^({}).+", fmt::join(prefixes, "|")))}}};
}

json::object free_map(const json::object& entry) { return {{"type", "object"}, {"additionalProperties", entry}}; }

json::object size_list_schema() {
  const json::object count = {{"type", "integer"}, {"minimum", 1}};
  const json::object size = {{"type", "object"},
                             {"properties", json::object{{"ranks", count}, {"nodes", count}}},
                             {"required", json::array{"ranks"}},
                             {"additionalProperties", false}};
  return {{"type", "array"}, {"minItems", 1}, {"items", json::object{{"anyOf", json::array{count, size}}}}};
}

json::object suite_schema() {
  return {{"anyOf", json::array{choice_schema({"quick", "standard"}),
                                json::object{{"type", "array"},
                                             {"items", json::object{{"type", json::array{"string", "object"}}}}}}}};
}

json::object entry_schema(SpecType map) {
  switch (map) {
    case SpecType::patterns: return {{"type", "string"}, {"format", "regex"}};
    case SpecType::expectations: return {{"type", json::array{"number", "string"}}};
    case SpecType::goals: return choice_schema({"higher", "lower"});
    case SpecType::latency_limits: return duration_schema();
    default: return any_scalar_schema();
  }
}

json::object latency_limits_schema() {
  const auto& sets = latency_limit_sets();
  return {{"anyOf",
           json::array{free_map(entry_schema(SpecType::latency_limits)), choice_schema({sets.begin(), sets.end()})}}};
}

json::object own_schema(const SpecSetting& setting, SpecKind kind) {
  switch (setting.own) {
    case SpecType::dataset: return dataset_schema(setting.rule.choices);
    case SpecType::tags:
    case SpecType::nodes:
    case SpecType::command: return one_or_list_schema(any_scalar_schema());
    case SpecType::suite: return suite_schema();
    case SpecType::latency_limits: return latency_limits_schema();
    case SpecType::matrix:
      return {{"type", "array"},
              {"minItems", 1},
              {"items", json::object{{"$ref", fmt::format("#/$defs/{}_variant", name_of(kind))}}}};
    case SpecType::sweep: return free_map({{"type", json::array{"array", "object"}}});
    case SpecType::scale: return size_list_schema();
    default: return is_free_map(setting) ? free_map(entry_schema(setting.own)) : any_scalar_schema();
  }
}

SettingRows rows_of(SpecKind kind) {
  SettingRows rows;
  for (const SpecSetting& setting : settings_table()) {
    if (setting.kinds.has(kind)) rows.push_back(&setting);
  }
  return rows;
}

/// The settings of a kind as properties: nested below their groups and, as in a matrix, by dotted keys.
json::object properties_of(SpecKind kind, bool of_variant) {
  const SettingRows all = rows_of(kind);
  SettingRows listed = all;
  if (of_variant) {
    std::erase_if(listed, [](const Setting* row) { return static_cast<const SpecSetting*>(row)->whole_study; });
  }
  const SchemaOf value = [&](const Setting& setting) {
    const auto& row = static_cast<const SpecSetting&>(setting);
    return row.own == SpecType::none ? value_schema(row) : own_schema(row, kind);
  };
  json::object properties = properties_schema(listed, [&](const Setting& setting) {
    return setting.type == SettingType::group ? group_schema(setting, all, value) : value(setting);
  });
  if (of_variant) {
    json::object name = any_scalar_schema();
    name["description"] = "Name of the variant.";
    properties["name"] = std::move(name);
  }
  return properties;
}

json::object dotted_names(SpecKind kind) {
  json::object patterns;
  for (const SpecSetting& setting : settings_table()) {
    if (setting.kinds.has(kind) && is_free_map(setting)) {
      patterns[fmt::format("^{}\\..+", setting.key)] = entry_schema(setting.own);
    }
  }
  return patterns;
}

json::object closed_object(SpecKind kind, bool of_variant) {
  return {{"type", "object"},
          {"properties", properties_of(kind, of_variant)},
          {"patternProperties", dotted_names(kind)},
          {"additionalProperties", false}};
}

json::array required_keys(SpecKind kind) {
  json::array keys;
  for (const SpecSetting& setting : settings_table()) {
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
  const SpecSetting& kind = *resolve_key(kEveryKind, "kind").setting;
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
