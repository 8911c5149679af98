// libFuzzer entry: whatever the text, reading a fault ends with one that is within the fleet, or with a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fleet/fleet_fault.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kNodes = 12;
  constexpr std::size_t kGpus = 8;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto fault = assay::parse_fleet_fault(text, kNodes, kGpus);
  if (!fault) {
    if (fault.error().message.empty() || fault.error().hint.empty()) std::abort();
    return 0;
  }
  if (fault->node >= kNodes || fault->gpu.value_or(0) >= kGpus) std::abort();
  if (fault->gpu && !assay::is_of_gpu(fault->kind)) std::abort();
  if (fault->from < assay::Nanos(0) || (fault->until && *fault->until <= fault->from)) std::abort();
  return 0;
}
