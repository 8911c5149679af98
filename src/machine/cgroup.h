#pragma once

#include <cstdint>
#include <optional>

#include "machine/machine.h"

namespace assay {

// The tightest limit among this process's cgroups, from its own up to the root; version 2 and 1. Nothing: no limit.

std::optional<double> cgroup_cpu_limit(const MachineView& view);  ///< in cores
struct CgroupMemory {
  std::int64_t limit_bytes = 0;
  std::int64_t used_bytes = 0;
};
std::optional<CgroupMemory> cgroup_memory(const MachineView& view);

}  // namespace assay
