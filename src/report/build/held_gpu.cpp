#include "report/build/held_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/statistics.h"
#include "report/build/issue_rules.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 4> kHardwareReasons = {"hw_slowdown", "hw_thermal", "sw_thermal", "power_brake"};
/// Single readings tell a moment.
constexpr std::int64_t kFewestHeldReadings = 10;

/// What the series of a run say of one reason or more, one entry each.
std::vector<HeldGpu> held_gpus(const Run& run, std::span<const std::string_view> reasons) {
  std::vector<HeldGpu> held;
  for (const auto& series : run.series) {
    const auto gpu = series.labels.find("gpu");
    const auto reason = series.labels.find("reason");
    if (series.name != "gpu.throttle" || gpu == series.labels.end() || reason == series.labels.end()) continue;
    if (series.points - series.non_finite < kFewestHeldReadings) continue;
    if (std::find(reasons.begin(), reasons.end(), reason->second) == reasons.end()) continue;
    const auto node = series.labels.find("node");
    held.push_back(
        {.name = node == series.labels.end() ? gpu->second : fmt::format("{} of {}", gpu->second, node->second),
         .reason = reason->second,
         .share = series.mean});
  }
  return held;
}

std::optional<HeldGpu> most_held(const std::vector<HeldGpu>& held) {
  const auto most = std::max_element(held.begin(), held.end(),
                                     [](const HeldGpu& one, const HeldGpu& other) { return one.share < other.share; });
  return most == held.end() ? std::nullopt : std::optional(*most);
}

}  // namespace

std::optional<HeldGpu> held_by_hardware(const Run& run) {
  auto most = most_held(held_gpus(run, kHardwareReasons));
  return most && most->share > 0 ? most : std::nullopt;
}

std::optional<HeldGpu> held_by_power_limit(const Run& run) {
  constexpr std::array<std::string_view, 1> kReason = {"sw_power"};
  const auto held = held_gpus(run, kReason);
  auto most = most_held(held);
  if (!most) return std::nullopt;
  std::vector<double> others;
  for (const auto& one : held) {
    if (one.name != most->name) others.push_back(one.share);
  }
  if (others.empty() || most->share <= median(others) + limits::kPowerCapped) return std::nullopt;
  return most;
}

}  // namespace assay
