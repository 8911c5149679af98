#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Why a GPU is slow, as far as its telemetry shows. Pure. A cause is named only where its own evidence was recorded; a
// field that was not read says nothing, neither that it was fine nor that it was not.

/// What was recorded on one GPU during the slow runs, and beside it what is usual for this very GPU.
struct GpuHealth {
  // Shares of the run's time in which the clock was held down for this reason.
  std::optional<double> thermal_throttle_share;  ///< software or hardware thermal
  std::optional<double> power_throttle_share;    ///< software power cap
  std::optional<double> power_brake_share;       ///< external power brake or hardware slowdown
  std::optional<double> sm_clock_mhz;
  std::optional<double> usual_sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> usual_memory_clock_mhz;
  std::optional<double> temperature_c;
  std::optional<double> usual_temperature_c;
  std::optional<double> power_limit_w;
  std::optional<double> usual_power_limit_w;
  std::optional<std::int64_t> ecc_corrected;    ///< new during the runs
  std::optional<std::int64_t> ecc_uncorrected;  ///< new during the runs
  std::optional<std::int64_t> rows_remapped;    ///< new during the runs, or pending
  std::optional<int> pcie_width;
  std::optional<int> usual_pcie_width;
  std::optional<int> pcie_generation;
  std::optional<int> usual_pcie_generation;
  std::optional<int> foreign_processes;  ///< of others, on the GPU during the runs
  std::vector<int> xids;                 ///< events during the runs, each of them
};

struct DegradationCause {
  std::string kind;      ///< stable name: "thermal", "power_cap", "power_brake", "low_clock", "memory_errors", …
  std::string evidence;  ///< "The clock was held down by heat during 31 % of the time, at 88 °C (usually 71 °C)."
  std::string remedy;
};

/// Most telling first: what makes the figures meaningless, then broken hardware, then what holds clocks down.
std::vector<DegradationCause> degradation_causes(const GpuHealth& health);

}  // namespace assay
