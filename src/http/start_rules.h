#pragma once

#include <vector>

#include "access/authenticator.h"
#include "accounts/offers.h"
#include "model/study.h"

namespace assay {

class Leader;
struct QuotaRecord;
struct Run;

/// Whether somebody may have these runs started: what the catalog offers, within their quota. Whoever manages the
/// cluster may start anything. `denied` with what is offered or used. Reads what the caller's runs of the last days
/// used where their quota asks for it.
Result<void> check_may_start(Leader& leader, const Principal& caller, const std::vector<PlannedRun>& plan);

/// Whether somebody may delete a run, or a study with what is known of whose its runs are: not while their quota counts
/// the GPU hours of it, which nobody could add up any more. `denied` with what to do.
Result<void> check_may_forget(Leader& leader, const Principal& caller, const Run& run);
Result<void> check_may_forget(Leader& leader, const Principal& caller, const Study& study);

/// What a planned run is to the catalog.
WantedRun wanted_run(const PlannedRun& planned);

/// What the caller's runs use; GPU hours only where `with_hours`.
Result<Usage> usage_of(Leader& leader, const Principal& caller, bool with_hours);

/// The quota that holds for the caller.
QuotaRecord quota_for(Leader& leader, const Principal& caller);

}  // namespace assay
