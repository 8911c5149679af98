#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "store/series_store.h"
#include "watch/trend.h"

namespace assay {

/// Of each GPU of a node, by UUID.
using NodeGpuTrends = std::map<std::string, GpuTrend>;

/// The long-term trend of each GPU of a node from the hours that the store has. Reads two years of them.
Result<NodeGpuTrends> gpu_trends(const SeriesStore& store, std::string_view node, WallTime now);

/// The same without the weeks, read once an hour for each node: for lists of all of them. Any thread.
class TrendVerdicts {
 public:
  TrendVerdicts(const SeriesStore& store, const Clock& clock) : store_(store), clock_(clock) {}
  Result<NodeGpuTrends> of(const std::string& node);

 private:
  const SeriesStore& store_;
  const Clock& clock_;
  std::mutex mutex_;
  WallTime hour_{};  ///< in which all of these were read
  std::map<std::string, NodeGpuTrends> known_;
};

}  // namespace assay
