#include "telemetry/nvml/nvml_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <initializer_list>

#include "base/text.h"

namespace assay::nvml {
namespace {

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  /// The first of these names that the library has.
  template <typename Function>
  void find(Function& function, std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (void* symbol = ::dlsym(library_, name)) {
        function = reinterpret_cast<Function>(symbol);
        return;
      }
    }
  }

 private:
  void* library_;
};

void find_basics(Api& api, const Symbols& symbols) {
  symbols.find(api.init, {"nvmlInit_v2", "nvmlInit"});
  symbols.find(api.shutdown, {"nvmlShutdown"});
  symbols.find(api.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  symbols.find(api.device_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  symbols.find(api.error_string, {"nvmlErrorString"});
  symbols.find(api.driver_version, {"nvmlSystemGetDriverVersion"});
}

void find_facts(Api& api, const Symbols& symbols) {
  symbols.find(api.uuid, {"nvmlDeviceGetUUID"});
  symbols.find(api.name, {"nvmlDeviceGetName"});
  symbols.find(api.serial, {"nvmlDeviceGetSerial"});
  symbols.find(api.vbios, {"nvmlDeviceGetVbiosVersion"});
  // Version 2 and 1 have no long bus id; a layout for those is not worth it.
  symbols.find(api.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  symbols.find(api.max_clock, {"nvmlDeviceGetMaxClockInfo"});
  symbols.find(api.max_pcie_generation, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  symbols.find(api.max_pcie_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
  symbols.find(api.persistence_mode, {"nvmlDeviceGetPersistenceMode"});
  symbols.find(api.compute_mode, {"nvmlDeviceGetComputeMode"});
  symbols.find(api.mig_mode, {"nvmlDeviceGetMigMode"});
  symbols.find(api.max_mig_devices, {"nvmlDeviceGetMaxMigDeviceCount"});
  symbols.find(api.mig_device, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  symbols.find(api.gpu_instance_id, {"nvmlDeviceGetGpuInstanceId"});
  symbols.find(api.p2p_status, {"nvmlDeviceGetP2PStatus"});
}

void find_readings(Api& api, const Symbols& symbols) {
  symbols.find(api.utilization, {"nvmlDeviceGetUtilizationRates"});
  symbols.find(api.memory, {"nvmlDeviceGetMemoryInfo"});
  symbols.find(api.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  symbols.find(api.temperature, {"nvmlDeviceGetTemperature"});
  symbols.find(api.power, {"nvmlDeviceGetPowerUsage"});
  symbols.find(api.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  symbols.find(api.clock, {"nvmlDeviceGetClockInfo"});
  symbols.find(api.clock_reasons,
               {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  symbols.find(api.fan, {"nvmlDeviceGetFanSpeed"});
  symbols.find(api.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  symbols.find(api.remapped_rows, {"nvmlDeviceGetRemappedRows"});
  symbols.find(api.retired_pages, {"nvmlDeviceGetRetiredPages"});
  symbols.find(api.pcie_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  symbols.find(api.pcie_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  symbols.find(api.pcie_replays, {"nvmlDeviceGetPcieReplayCounter"});
  symbols.find(api.pcie_throughput, {"nvmlDeviceGetPcieThroughput"});
  symbols.find(api.nvlink_state, {"nvmlDeviceGetNvLinkState"});
  symbols.find(api.total_energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  symbols.find(api.violation, {"nvmlDeviceGetViolationStatus"});
  symbols.find(api.field_values, {"nvmlDeviceGetFieldValues"});
  // Version 2 has the same layout; version 1 has a shorter one and comes with drivers older than MIG.
  symbols.find(api.processes, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
}

void find_events_and_gpm(Api& api, const Symbols& symbols) {
  symbols.find(api.event_set_create, {"nvmlEventSetCreate"});
  symbols.find(api.event_set_free, {"nvmlEventSetFree"});
  symbols.find(api.register_events, {"nvmlDeviceRegisterEvents"});
  symbols.find(api.event_set_wait, {"nvmlEventSetWait_v2"});
  symbols.find(api.gpm_support, {"nvmlGpmQueryDeviceSupport"});
  symbols.find(api.gpm_alloc, {"nvmlGpmSampleAlloc"});
  symbols.find(api.gpm_free, {"nvmlGpmSampleFree"});
  symbols.find(api.gpm_get, {"nvmlGpmSampleGet"});
  symbols.find(api.gpm_mig_get, {"nvmlGpmMigSampleGet"});
  symbols.find(api.gpm_metrics, {"nvmlGpmMetricsGet"});
}

}  // namespace

std::string Api::describe(Code code) const {
  switch (code) {
    case kDriverNotLoaded: return "the NVIDIA driver is not loaded (NVML 9)";
    case kVersionMismatch: return "the driver in the kernel and its library have different versions (NVML 18)";
    case kNoPermission: return "no permission (NVML 4)";
    case kGpuIsLost: return "the GPU has fallen off the bus (NVML 15)";
    case kResetRequired: return "the GPU needs a reset (NVML 16)";
    default: break;
  }
  const char* text = error_string != nullptr ? error_string(code) : nullptr;
  return fmt::format("{} (NVML {})", text != nullptr ? printable(text) : "error", code);
}

Result<Api> load(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{.kind = ErrorKind::no_device,
                 .message = fmt::format("cannot load {}: the NVIDIA driver is not installed here", path)};
  }
  Api api;
  api.library = std::shared_ptr<void>(library, [](void* handle) { ::dlclose(handle); });
  const Symbols symbols(library);
  find_basics(api, symbols);
  find_facts(api, symbols);
  find_readings(api, symbols);
  find_events_and_gpm(api, symbols);
  if (api.init == nullptr || api.shutdown == nullptr || api.device_count == nullptr || api.device_by_index == nullptr) {
    return Error{.kind = ErrorKind::no_device, .message = fmt::format("{} is not the NVML library", path)};
  }
  return api;
}

std::string text_from(Code (*function)(Device, char*, unsigned), Device device) {
  std::array<char, kTextSize> text{};
  if (function == nullptr || function(device, text.data(), kTextSize) != kSuccess) return {};
  text.back() = '\0';
  return printable(text.data());
}

}  // namespace assay::nvml
