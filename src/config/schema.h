#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "config/setting.h"

namespace assay {

// JSON Schema (2020-12) of settings, for editors.

using SettingRows = std::vector<const Setting*>;
using SchemaOf = std::function<json::object(const Setting&)>;

/// Of a value; not for groups and what its table reads itself.
json::object value_schema(const Setting& setting);
/// Of a mapping for this group, or of its shorthand; `schema_of` makes those of the settings below it.
json::object group_schema(const Setting& group, const SettingRows& rows, const SchemaOf& schema_of);
/// The rows by their dotted keys, each with description, default and example.
json::object properties_schema(const SettingRows& rows, const SchemaOf& schema_of);
/// A whole file that may hold these settings and no others.
json::object file_schema(std::string_view title, const SettingRows& rows);

// The parts.

/// YAML reads an unquoted `4` or `true` as a number or a boolean; where assay takes text, so must the schema.
json::object any_scalar_schema();
json::object choice_schema(const std::vector<std::string_view>& choices);
json::object pattern_schema(std::string_view pattern);
json::object duration_schema();
json::object one_or_list_schema(const json::object& item);

}  // namespace assay
