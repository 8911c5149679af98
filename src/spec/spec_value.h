#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/value.h"
#include "spec/spec_setting.h"

namespace assay {

/// Reads the value of a setting of a specification; see `read_value`. Not for groups, free maps, suites and the
/// study's settings, which have readers of their own.
SettingValue read_spec_value(const SpecSetting& setting, std::string_view key, const YamlNode& node,
                             Problems& problems);

/// Reads one entry of a free map: its canonical name (`gpu_memory` is short for `gpu_memory_peak_bytes`) and value.
/// Without a kind (when that is itself wrong) names of metrics are not checked.
std::optional<std::pair<std::string, json::value>> read_entry(const SpecSetting& map, const YamlEntry& entry,
                                                              std::optional<SpecKind> kind, Problems& problems);

/// What a value of this setting looks like: "a list of words".
std::string spec_type_words(const SpecSetting& setting);

/// Adds the one problem of a value of the wrong shape; where runs may differ in it, a list is sent to `sweep`.
void add_spec_shape_problem(const SpecSetting& setting, std::string_view key, std::string_view words,
                            const YamlNode& node, Problems& problems);

}  // namespace assay
