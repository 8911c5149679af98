#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace assay {

/// A device that samples are about, and what does not change while it runs.
struct DeviceFacts {
  std::string id;                            ///< the UUID of a GPU: the value of the label `gpu`
  std::map<std::string, std::string> facts;  ///< {"name": "NVIDIA H200", "driver": "570.124.06"}
  bool operator==(const DeviceFacts&) const = default;
};

// Facts of GPUs that decide which runs they can do.
inline constexpr const char* kNameFact = "name";
inline constexpr const char* kMemoryFact = "memory_bytes";
inline constexpr const char* kLinkGroupFact = "link_group";  ///< GPUs with the same one have NVLink between them

/// A process that uses a GPU.
struct GpuProcess {
  std::string gpu;                           ///< UUID
  std::int64_t pid = 0;                      ///< in the sensor's PID namespace
  std::optional<std::int64_t> memory_bytes;  ///< absent where the driver does not say
  bool operator==(const GpuProcess&) const = default;
};

}  // namespace assay
