#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/setting.h"
#include "spec/spec_kind.h"

namespace assay {

/// The values that only specifications have. The canonical form, in JSON, is given behind each.
enum class SpecType {
  none,      ///< one of SettingType
  run_name,  ///< string that no RUN reference on the command line can be mistaken for
  dataset,   ///< string: one of `choices`, or one that ends in ':' with a path behind it
  tags,      ///< [string]
  // Free maps: the user picks the names.
  parameters,      ///< {name: string | number | bool}, spelled back exactly as written
  variables,       ///< {name: string}: environment variables
  patterns,        ///< {metric: regular expression with one group}
  expectations,    ///< {metric: number}
  goals,           ///< {metric: "higher" | "lower"}
  latency_limits,  ///< {"ttft_p99": seconds}; until the model is known also the name of a set (mlperf_limits.h)
  // One of a kind.
  command,  ///< string (for `sh -c`) or [string] (arguments)
  nodes,    ///< "all" or [string]
  suite,    ///< "quick", "standard" or [file name | settings of an inline specification]
  // Studies, see study_reader.cpp.
  matrix,
  sweep,
  scale,
};

/// One row of the table of specifications. Like Setting it needs nothing but the standard library.
struct SpecSetting : Setting {
  Kinds kinds = kEveryKind;
  SpecType own = SpecType::none;  ///< where `type` is SettingType::own
  bool whole_study = false;       ///< cannot differ between the runs of a study
};

/// Every setting, in the order of the reference and of canonical settings. A setting follows what it `needs`.
std::span<const SpecSetting> settings_table();

bool is_free_map(const SpecSetting& setting);
/// Settings that describe several runs and are gone once expanded: matrix, sweep, scale, repeat, seeds, each_node.
bool describes_study(const SpecSetting& setting);

/// A key as users write it, taken apart: the row it belongs to and, in a free map, the name within it.
struct ResolvedKey {
  const SpecSetting* setting = nullptr;  ///< null if there is no such key
  std::string_view name;                 ///< `lr` of `params.lr`; empty if the whole setting is meant
};
ResolvedKey resolve_key(Kinds kinds, std::string_view key);

}  // namespace assay
