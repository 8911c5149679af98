#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "config/setting.h"
#include "config/yaml_tree.h"

namespace assay {

/// A value in its canonical form, or nothing: then a problem was added for each mistake in it.
using SettingValue = std::optional<json::value>;

/// Reads the value of a setting. `key` is how the user wrote the key. Not for groups and what its table reads itself.
SettingValue read_value(const Setting& setting, std::string_view key, const YamlNode& node, Problems& problems);

// The parts of it, for values that only one table has.

/// What is wrong with a text beyond its length ("must be one line"), or nothing.
using TextRule = std::function<std::optional<std::string>(const YamlNode&)>;
SettingValue read_text(const Setting& setting, std::string_view key, const YamlNode& node, Problems& problems,
                       const TextRule& broken_rule = {});

/// Reads a list, or a single value as a list of one; each item by `read_item`.
struct ListReading {
  std::string words = {};  ///< what the whole must be; that of the setting's type unless given
  std::string_view item_words = "plain text";
  bool empty_items = false;  ///< an item may be an empty text
  bool may_be_empty = false;
};
SettingValue read_list(const Setting& setting, std::string_view key, const YamlNode& node, Problems& problems,
                       const std::function<SettingValue(const YamlNode&)>& read_item, const ListReading& how = {});

/// Adds `'key: value' must be …` and gives nothing.
SettingValue refuse_value(const Setting& setting, std::string_view key, const YamlNode& node, std::string_view rule,
                          Problems& problems);

// Words for messages.

/// A value as one short line, for the names of variants: numbers in their shortest form, all else as written.
std::string label_of(const YamlNode& node);

/// At most 60 characters of it, in one line.
std::string cut(std::string_view text);

/// `'batch_size: 0'`; long values are cut.
std::string shown(std::string_view key, const YamlNode& node);

/// What a value of this type looks like: "a whole number".
std::string type_words(const Setting& setting);

/// " Did you mean 'rank'?", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// Adds the one problem of a value that is empty, a list or a mapping where `words` is needed.
void add_shape_problem(const Setting& setting, std::string_view key, std::string_view words, const YamlNode& node,
                       Problems& problems);

}  // namespace assay
