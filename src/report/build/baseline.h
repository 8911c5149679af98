#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/build/recorded.h"

namespace assay {

// What configurations are held against: the one that was asked for; else one that bears the tag `baseline` or is called
// so; else the first that the user wrote.

/// Whether a name on the command line means this configuration: its name, its size (`4 GPUs (1 node)`, `ranks=4`), or
/// the id of one of its runs, or the beginning of one.
bool is_called(const Arm& arm, std::string_view name);

/// An index into `arms`, which must not be empty. `asked` may be empty.
std::size_t choose_baseline(std::span<const Arm* const> arms, std::string_view asked);

/// An error where a baseline was asked for and no configuration is called so: it names those that there are.
Result<void> check_baseline(std::span<const Arm> arms, std::string_view asked);

}  // namespace assay
