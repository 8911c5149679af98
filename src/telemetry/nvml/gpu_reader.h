#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "telemetry/nvml/gpm_sampler.h"
#include "telemetry/nvml/gpu_fields.h"
#include "telemetry/nvml/nvml_api.h"
#include "telemetry/sample.h"

namespace assay {
struct DeviceFacts;
struct GpuProcess;
struct Reading;
}  // namespace assay

namespace assay::nvml {

/// A GPU or a MIG instance.
struct GpuHandle {
  Device device = nullptr;
  std::string uuid;
  Device parent = nullptr;              ///< of a MIG instance; null otherwise
  unsigned gpu_instance = kNoInstance;  ///< of a MIG instance
};

/// What a reading reads. Each level has what those before it have.
enum class Depth {
  usual,   ///< what changes from second to second
  calm,    ///< and counters of errors, links
  costly,  ///< and what takes the driver milliseconds
};

/// What events are made of.
struct GpuCondition {
  std::optional<std::uint64_t> throttle;
  std::optional<double> ecc_corrected, ecc_uncorrected;
  std::optional<double> remapped_corrected, remapped_uncorrected, remap_pending, remap_failed;
};

/// Reads one device again and again. What the device or the driver does not have is asked for once.
class GpuReader {
 public:
  GpuReader(const Api& api, GpuHandle handle);

  const GpuHandle& handle() const { return handle_; }
  /// Name, bus id, serial number, …: what does not change.
  DeviceFacts facts(unsigned index, const std::string& driver) const;

  struct Outcome {
    Code lost = kSuccess;  ///< the code with which the GPU said that it is gone
    GpuCondition condition;
  };
  /// Appends what could be read to `reading`. Blocks as long as the driver does.
  Outcome read(Depth depth, SteadyTime now, Reading& reading);
  /// Appends the processes on this GPU, at most as many as `kMaxProcesses`.
  void read_processes(std::vector<GpuProcess>& processes);

  static constexpr unsigned kMaxProcesses = 256;

 private:
  /// A function of the library that one kind of device may lack.
  enum class Call : std::uint8_t {
    utilization,
    memory,
    memory_v2,
    temperature,
    memory_temperature,
    power,
    power_limit,
    sm_clock,
    memory_clock,
    reasons,
    fan,
    ecc_corrected,
    ecc_uncorrected,
    remapped_rows,
    retired_pages,
    pcie_generation,
    pcie_width,
    pcie_replays,
    pcie_throughput,
    nvlink_fields,
    nvlink_state,
    energy,
    power_violation,
    thermal_violation,
    max_sm_clock,
    max_memory_clock,
    processes,
    count,
  };

  bool lacks(Call which) const { return lacking_.test(static_cast<std::size_t>(which)); }
  void set_lacking(Call which) { lacking_.set(static_cast<std::size_t>(which)); }
  template <typename... Parameters, typename... Arguments>
  bool call(Call which, Field field, Code (*function)(Parameters...), Arguments... arguments);
  void add(Field field, double value);
  template <typename... Parameters, typename... Arguments>
  std::optional<double> add_unsigned(Call which, Field field, double scale, Code (*function)(Parameters...),
                                     Arguments... arguments);
  void read_usual();
  void read_memory();
  void read_throttle();
  void read_calm();
  void read_nvlink();
  void read_costly();
  void read_links();
  void read_retired_pages();
  void read_gpm(SteadyTime now);

  const Api& api_;
  GpuHandle handle_;
  std::array<Sample, kFields> prototypes_;
  std::array<Sample, kThrottleReasons.size()> throttle_prototypes_;
  std::bitset<static_cast<std::size_t>(Call::count)> lacking_;
  std::unique_ptr<GpmSampler> gpm_;  ///< null where the device has no GPM
  // Of the reading under way.
  Reading* reading_ = nullptr;
  Outcome outcome_;
};

}  // namespace assay::nvml
