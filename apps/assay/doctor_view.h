#pragma once

#include <vector>

#include "base/json.h"
#include "context.h"

namespace assay {

/// What a doctor found, as the JSON of `assay doctor` has it, for the terminal: a table, then the remedies.
void print_findings(const Context& context, const json::array& findings);

}  // namespace assay
