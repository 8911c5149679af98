#pragma once

#include "access/authenticator.h"
#include "api/run_types.h"
#include "leader/run_desk.h"

namespace assay {

/// What an order asks of the desk: its specification read, expanded over the nodes of the cluster where it wants all of
/// them or each. `bad_spec` with every mistake, `denied` for a priority or a deadline that is not the caller's to give,
/// `unsupported` where no node takes runs.
Result<RunRequest> request_in(RunOrder order, const Principal& caller, const RunDesk& desk);

/// Whether the caller may give a run that priority: to stand back is anybody's, to come first an administrator's.
Result<void> check_priority(const Principal& caller, int priority);

}  // namespace assay
