#include "serving/live_figures.h"

#include <algorithm>
#include <utility>

namespace assay {

void LiveFigures::take(const QueryRecord& record) {
  ++(record.ok() ? moment_.ok : moment_.failed);
  moment_.tokens += record.ok() ? record.output_tokens : 0;
  if (const auto value = measured(record, LatencyMeasure::end_to_end)) latency_.push_back(*value);
  if (const auto value = measured(record, LatencyMeasure::first_token)) first_token_.push_back(*value);
  if (const auto value = measured(record, LatencyMeasure::per_output_token)) per_token_.push_back(*value);
  const bool over = !record.ok() || std::any_of(limits_.begin(), limits_.end(), [&](const LatencyLimit& limit) {
    const auto value = measured(record, limit.measure);
    return value && *value > limit.at_most.count();
  });
  moment_.over += over ? 1 : 0;
}

LiveMoment LiveFigures::since_last() {
  const std::uint64_t issued = recorder_.issued();
  seen_.resize(issued - oldest_open_);
  for (std::uint64_t id = oldest_open_; id < issued; ++id) {
    if (seen_[id - oldest_open_]) continue;
    if (const QueryRecord* record = recorder_.ended(id)) {
      seen_[id - oldest_open_] = true;
      take(*record);
    }
  }
  const auto open = std::find(seen_.begin(), seen_.end(), false);
  oldest_open_ += static_cast<std::uint64_t>(open - seen_.begin());
  seen_.erase(seen_.begin(), open);

  moment_.sent = issued - last_issued_;
  moment_.in_flight = recorder_.in_flight();
  moment_.latency = live_values(latency_);
  moment_.first_token = live_values(first_token_);
  moment_.per_token = live_values(per_token_);
  last_issued_ = issued;
  latency_.clear();
  first_token_.clear();
  per_token_.clear();
  return std::exchange(moment_, {});
}

}  // namespace assay
