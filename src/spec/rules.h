#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "spec/spec.h"

namespace assay {

/// A rule between settings that a configuration breaks.
struct BrokenRule {
  std::string rule;               ///< stable name, the same for every configuration that breaks it
  std::vector<std::string> keys;  ///< the settings it is about, the one to blame first
  std::string message;
};

/// Checks complete settings of one configuration against the rules that no single setting can break.
std::vector<BrokenRule> broken_rules(SpecKind kind, const json::object& settings);

}  // namespace assay
