#pragma once

#include <string>
#include <string_view>

namespace assay {

/// How people are told which run of a study is meant: "bigger batch #2", counted from 1. Always with its number, since
/// the name alone is that of all repeats. Empty for a run that is no variant of anything.
std::string run_label(std::string_view variant, int repeat);

}  // namespace assay
