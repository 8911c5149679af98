#pragma once

#include <optional>

#include "base/json.h"
#include "config/yaml_tree.h"

namespace assay {

/// Reads a specification that stands inside another one (in a node's suite): complete canonical settings of one run.
/// Adds a problem for each mistake and gives nothing if there is any.
std::optional<json::value> read_inline_specification(const YamlNode& node, Problems& problems);

}  // namespace assay
