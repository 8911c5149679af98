#include "telemetry/nvml/gpu_scan.h"

#include <algorithm>

namespace assay::nvml {
namespace {

/// Far more than any machine has; a driver in trouble may say anything.
constexpr unsigned kMaxGpus = 128;
constexpr unsigned kMaxInstances = 16;

void scan_instances(const Api& api, Device parent, std::vector<FoundGpu>& gpus) {
  unsigned current = 0, pending = 0, count = 0;
  if (api.mig_mode == nullptr || api.max_mig_devices == nullptr || api.mig_device == nullptr) return;
  if (api.mig_mode(parent, &current, &pending) != kSuccess || current == 0) return;
  if (api.max_mig_devices(parent, &count) != kSuccess) return;
  for (unsigned index = 0; index < std::min(count, kMaxInstances); ++index) {
    Device instance = nullptr;
    if (api.mig_device(parent, index, &instance) != kSuccess) continue;  // this place is free
    GpuHandle handle{.device = instance, .uuid = text_from(api.uuid, instance), .parent = parent};
    if (handle.uuid.empty()) continue;
    if (api.gpu_instance_id != nullptr) api.gpu_instance_id(instance, &handle.gpu_instance);
    gpus.push_back({.handle = std::move(handle), .index = index});
  }
}

}  // namespace

Result<GpuScan> scan_gpus(const Api& api) {
  unsigned count = 0;
  if (const Code code = api.device_count(&count); code != kSuccess) {
    return Error{.kind = ErrorKind::no_device, .message = "NVML: counting GPUs: " + api.describe(code)};
  }
  GpuScan scan;
  for (unsigned index = 0; index < std::min(count, kMaxGpus); ++index) {
    Device device = nullptr;
    const Code code = api.device_by_index(index, &device);
    GpuHandle handle{.device = device, .uuid = {}};
    if (code == kSuccess) handle.uuid = text_from(api.uuid, device);
    if (handle.uuid.empty()) {
      ++scan.unreadable;
      continue;
    }
    scan.gpus.push_back({.handle = std::move(handle), .index = index});
    scan_instances(api, device, scan.gpus);
  }
  return scan;
}

}  // namespace assay::nvml
