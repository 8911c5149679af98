#pragma once

#include <string_view>
#include <vector>

namespace assay::engine {

/// `assay-engine probe`: measures this machine's ceilings and prints them. Returns the exit code.
int probe_command(const std::vector<std::string_view>& arguments);

}  // namespace assay::engine
