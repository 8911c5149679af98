#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "store/series_types.h"

namespace assay {

/// Reads a question as people write it: `gpu.util node=gpu03 last=1h`.
///
///   NAME                 the metric; without one, every metric
///   LABEL=VALUE          exactly; `LABEL=VAL*` by its beginning; `LABEL=*` whatever it is, but there
///   LABEL!=VALUE         anything else
///   last=1h              the time up to now; 1 h if nothing is said
///   from=… to=…          ISO 8601, UTC: `2026-11-15T08:00:00Z`; `to` is now if absent
///   width=1min           of a bucket; else as `points` wants it
///   points=500           buckets per series at most
///
/// Values with blanks stand in double quotes. Errors (kind usage) name the word, the rule and the remedy.
Result<SeriesQuery> parse_series_question(std::string_view text, WallTime now);

}  // namespace assay
