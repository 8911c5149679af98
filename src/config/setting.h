#pragma once

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace assay {

/// How a value is written and checked. The canonical form, in JSON, is given behind each.
enum class SettingType {
  group,     ///< a mapping of the settings below it; has no value of its own
  text,      ///< string
  path,      ///< string; in a file one that is not absolute counts from the file's folder
  choice,    ///< string, one of `choices`
  boolean,   ///< bool
  whole,     ///< integer
  number,    ///< double
  duration,  ///< seconds, double
  bytes,     ///< integer
  rate,      ///< per second, double
  price,     ///< {amount, currency, per}
  url,       ///< string
  variable,  ///< string: the name of an environment variable
  // Lists; a single value is a list of one.
  texts,    ///< [string]
  wholes,   ///< [integer]
  choices,  ///< [string], each one of `choices`
  // Whatever only one table has: who owns the table reads it.
  own,
};

/// Least and greatest value, both allowed unless said otherwise. Durations in seconds; text: its length in characters.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;  ///< `least` itself is not allowed
  bool below_most = false;   ///< `most` itself is not allowed
};

/// A setting that takes part only while another one has one of these values; a value that ends in ':' stands for every
/// value that starts with it.
struct Need {
  std::string_view key;
  std::vector<std::string_view> values;
};

/// What a value must keep to, beyond its type.
struct SettingRule {
  std::optional<Range> range;             ///< of numbers, quantities, texts and the items of lists
  std::vector<std::string_view> choices;  ///< of choice and choices
  std::string_view shorthand;             ///< of a group: `model: mlp` stands for `model: {name: mlp}`
  std::string_view family;                ///< settings of one family exclude each other; the latest one given wins
  std::optional<Need> needs;              ///< left out where this does not hold
  std::string_view items;                 ///< of texts: what they are ("addresses"); names unless given
  std::string_view otherwise;             ///< without a default: what happens if it is not given
  bool required = false;
  bool secret = false;  ///< may hold credentials: messages and listings do not repeat it as it is
};

/// One row of a table of settings. Files, variables, flags, JSON Schema and the reference are made from it. Needs
/// nothing but the standard library, so that the engine can be built with the rows about training.
struct Setting {
  std::string_view key;  ///< dotted: `lora.rank`
  SettingType type = SettingType::text;
  std::string_view default_value;  ///< as a user would write it; empty: see `rule.otherwise`
  std::string_view description;
  std::string_view example;  ///< of the value, as a user would write it
  SettingRule rule;
};

bool is_list(SettingType type);

/// Whether `key` stands below `group`: `lora.rank` below `lora`.
bool is_key_below(std::string_view key, std::string_view group);

}  // namespace assay
