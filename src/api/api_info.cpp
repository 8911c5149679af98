#include "api/api_info.h"

#include <functional>
#include <map>

namespace assay {

void ApiTypeInfo::add(const char* field, const char* its_meaning, ApiShape shape, bool always) {
  fields.push_back({field, its_meaning, std::move(shape), always});
}

ApiShape reference_to(const ApiTypeInfo& type) {
  return {.schema = {{"$ref", std::string(kSchemaReference) + type.name}}, .types = {&type}};
}

ApiShape nullable(ApiShape shape) {
  shape.schema = {{"anyOf", json::array{std::move(shape.schema), json::object{{"type", "null"}}}}};
  return shape;
}

json::object schema_of(const ApiTypeInfo& type) {
  if (!type.words.empty()) {
    return {{"type", "string"}, {"description", type.meaning}, {"enum", json::value_from(type.words)}};
  }
  json::object properties;
  json::array required;
  for (const auto& field : type.fields) {
    json::object property = field.shape.schema;
    property["description"] = field.meaning;
    properties[field.name] = std::move(property);
    if (field.always) required.emplace_back(field.name);
  }
  json::object schema{{"type", "object"}, {"description", type.meaning}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

std::vector<const ApiTypeInfo*> with_referred(const std::vector<const ApiTypeInfo*>& types) {
  std::map<std::string, const ApiTypeInfo*> found;
  const std::function<void(const ApiTypeInfo*)> visit = [&](const ApiTypeInfo* type) {
    if (!found.emplace(type->name, type).second) return;
    for (const auto& field : type->fields) {
      for (const auto* referred : field.shape.types) visit(referred);
    }
  };
  for (const auto* type : types) visit(type);
  std::vector<const ApiTypeInfo*> all;
  all.reserve(found.size());
  for (const auto& [name, type] : found) all.push_back(type);
  return all;
}

}  // namespace assay
