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

bool has_nvlink(const Api& api, const FoundGpu& a, const FoundGpu& b) {
  int status = -1;
  return api.p2p_status(a.handle.device, b.handle.device, kP2pNvlink, &status) == kSuccess && status == kP2pOk;
}

/// Boards of earlier generations link GPUs with some of the others: a group has those that are linked with all of it.
void find_links(const Api& api, std::vector<FoundGpu>& gpus) {
  if (api.p2p_status == nullptr) return;
  std::vector<std::vector<FoundGpu*>> groups;
  for (auto& gpu : gpus) {
    if (gpu.handle.parent != nullptr) continue;  // instances have no links of their own
    const auto joins = [&](const auto& group) {
      return std::all_of(group.begin(), group.end(),
                         [&](const FoundGpu* other) { return has_nvlink(api, gpu, *other); });
    };
    const auto group = std::find_if(groups.begin(), groups.end(), joins);
    if (group == groups.end()) {
      groups.push_back({&gpu});
    } else {
      group->push_back(&gpu);
    }
  }
  for (const auto& group : groups) {
    for (FoundGpu* gpu : group) {
      if (group.size() > 1) gpu->link_group = group.front()->index;
    }
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
  find_links(api, scan.gpus);
  return scan;
}

}  // namespace assay::nvml
