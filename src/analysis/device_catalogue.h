#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace assay {

/// What vendors state about a device. Peak figures are dense (without structured sparsity); FP16 is that of the matrix
/// units with FP32 accumulation where the device has them. Absent: not stated plainly enough to rely on.
/// These figures stand beside measured ones; nothing is ever judged by them.
struct DeviceInfo {
  enum class Kind { gpu, cpu } kind = Kind::gpu;
  std::string_view name;            ///< "NVIDIA A100 80 GB SXM"
  std::string_view architecture;    ///< "Ampere"
  std::optional<double> memory_gb;  ///< 10⁹ bytes as marketed; none for CPUs
  std::optional<double> fp32_tflops;
  std::optional<double> fp16_tflops;
  std::optional<double> bandwidth_gb_per_s;  ///< of a CPU: one socket with all channels filled
  std::optional<double> power_w;
  std::string_view cloud;     ///< typical instances, comma-separated; may be empty
  std::string_view reported;  ///< how drivers and /proc name it, separated by '|'
};

/// GPUs, then CPUs; by vendor and age. Called by tests, which look at every entry.
std::span<const DeviceInfo> device_catalogue();

/// By the name that NVML, ROCm or /proc/cpuinfo reports: "NVIDIA A100-SXM4-80GB". Capitals and blanks do not matter; no
/// part of a name counts, since an A100 of 40 GB is not one of 80 GB. Null where it is not in the catalogue.
const DeviceInfo* find_device(std::string_view reported_name);

}  // namespace assay
