#include "analysis/causes.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr double kHeldDown = 0.02;         // share of the time that can explain a slowdown of a percent
constexpr double kLowerClock = 0.005;      // below the usual one
constexpr double kLowerPowerLimit = 0.01;  // below the usual one
constexpr double kHotter = 5;              // °C above the usual
constexpr std::int64_t kManyCorrected = 10;

/// By how much `now` falls short of `usual`, as a share; 0 where either is unknown.
double shortfall(const std::optional<double>& now, const std::optional<double>& usual) {
  if (!now || !usual || !(*usual > 0)) return 0;
  return 1 - *now / *usual;
}

using Causes = std::vector<DegradationCause>;

void add_intruders(const GpuHealth& health, Causes& causes) {
  if (health.foreign_processes.value_or(0) <= 0) return;
  causes.push_back({"not_clear",
                    fmt::format("{} other process{} used the GPU during the run.", *health.foreign_processes,
                                *health.foreign_processes == 1 ? "" : "es"),
                    "The figures do not count: clear the node and run again."});
}

void add_memory_errors(const GpuHealth& health, Causes& causes) {
  const auto uncorrected = health.ecc_uncorrected.value_or(0);
  const auto corrected = health.ecc_corrected.value_or(0);
  const auto remapped = health.rows_remapped.value_or(0);
  if (uncorrected <= 0 && remapped <= 0 && corrected < kManyCorrected) return;
  causes.push_back({"memory_errors",
                    fmt::format("Memory errors during the run: {} uncorrected, {} corrected, {} rows remapped.",
                                uncorrected, corrected, remapped),
                    "Reset the GPU when it is idle; if they come back, have it replaced."});
}

void add_xids(const GpuHealth& health, Causes& causes) {
  if (health.xids.empty()) return;
  std::vector<int> kinds = health.xids;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::string listed;
  for (const int xid : kinds) {
    const auto times = std::count(health.xids.begin(), health.xids.end(), xid);
    listed +=
        fmt::format("{}{}{}", listed.empty() ? "" : ", ", xid, times > 1 ? fmt::format(" ({} times)", times) : "");
  }
  causes.push_back({"xid", fmt::format("The driver reported XID {}.", listed),
                    "Look up the number in NVIDIA's XID list; the kernel log has the details."});
}

void add_pcie(const GpuHealth& health, Causes& causes) {
  const auto degraded = [](const std::optional<int>& now, const std::optional<int>& usual) {
    return now && usual && *now < *usual;
  };
  const bool narrower = degraded(health.pcie_width, health.usual_pcie_width);
  const bool older = degraded(health.pcie_generation, health.usual_pcie_generation);
  if (!narrower && !older) return;
  const std::string what =
      narrower ? fmt::format("x{} instead of x{}", *health.pcie_width, *health.usual_pcie_width)
               : fmt::format("generation {} instead of {}", *health.pcie_generation, *health.usual_pcie_generation);
  causes.push_back({"pcie_link", fmt::format("The PCIe link runs at {}.", what),
                    "Reseat the GPU or its riser; check the slot in the BIOS."});
}

void add_thermal(const GpuHealth& health, Causes& causes) {
  const double share = health.thermal_throttle_share.value_or(0);
  if (share < kHeldDown) return;
  std::string at;
  if (health.temperature_c) at = fmt::format(", at {:.0f} °C", *health.temperature_c);
  if (health.temperature_c && health.usual_temperature_c) {
    at += fmt::format(" (usually {:.0f} °C)", *health.usual_temperature_c);
  }
  causes.push_back({"thermal",
                    fmt::format("The clock was held down by heat during {:.0f} % of the time{}.", share * 100, at),
                    "Check fans, dust, air flow and the room; compare with its neighbours."});
}

void add_power(const GpuHealth& health, Causes& causes) {
  const double lower = shortfall(health.power_limit_w, health.usual_power_limit_w);
  if (lower >= kLowerPowerLimit) {
    causes.push_back({"power_limit",
                      fmt::format("The power limit is {:.0f} W, usually {:.0f} W.", *health.power_limit_w,
                                  *health.usual_power_limit_w),
                      "Set it back with `nvidia-smi -pl`, if nobody lowered it on purpose."});
  } else if (health.power_throttle_share.value_or(0) >= kHeldDown &&
             shortfall(health.sm_clock_mhz, health.usual_sm_clock_mhz) >= kLowerClock) {
    // A GPU at its power cap is nothing unusual; one that clocks lower at the same cap is.
    causes.push_back(
        {"power_cap",
         fmt::format("At its power cap during {:.0f} % of the time, with {:.0f} MHz instead of {:.0f} MHz.",
                     *health.power_throttle_share * 100, *health.sm_clock_mhz, *health.usual_sm_clock_mhz),
         "The chip needs more power for the same work: look at its temperature, and at ageing."});
  }
  if (health.power_brake_share.value_or(0) >= kHeldDown) {
    causes.push_back({"power_brake",
                      fmt::format("The power brake or a hardware slowdown held the clock during {:.0f} % of the time.",
                                  *health.power_brake_share * 100),
                      "Check the power supplies and cables of the node, and its power budget."});
  }
}

void add_clock(const GpuHealth& health, Causes& causes) {
  if (shortfall(health.memory_clock_mhz, health.usual_memory_clock_mhz) >= kLowerClock) {
    causes.push_back({"low_memory_clock",
                      fmt::format("GPU memory runs at {:.0f} MHz, usually {:.0f} MHz.", *health.memory_clock_mhz,
                                  *health.usual_memory_clock_mhz),
                      "Reset the memory clock (`nvidia-smi -rmc`), or the GPU."});
  }
  // Only where nothing above already explains the clock.
  const bool explained = std::any_of(causes.begin(), causes.end(), [](const DegradationCause& cause) {
    return cause.kind == "thermal" || cause.kind == "power_limit" || cause.kind == "power_cap" ||
           cause.kind == "power_brake";
  });
  if (!explained && shortfall(health.sm_clock_mhz, health.usual_sm_clock_mhz) >= kLowerClock) {
    causes.push_back({"low_clock",
                      fmt::format("The clock is {:.0f} MHz, usually {:.0f} MHz, with no reason given.",
                                  *health.sm_clock_mhz, *health.usual_sm_clock_mhz),
                      "Look for a clock that someone has set (`nvidia-smi -rgc` resets it)."});
  }
}

void add_temperature(const GpuHealth& health, Causes& causes) {
  const bool hotter = health.temperature_c && health.usual_temperature_c &&
                      *health.temperature_c >= *health.usual_temperature_c + kHotter;
  const bool named =
      std::any_of(causes.begin(), causes.end(), [](const DegradationCause& cause) { return cause.kind == "thermal"; });
  if (!hotter || named) return;
  causes.push_back({"hotter",
                    fmt::format("It runs at {:.0f} °C, usually {:.0f} °C, without being throttled yet.",
                                *health.temperature_c, *health.usual_temperature_c),
                    "Check fans, dust and air flow before it throttles."});
}

}  // namespace

std::vector<DegradationCause> degradation_causes(const GpuHealth& health) {
  Causes causes;
  add_intruders(health, causes);
  add_memory_errors(health, causes);
  add_xids(health, causes);
  add_pcie(health, causes);
  add_thermal(health, causes);
  add_power(health, causes);
  add_clock(health, causes);
  add_temperature(health, causes);
  return causes;
}

}  // namespace assay
