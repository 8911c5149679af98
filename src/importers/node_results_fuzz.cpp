// libFuzzer entry: whatever the bytes, importing results ends with nodes or with a message; a run that can be read is
// written so that it reads back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "importers/node_results.h"
#include "importers/run_series.h"

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
  if (const auto run = assay::parse_run_json(text, "run.json")) {
    const std::string written = assay::write_run_json(*run);
    const auto again = assay::parse_run_json(written, "run.json");
    if (!again || assay::write_run_json(*again) != written) std::abort();
  }
  return 0;
}
