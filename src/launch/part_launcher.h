#pragma once

#include <memory>

#include "launch/launcher.h"
#include "launch/rank_variables.h"

namespace assay {

/// Starts one node's part of a job over several: its `ranks.per_node` processes, through the launcher of that node,
/// each told its place among all of them. Together they are one job: output of all, line by line and with the rank
/// before each line where that is not 0; events of the first of them; it ends when all have ended, as the first that
/// failed; once one has failed the others are stopped after the job's grace. `local` must outlive it.
std::unique_ptr<Launcher> make_part_launcher(Launcher& local, PartOfJob part, Rendezvous rendezvous);

}  // namespace assay
