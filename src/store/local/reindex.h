#pragma once

#include <string_view>

#include "store/local/run_catalogue.h"
#include "store/local/study_folder.h"
#include "store/run_answers.h"
#include "store/run_store.h"

namespace assay {

/// A run that is being made is in such a folder below runs/, one that is being deleted in such a folder beside it.
constexpr std::string_view kStagingPrefix = ".new-";
constexpr std::string_view kTrashPrefix = "trash-";
/// Removes what runs that were half made or half deleted have left, and lists those that a process was killed before it
/// could list. Reads no folder but those.
Result<void> tidy_data_folder(RunCatalogue& runs);

/// Reads every folder, closes runs whose owner is gone, brings the index up to date and removes what runs that were
/// half made or half deleted left behind.
Result<ReindexReport> reindex_data_folder(RunCatalogue& runs, const StudyFolder& studies);

}  // namespace assay
