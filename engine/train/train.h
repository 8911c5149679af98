#pragma once

#include <string_view>
#include <vector>

namespace assay::engine {

/// `assay-engine train`: reads the specification, takes its place among the ranks (or starts them), trains. Errors
/// become an `error` event and an exit code.
int train_command(const std::vector<std::string_view>& arguments);

}  // namespace assay::engine
