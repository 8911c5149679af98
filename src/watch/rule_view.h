#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/leader_status.h"
#include "model/node_state.h"

namespace assay {

/// What the rules look at, of one GPU.
enum class GpuField : std::uint8_t {
  util,
  sm_active,
  tensor_active,
  memory_used_bytes,
  memory_total_bytes,
  temperature_c,
  memory_temperature_c,
  power_w,
  power_limit_w,
  sm_clock_mhz,
  sm_clock_max_mhz,
  throttle_thermal,   ///< 0 or 1: slowed by temperature
  throttle_power,     ///< 0 or 1: at its power limit
  throttle_hardware,  ///< 0 or 1: slowed by the hardware or the node's power brake
  row_remap_pending,
  row_remap_failed,
  count,
};
inline constexpr std::size_t kGpuFields = static_cast<std::size_t>(GpuField::count);

/// Which field a series of telemetry feeds, if any: for a caller that maps its series once. Several series may feed
/// one field (reasons of throttling): `GpuView::put` then keeps the largest.
std::optional<GpuField> gpu_field_of(std::string_view metric, const std::map<std::string, std::string>& labels);

/// The last known values of a GPU; NaN is not known.
struct GpuView {
  std::string uuid;
  std::string model;
  int index = 0;
  std::array<double, kGpuFields> value = unknown_values();
  int processes = -1;  ///< −1: not known

  double operator[](GpuField field) const { return value[static_cast<std::size_t>(field)]; }
  void put(GpuField field, double number);

  static constexpr std::array<double, kGpuFields> unknown_values() {
    std::array<double, kGpuFields> values{};
    values.fill(std::numeric_limits<double>::quiet_NaN());
    return values;
  }
};

struct FileSystemView {
  std::string mount;
  double used_bytes = std::numeric_limits<double>::quiet_NaN();
  double available_bytes = std::numeric_limits<double>::quiet_NaN();
};

struct NodeView {
  std::string name;
  NodeState state = NodeState::online;
  WallTime last_seen;
  double clock_skew_s = std::numeric_limits<double>::quiet_NaN();
  bool simulated = false;
  bool draining = false;     ///< an administrator wants no work on it, whether it talks or not
  std::string drain_reason;  ///< may be empty
  double memory_used_bytes = std::numeric_limits<double>::quiet_NaN();
  double memory_total_bytes = std::numeric_limits<double>::quiet_NaN();
  std::vector<FileSystemView> file_systems;
  std::vector<GpuView> gpus;
};

/// All nodes that the cluster has, offline ones included: one that is not in it was taken out of the cluster.
struct ClusterView {
  std::vector<NodeView> nodes;
  std::vector<LeaderProblem> problems;  ///< of the leader itself
};

}  // namespace assay
