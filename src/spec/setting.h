#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "spec/spec.h"

namespace assay {

/// The kinds of specification a setting belongs to.
class Kinds {
 public:
  constexpr Kinds(SpecKind kind)
      : bits_(1U << static_cast<unsigned>(kind)) {}  // Implicit: `SpecKind::train` reads well.
  constexpr Kinds operator|(Kinds other) const { return Kinds(bits_ | other.bits_); }
  constexpr bool has(SpecKind kind) const { return (bits_ & Kinds(kind).bits_) != 0; }
  constexpr bool overlaps(Kinds other) const { return (bits_ & other.bits_) != 0; }
  bool operator==(const Kinds&) const = default;

 private:
  constexpr explicit Kinds(unsigned bits) : bits_(bits) {}
  unsigned bits_;
};

constexpr SpecKind kAllKinds[] = {SpecKind::train, SpecKind::serve, SpecKind::node, SpecKind::command, SpecKind::null};
constexpr Kinds kEveryKind =
    Kinds(SpecKind::train) | SpecKind::serve | SpecKind::node | SpecKind::command | SpecKind::null;
std::optional<SpecKind> spec_kind_from(std::string_view name);

/// How a value is written and checked. The canonical form, in JSON, is given behind each.
enum class SettingType {
  group,     ///< a mapping of the settings below it; has no value of its own
  text,      ///< string
  run_name,  ///< string that no RUN reference on the command line can be mistaken for
  choice,    ///< string, one of `choices`
  dataset,   ///< string: one of `choices`, or one that ends in ':' with a path behind it
  boolean,   ///< bool
  whole,     ///< integer
  number,    ///< double
  duration,  ///< seconds, double
  bytes,     ///< integer
  rate,      ///< per second, double
  price,     ///< {amount, currency, per}
  url,       ///< string
  variable,  ///< string: the name of an environment variable
  // Lists.
  texts,    ///< [string]
  wholes,   ///< [integer]
  choices,  ///< [string], each one of `choices`
  tags,     ///< [string]
  // Free maps: the user picks the names.
  parameters,      ///< {name: string | number | bool}, spelled back exactly as written
  variables,       ///< {name: string}: environment variables
  patterns,        ///< {metric: regular expression with one group}
  expectations,    ///< {metric: number}
  goals,           ///< {metric: "higher" | "lower"}
  latency_limits,  ///< {"ttft_p99": seconds}
  // One of a kind.
  command,  ///< string (for `sh -c`) or [string] (arguments)
  nodes,    ///< "all" or [string]
  suite,    ///< "quick", "standard" or [file name | settings of an inline specification]
  // Studies, see study_keys.h.
  matrix,
  sweep,
  scale,
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
  std::vector<std::string_view> choices;  ///< of choice, choices and dataset
  std::string_view shorthand;             ///< of a group: `model: mlp` stands for `model: {name: mlp}`
  std::string_view family;                ///< settings of one family exclude each other; the latest one given wins
  std::optional<Need> needs;              ///< left out of a run where this does not hold
  std::string_view otherwise;             ///< without a default: what happens if it is not given
  bool required = false;
  bool whole_study = false;  ///< cannot differ between the runs of a study
};

/// One row of the settings table. YAML, overrides, environment variables, JSON Schema and the reference are made from
/// it.
struct Setting {
  std::string_view key;  ///< dotted: `lora.rank`
  Kinds kinds;
  SettingType type;
  std::string_view default_value;  ///< as a user would write it; empty: see `rule.otherwise`
  std::string_view description;
  std::string_view example;  ///< of the value, as a user would write it
  SettingRule rule;
};

/// Every setting, in the order of the reference and of canonical settings. A setting follows what it `needs`.
std::span<const Setting> settings_table();

bool is_free_map(SettingType type);
/// Settings that describe several runs and are gone once expanded: matrix, sweep, scale, repeat, seeds, each_node.
bool describes_study(const Setting& setting);

/// A key as users write it, taken apart: the row it belongs to and, in a free map, the name within it.
struct ResolvedKey {
  const Setting* setting = nullptr;  ///< null if there is no such key
  std::string_view name;             ///< `lr` of `params.lr`; empty if the whole setting is meant
};
ResolvedKey resolve_key(Kinds kinds, std::string_view key);

/// The setting that a scalar given for this group stands for (`model` → `model.name`), or null.
const Setting* shorthand_setting(const Setting& group, Kinds kinds);
/// The settings below a group.
std::vector<const Setting*> settings_below(const Setting& group, Kinds kinds);

/// Puts a canonical value into nested settings; a group's value replaces the whole group, and a member of a family
/// drops the others.
void put_setting(json::object& settings, SpecKind kind, std::string_view key, const json::value& value);

}  // namespace assay
