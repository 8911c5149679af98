#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "telemetry/nvml/nvml_abi.h"

namespace assay::nvml {

/// Every value that is read of a GPU. The order is that of the samples in a reading.
enum class Field : std::uint8_t {
  util,
  memory_util,
  memory_used,
  memory_total,
  memory_reserved,
  temperature,
  memory_temperature,
  power,
  power_limit,
  sm_clock,
  memory_clock,
  fan,
  sm_active,
  sm_occupancy,
  tensor_active,
  dram_active,
  fp64_active,
  fp32_active,
  fp16_active,
  pcie_receive,
  pcie_transmit,
  nvlink_receive,
  nvlink_transmit,
  ecc_corrected,
  ecc_uncorrected,
  remapped_corrected,
  remapped_uncorrected,
  remap_pending,
  remap_failed,
  retired_pages,
  pcie_generation,
  pcie_width,
  pcie_replays,
  nvlink_crc_errors,
  nvlink_replays,
  nvlink_recoveries,
  nvlink_links_up,
  energy,
  power_violation,
  thermal_violation,
  max_sm_clock,
  max_memory_clock,
  count,
};
inline constexpr std::size_t kFields = static_cast<std::size_t>(Field::count);

/// The metric of each field, by its place.
inline constexpr std::array<std::string_view, kFields> kFieldMetrics = {
    "gpu.util",
    "gpu.memory_util",
    "gpu.memory_used_bytes",
    "gpu.memory_total_bytes",
    "gpu.memory_reserved_bytes",
    "gpu.temperature_c",
    "gpu.memory_temperature_c",
    "gpu.power_w",
    "gpu.power_limit_w",
    "gpu.sm_clock_mhz",
    "gpu.memory_clock_mhz",
    "gpu.fan",
    "gpu.sm_active",
    "gpu.sm_occupancy",
    "gpu.tensor_active",
    "gpu.dram_active",
    "gpu.fp64_active",
    "gpu.fp32_active",
    "gpu.fp16_active",
    "gpu.pcie_receive_bytes_per_second",
    "gpu.pcie_transmit_bytes_per_second",
    "gpu.nvlink_receive_bytes_per_second",
    "gpu.nvlink_transmit_bytes_per_second",
    "gpu.ecc_corrected",
    "gpu.ecc_uncorrected",
    "gpu.remapped_rows_corrected",
    "gpu.remapped_rows_uncorrected",
    "gpu.row_remap_pending",
    "gpu.row_remap_failed",
    "gpu.retired_pages",
    "gpu.pcie_generation",
    "gpu.pcie_width",
    "gpu.pcie_replays",
    "gpu.nvlink_crc_errors",
    "gpu.nvlink_replays",
    "gpu.nvlink_recoveries",
    "gpu.nvlink_links_up",
    "gpu.energy_total_j",
    "gpu.power_violation_seconds",
    "gpu.thermal_violation_seconds",
    "gpu.sm_clock_max_mhz",
    "gpu.memory_clock_max_mhz",
};

/// Why a GPU's clocks are where they are; one series `gpu.throttle` each, told apart by the label `reason`.
struct ThrottleReason {
  std::uint64_t bit;
  std::string_view name;
  std::string_view meaning;
  bool slows;  ///< takes away speed that the workload could use; only these make events
};

inline constexpr std::array kThrottleReasons = {
    ThrottleReason{kReasonIdle, "idle", "nothing to do", false},
    ThrottleReason{kReasonSetting, "clock_setting", "clocks set by somebody", false},
    ThrottleReason{kReasonSwPower, "sw_power", "the power limit", true},
    ThrottleReason{kReasonHwSlowdown, "hw_slowdown", "a slowdown by the hardware", true},
    ThrottleReason{kReasonSyncBoost, "sync_boost", "a slower GPU of its sync group", true},
    ThrottleReason{kReasonSwThermal, "sw_thermal", "temperature, by the driver", true},
    ThrottleReason{kReasonHwThermal, "hw_thermal", "temperature, by the hardware", true},
    ThrottleReason{kReasonPowerBrake, "power_brake", "the power brake of the node", true},
    ThrottleReason{kReasonDisplay, "display", "the clocks of a display", false},
};

}  // namespace assay::nvml
