// libFuzzer entry: whatever the bytes, importing results ends with nodes or with a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "importers/results/node_results.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const assay::NamedText file{"node1_final.json", text};
  const auto results = assay::import_node_results(std::span(&file, 1), assay::Price{0.60, "USD", "GPUh"});
  if (results) {
    for (const auto& flag : results->flags) {
      if (flag.kind.empty() || flag.message.empty()) std::abort();
    }
  } else if (results.error().message.empty()) {
    std::abort();
  }
  return 0;
}
