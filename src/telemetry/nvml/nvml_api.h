#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "telemetry/nvml/nvml_abi.h"

namespace assay::nvml {

/// The library's functions. Any of them but the first four may be null: drivers differ, and what one does not have is
/// not read. Where a function has versions, the newest that the library has is taken.
struct Api {
  // Always there.
  Code (*init)() = nullptr;
  Code (*shutdown)() = nullptr;
  Code (*device_count)(unsigned*) = nullptr;
  Code (*device_by_index)(unsigned, Device*) = nullptr;

  const char* (*error_string)(Code) = nullptr;
  Code (*driver_version)(char*, unsigned) = nullptr;

  // What a device is.
  Code (*uuid)(Device, char*, unsigned) = nullptr;
  Code (*name)(Device, char*, unsigned) = nullptr;
  Code (*serial)(Device, char*, unsigned) = nullptr;
  Code (*vbios)(Device, char*, unsigned) = nullptr;
  Code (*pci_info)(Device, PciInfo*) = nullptr;
  Code (*max_clock)(Device, Clock, unsigned*) = nullptr;
  Code (*max_pcie_generation)(Device, unsigned*) = nullptr;
  Code (*max_pcie_width)(Device, unsigned*) = nullptr;
  Code (*persistence_mode)(Device, int*) = nullptr;
  Code (*compute_mode)(Device, int*) = nullptr;
  Code (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Code (*max_mig_devices)(Device, unsigned*) = nullptr;
  Code (*mig_device)(Device, unsigned, Device*) = nullptr;
  Code (*gpu_instance_id)(Device, unsigned*) = nullptr;
  Code (*p2p_status)(Device, Device, P2pKind, int*) = nullptr;

  // How it is doing.
  Code (*utilization)(Device, Utilization*) = nullptr;
  Code (*memory)(Device, Memory*) = nullptr;
  Code (*memory_v2)(Device, MemoryV2*) = nullptr;
  Code (*temperature)(Device, int, unsigned*) = nullptr;
  Code (*power)(Device, unsigned*) = nullptr;
  Code (*power_limit)(Device, unsigned*) = nullptr;
  Code (*clock)(Device, Clock, unsigned*) = nullptr;
  Code (*clock_reasons)(Device, unsigned long long*) = nullptr;
  Code (*fan)(Device, unsigned*) = nullptr;
  Code (*ecc_errors)(Device, MemoryError, EccCounter, unsigned long long*) = nullptr;
  Code (*remapped_rows)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  Code (*retired_pages)(Device, RetirementCause, unsigned*, unsigned long long*) = nullptr;
  Code (*pcie_generation)(Device, unsigned*) = nullptr;
  Code (*pcie_width)(Device, unsigned*) = nullptr;
  Code (*pcie_replays)(Device, unsigned*) = nullptr;
  Code (*pcie_throughput)(Device, PcieCounter, unsigned*) = nullptr;
  Code (*nvlink_state)(Device, unsigned, int*) = nullptr;
  Code (*total_energy)(Device, unsigned long long*) = nullptr;
  Code (*violation)(Device, PerfPolicy, ViolationTime*) = nullptr;
  Code (*field_values)(Device, int, FieldValue*) = nullptr;
  Code (*processes)(Device, unsigned*, ProcessInfo*) = nullptr;

  Code (*event_set_create)(EventSet*) = nullptr;
  Code (*event_set_free)(EventSet) = nullptr;
  Code (*register_events)(Device, unsigned long long, EventSet) = nullptr;
  Code (*event_set_wait)(EventSet, EventData*, unsigned) = nullptr;

  Code (*gpm_support)(Device, GpmSupport*) = nullptr;
  Code (*gpm_alloc)(GpmSample*) = nullptr;
  Code (*gpm_free)(GpmSample) = nullptr;
  Code (*gpm_get)(Device, GpmSample) = nullptr;
  Code (*gpm_mig_get)(Device, unsigned, GpmSample) = nullptr;
  Code (*gpm_metrics)(GpmMetricsGet*) = nullptr;

  std::shared_ptr<void> library;  ///< keeps it loaded

  /// `driver/library version mismatch (NVML 18)`, in our words where we have some.
  std::string describe(Code code) const;
};

/// Loads the library; does not initialise it. Error: `no_device` (there is none, or something that is not NVML).
Result<Api> load(const std::string& path = "libnvidia-ml.so.1");

/// Calls a function that writes a text; empty if it is not there or fails.
std::string text_from(Code (*function)(Device, char*, unsigned), Device device);

}  // namespace assay::nvml
