#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/series_types.h"

namespace assay {

/// {"from_ms", "to_ms", "width_ms", "tier", "series": [{"name", "labels", "unit", "buckets": [[start_ms, minimum,
/// maximum, mean, count], …]}], "problems"}
std::string answer_json(const SeriesAnswer& answer);
/// Reads what `answer_json` writes; `bad_file` for all else.
Result<SeriesAnswer> parse_answer_json(std::string_view text);

}  // namespace assay
