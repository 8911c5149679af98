#include "leader/gpu_trends.h"

#include <chrono>
#include <cmath>
#include <set>
#include <vector>

#include "store/bucket_answer.h"
#include "store/series_store.h"

namespace assay {
namespace {

constexpr Nanos kLookBack = std::chrono::hours(24 * 730);
/// Slowed for a reason that wears: power limits are set by people.
const std::set<std::string> kWearReasons = {"hw_slowdown", "sw_thermal", "hw_thermal", "power_brake"};

using HoursByGpu = std::map<std::string, std::map<std::int64_t, HourOfGpu>>;

Result<void> add(const SeriesStore& store, std::string_view node, WallTime now, const std::string& metric,
                 HoursByGpu& hours, double HourOfGpu::* field) {
  SeriesQuery query{
      .selector = {.name = metric, .labels = {{.label = "node", .value = std::string(node)}}},
      .range = {.from_ns = (now - kLookBack).time_since_epoch().count(), .to_ns = now.time_since_epoch().count()},
      .width_ns = kHourNs,
      .max_points = 0};
  ASSAY_TRY(const auto answer, store.query(query));
  for (const auto& row : answer.rows) {
    const auto& labels = row.series.key.labels;
    const auto gpu = labels.find("gpu");
    if (gpu == labels.end()) continue;
    if (const auto reason = labels.find("reason"); reason != labels.end() && !kWearReasons.contains(reason->second)) {
      continue;
    }
    for (const auto& bucket : row.buckets) {
      auto& hour = hours[gpu->second][bucket.start_ns];
      hour.start = WallTime(Nanos(bucket.start_ns));
      // Of several reasons the one that lasted longest: they come together.
      hour.*field = std::fmax(hour.*field, bucket.mean());
    }
  }
  return {};
}

}  // namespace

Result<NodeGpuTrends> gpu_trends(const SeriesStore& store, std::string_view node, WallTime now) {
  HoursByGpu hours;
  ASSAY_CHECK(add(store, node, now, "gpu.temperature_c", hours, &HourOfGpu::temperature_c));
  ASSAY_CHECK(add(store, node, now, "gpu.power_w", hours, &HourOfGpu::power_w));
  ASSAY_CHECK(add(store, node, now, "gpu.throttle", hours, &HourOfGpu::throttle_share));
  NodeGpuTrends trends;
  for (const auto& [gpu, by_start] : hours) {
    std::vector<HourOfGpu> list;
    for (const auto& [start, hour] : by_start) list.push_back(hour);
    trends[gpu] = trend_of(list);
  }
  return trends;
}

Result<NodeGpuTrends> TrendVerdicts::of(const std::string& node) {
  const WallTime now = clock_.wall();
  const WallTime hour = std::chrono::floor<std::chrono::hours>(now);
  {
    const std::lock_guard lock(mutex_);
    if (hour_ != hour) known_.clear();
    hour_ = hour;
    if (const auto found = known_.find(node); found != known_.end()) return found->second;
  }
  // Two may read the same one meanwhile: better than that all wait for each other.
  ASSAY_TRY(auto trends, gpu_trends(store_, node, now));
  for (auto& [gpu, trend] : trends) trend.weeks.clear();
  const std::lock_guard lock(mutex_);
  if (hour_ == hour) known_[node] = trends;
  return trends;
}

}  // namespace assay
