#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "config/diagnostic.h"
#include "watch/watch_rules.h"

namespace assay {

/// The rules of a text, or every mistake in it; never both.
struct RulesReading {
  std::optional<WatchRules> rules;
  std::vector<Diagnostic> diagnostics;
};

/// Reads YAML such as `overheating: {above: 87, clear: 82, for: 60s, severity: critical}`. What is not mentioned keeps
/// its standard; an empty text is fine. `file` is for messages.
RulesReading read_rules(std::string_view text, std::string_view file);
/// The same from a file; all mistakes in one error of kind `bad_spec`.
Result<WatchRules> load_rules(const fs::path& path);

}  // namespace assay
