#pragma once

#include "base/json.h"
#include "loadgen/query_recorder.h"
#include "serving/serve_settings.h"

namespace assay {

/// How good the answers of `mode: accuracy` are, by metrics of docs/reference/metrics.md: ROUGE against the references
/// of the requests that have one, and the share of the answers that are of the format asked for. An answer that did not
/// come has nothing in common with its reference. Empty where neither references nor a format are given. Pure; the
/// recorder is closed and has kept texts.
json::object answer_quality(const ServeSettings& settings, const ServeRequests& requests,
                            const QueryRecorder& recorder);

}  // namespace assay
