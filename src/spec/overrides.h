#pragma once

#include <deque>
#include <string>
#include <vector>

#include "config/yaml_tree.h"
#include "spec/spec.h"

namespace assay {

/// Turns overrides into settings to read, in the order in which they win: the environment, then --set. `names` keeps
/// what the places point at (`--set lora.rank=x`). `file` tells which parameters exist, since the names of environment
/// variables do not keep upper and lower case.
std::vector<YamlEntry> read_overrides(const SpecOverrides& overrides, const YamlNode& file,
                                      std::deque<std::string>& names, Problems& problems);

/// `lora.rank` → `ASSAY_SET_LORA_RANK`.
std::string variable_of(std::string_view key);

}  // namespace assay
