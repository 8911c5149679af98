#pragma once

#include <optional>
#include <vector>

#include "telemetry/nvml/gpu_reader.h"
#include "telemetry/nvml/nvml_api.h"

namespace assay::nvml {

struct FoundGpu {
  GpuHandle handle;
  unsigned index = 0;  ///< of the GPU, or of the instance on its GPU
  /// GPUs with the same one all have NVLink to each other; it is the index of the first of them. Absent: it has NVLink
  /// to none, or the driver does not say.
  std::optional<unsigned> link_group;
};

struct GpuScan {
  std::vector<FoundGpu> gpus;  ///< GPUs, each followed by its MIG instances
  unsigned unreadable = 0;     ///< GPUs that the driver counts but gives no access to
};

/// The GPUs that NVML, which must be initialised, has now. Error: `no_device`.
Result<GpuScan> scan_gpus(const Api& api);

}  // namespace assay::nvml
