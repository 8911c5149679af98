#pragma once

#include <vector>

#include "base/result.h"
#include "store/run_query.h"

namespace assay {

/// What a query shows of these rows.
Result<RunPage> filter_rows(std::vector<RunRow> rows, const RunQuery& query);

}  // namespace assay
