#pragma once

#include <string>

#include "config/config_table.h"

namespace assay {

/// A table of the settings for a reference page: key, flag and variable, type, default, meaning.
std::string config_reference(const ConfigRows& table);

/// A file with every setting commented out: `#key: value` shows the default or an example, `# words` are words.
std::string config_example(const ConfigRows& table);

}  // namespace assay
