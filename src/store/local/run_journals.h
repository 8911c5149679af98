#pragma once

#include "base/result.h"
#include "store/local/run_folder.h"
#include "store/store.h"

namespace assay {

/// Shows everything recorded for a run after `from`: the main journal, then those of further ranks in the order of
/// their names. Series of the journal "rank-3" get the label rank=3. Needs no readable run.json.
Result<JournalPosition> read_run_journals(const RunFolder& folder, JournalVisitor& visitor, JournalPosition from);

/// The journal of one further rank.
fs::path rank_journal(const RunFolder& folder, std::string_view name);

/// What the journals still hold of a run whose writer is gone: closes it as `interrupted`, with the time of the last
/// write, duration, summaries of all series and the last finite value of each metric of the workload. Stores nothing.
Run salvage(const RunFolder& folder, Run run);

}  // namespace assay
