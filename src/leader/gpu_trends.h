#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "store/series_store.h"
#include "watch/trend.h"

namespace assay {

/// The long-term trend of each GPU of a node, by UUID, from the hours that the store has.
Result<std::map<std::string, GpuTrend>> gpu_trends(const SeriesStore& store, std::string_view node, WallTime now);

}  // namespace assay
