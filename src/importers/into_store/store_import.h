#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "importers/imported_study.h"

namespace assay {

class RunStore;

/// Stores the runs with their points, then the study, and gives all of them their ids. If something fails, what was
/// stored until then is removed again. Blocks on the store.
Result<void> store_import(RunStore& store, ImportedStudy& imported);

/// The newest study that was imported from the same files, with those of its runs that are still there (without their
/// points). Nothing if there is none, or none of its runs is left.
Result<std::optional<ImportedStudy>> find_import(RunStore& store, const std::string& spec_hash);

}  // namespace assay
