#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay {

struct ApiTypeInfo;

/// What a value is, in JSON Schema's words. Types with a name are referred to.
struct ApiShape {
  json::object schema;
  std::vector<const ApiTypeInfo*> types;  ///< that it refers to
};

struct ApiFieldInfo {
  std::string name;
  std::string meaning;  ///< with its unit, where it has one
  ApiShape shape;
  bool always = true;  ///< false: it may be left out
};

/// What a type of the API looks like: an object with fields, or one of several words.
struct ApiTypeInfo {
  std::string name;
  std::string meaning;
  std::vector<ApiFieldInfo> fields;
  std::vector<std::string> words;  ///< not empty: it is one of these, and has no fields
  bool open = false;               ///< as a body it may have further keys

  void add(const char* field, const char* its_meaning, ApiShape shape, bool always);
};

/// `{"$ref": "#/components/schemas/NAME"}`.
ApiShape reference_to(const ApiTypeInfo& type);
/// Of `anyOf` the shape and null.
ApiShape nullable(ApiShape shape);
json::object schema_of(const ApiTypeInfo& type);
/// This type and all that it refers to, each once, in the order of their names.
std::vector<const ApiTypeInfo*> with_referred(const std::vector<const ApiTypeInfo*>& types);

inline constexpr std::string_view kSchemaReference = "#/components/schemas/";

}  // namespace assay
