#include "serving/live_figures.h"

#include <algorithm>

namespace assay {
namespace {

void put_median(json::object& metrics, std::string_view name, std::vector<std::int64_t>& values) {
  if (values.empty()) return;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  metrics[name] = static_cast<double>(*middle) * 1e-9;
  values.clear();
}

}  // namespace

void LiveFigures::take(const QueryRecord& record) {
  ++(record.ok() ? ok_ : failed_);
  tokens_ += record.ok() ? record.output_tokens : 0;
  if (const auto value = measured(record, LatencyMeasure::end_to_end)) latency_.push_back(*value);
  if (const auto value = measured(record, LatencyMeasure::first_token)) first_token_.push_back(*value);
  if (const auto value = measured(record, LatencyMeasure::per_output_token)) per_token_.push_back(*value);
  const bool over = !record.ok() || std::any_of(limits_.begin(), limits_.end(), [&](const LatencyLimit& limit) {
    const auto value = measured(record, limit.measure);
    return value && *value > limit.at_most.count();
  });
  over_ += over ? 1 : 0;
}

json::object LiveFigures::since_last(Nanos now) {
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

  const double seconds = seconds_of(now - last_);
  json::object metrics;
  if (seconds > 0) {
    metrics["requests_sent_per_second"] = static_cast<double>(issued - last_issued_) / seconds;
    metrics["requests_done_per_second"] = static_cast<double>(ok_) / seconds;
    metrics["requests_failed_per_second"] = static_cast<double>(failed_) / seconds;
    if (tokens_ > 0) metrics["tokens_per_second"] = static_cast<double>(tokens_) / seconds;
  }
  metrics["requests_in_flight"] = recorder_.in_flight();
  put_median(metrics, "latency_seconds", latency_);
  put_median(metrics, "ttft_seconds", first_token_);
  put_median(metrics, "tpot_seconds", per_token_);
  ok_ = failed_ = tokens_ = 0;
  last_ = now;
  last_issued_ = issued;
  return metrics;
}

}  // namespace assay
