#pragma once

#include "report/build/recorded.h"

namespace assay {

struct Document;

/// Everything that can be said about these runs: summary, results, issues, recommendations, method. Pure.
Document report_on(const ReportInput& input);

}  // namespace assay
