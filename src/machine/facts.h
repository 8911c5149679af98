#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace assay {

// Readers of what Linux says about a machine: pure functions of the text of a file.

/// PRETTY_NAME of /etc/os-release, else NAME and VERSION_ID.
std::string os_name_from(std::string_view os_release);

/// The processor's name from /proc/cpuinfo; on ARM, which has none there, "ARM Neoverse-V2" from implementer and part.
std::string cpu_model_from(std::string_view cpuinfo);

/// In bytes; nothing where /proc/meminfo has no such line.
struct MemoryFacts {
  std::optional<std::int64_t> total;
  std::optional<std::int64_t> available;
  std::optional<std::int64_t> swap_total;
  std::optional<std::int64_t> swap_free;
};
MemoryFacts memory_from(std::string_view meminfo);

/// How many a kernel list such as "0-3,8,10-11" names; nothing when it is not one.
std::optional<int> count_of_list(std::string_view list);

/// The value of the line "key:  value" in a file like /proc/self/status; empty when there is none.
std::string_view status_value(std::string_view status, std::string_view key);

/// A whole decimal number and nothing else around it.
std::optional<std::int64_t> whole_number(std::string_view text);

// Readers that look below the view's root.

/// Cores this process may run on.
int usable_cores(const MachineView& view);
/// The governor of each core that has one.
std::vector<std::string> governors(const MachineView& view);

/// The python3 on the PATH and the PyTorch it would import; empty where there is none.
struct PythonFacts {
  std::string version;
  std::string torch;
};
/// Starts a Python, without importing torch. Blocks up to 5 s.
PythonFacts python_facts(const MachineView& view);

}  // namespace assay
