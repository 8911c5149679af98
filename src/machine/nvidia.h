#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace assay {

// What nvidia-smi and the NVIDIA driver say. A field that a GPU does not have ("[N/A]", "[Not Supported]", …) is
// absent, never zero.

struct SmiGpu {
  GpuInfo info;
  std::string driver;
  std::optional<bool> persistence;
  std::optional<std::int64_t> uncorrected_errors;  ///< ECC, since the driver was loaded
  std::optional<std::int64_t> temperature_c;
  std::optional<std::int64_t> utilization_percent;
};

struct SmiProcess {
  std::string gpu_uuid;
  std::int64_t pid = 0;
  std::string name;
  std::optional<std::int64_t> memory_bytes;
};

/// Lines of --query-gpu with `kSmiFields` or its first four. Lines that name no GPU (warnings) are left out.
std::vector<SmiGpu> gpus_from(std::string_view csv);
inline constexpr std::string_view kSmiBasicFields = "uuid,name,memory.total,driver_version";
inline constexpr std::string_view kSmiFields =
    "uuid,name,memory.total,driver_version,persistence_mode,ecc.errors.uncorrected.volatile.total,temperature.gpu,"
    "utilization.gpu";

/// Lines of --query-compute-apps with these fields.
std::vector<SmiProcess> gpu_processes_from(std::string_view csv);
inline constexpr std::string_view kGpuProcessFields = "gpu_uuid,pid,process_name,used_memory";

/// "580.159.04" from /proc/driver/nvidia/version; empty when it is not there.
std::string driver_version_from(std::string_view proc_driver_version);

/// Whether asking nvidia-smi is worth a process: a driver, its device file or the program is there.
bool may_have_nvidia(const MachineView& view);

/// Runs `nvidia-smi --query-<what>=<fields>` with a deadline of 10 s.
Result<CommandOutput> query_nvidia(const MachineView& view, std::string_view what, std::string_view fields);

}  // namespace assay
