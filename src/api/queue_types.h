#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/api_type.h"
#include "model/queued_run.h"

namespace assay {

/// Some of what a cluster has to do.
struct QueueList {
  std::vector<QueuedRun> runs;
  std::int64_t total = 0;  ///< on all pages
  std::string next;        ///< empty: that is all
};
struct NewPriority {
  int priority = 0;
};
/// A run that is not asked for yet, with its price.
struct PricedRun {
  PreviewedRun run;
  std::optional<double> cost;
};
struct OrderPreview {
  std::string name;
  std::vector<PricedRun> runs;
  std::optional<WallTime> expected_end;
  std::optional<double> cost;
  std::string currency;
};

template <>
const ApiType<ExpectedLength>& api_type();
template <>
const ApiType<QueuedRun>& api_type();
template <>
const ApiType<QueueList>& api_type();
template <>
const ApiType<NewPriority>& api_type();
template <>
const ApiType<PreviewedRun>& api_type();
template <>
const ApiType<PricedRun>& api_type();
template <>
const ApiType<OrderPreview>& api_type();

}  // namespace assay
