#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "spec/setting.h"
#include "spec/yaml_tree.h"

namespace assay {

/// Reads the value of a setting into its canonical form. If it breaks the setting's rule, adds one problem for each
/// mistake in it and gives nothing. `key` is how the user wrote the key. Not for groups, free maps, suites and the
/// study's settings, which have readers of their own.
std::optional<json::value> read_value(const Setting& setting, std::string_view key, const YamlNode& node,
                                      Problems& problems);

/// Reads one entry of a free map: its canonical name (`gpu_memory` is short for `gpu_memory_peak_bytes`) and value.
/// Without a kind (when that is itself wrong) names of metrics are not checked.
std::optional<std::pair<std::string, json::value>> read_entry(const Setting& map, const YamlEntry& entry,
                                                              std::optional<SpecKind> kind, Problems& problems);

/// A value as one short line, for the names of variants: numbers in their shortest form, all else as written.
std::string label_of(const YamlNode& node);

/// `'batch_size: 0'`, for messages; long values are cut.
std::string shown(std::string_view key, const YamlNode& node);

/// What a value of this type looks like: "a whole number".
std::string type_words(const Setting& setting);

/// " Did you mean 'rank'?", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// Adds the one problem of a value that is empty, a list or a mapping where `words` is needed.
void add_shape_problem(const Setting& setting, std::string_view key, std::string_view words, const YamlNode& node,
                       Problems& problems);

}  // namespace assay
