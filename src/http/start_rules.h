#pragma once

#include <vector>

#include "access/authenticator.h"
#include "accounts/offers.h"
#include "model/study.h"

namespace assay {

class Leader;
struct QuotaRecord;

/// Whether somebody may have these runs started: what the catalog offers, within their quota. Whoever manages the
/// cluster may start anything. `denied` with what is offered or used. Reads what the caller's runs of the last days
/// used where their quota asks for it.
Result<void> check_may_start(Leader& leader, const Principal& caller, const std::vector<PlannedRun>& plan);

/// What a planned run is to the catalog.
WantedRun wanted_run(const PlannedRun& planned);

/// What the caller's runs use; GPU hours only where `with_hours`.
Result<Usage> usage_of(Leader& leader, const Principal& caller, bool with_hours);

/// The quota that holds for the caller.
QuotaRecord quota_for(Leader& leader, const Principal& caller);

}  // namespace assay
