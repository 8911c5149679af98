#pragma once

#include <string>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// Moves the folder of a run that came from a node into a data folder, and lists the run there. Doing it again, after a
/// leader was killed half-way, changes nothing and succeeds; so it does with a second copy of the same run, which stays
/// where it is. `usage`: the data folder has another run of that id.
Result<void> take_over_run(const fs::path& data, const std::string& run, const fs::path& copy);

}  // namespace assay
