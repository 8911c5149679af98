#pragma once

#include <string>
#include <vector>

#include "config/diagnostic.h"
#include "context.h"

namespace assay {

/// The answer to mistakes in what the user wrote. They are printed, each on its line, or, with --json, part of the
/// error; the error then says how many there were. The kind is `bad_spec`, or `usage` where all are in flags.
Error mistakes_error(const Context& context, const std::vector<Diagnostic>& mistakes, std::string hint);

}  // namespace assay
