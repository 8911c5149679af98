#pragma once

#include <cstdint>
#include <string>

namespace assay::engine {

std::int64_t resident_bytes();
/// The most since the last reset. `reset_peak_resident` returns false where the kernel does not allow it.
std::int64_t peak_resident_bytes();
bool reset_peak_resident();

/// What this process can still take without swapping or being killed: what is available on the machine, or less where
/// its cgroup says so. `root` stands for "/" in tests.
std::int64_t available_bytes(const std::string& root = "");

/// Makes allocations beyond the available memory fail, so that they become an `oom` error; otherwise the kernel would
/// hand out memory it does not have and kill some process later.
void forbid_overcommit();

}  // namespace assay::engine
