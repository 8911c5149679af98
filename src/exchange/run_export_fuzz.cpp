// libFuzzer entry: runs that can be read are written so that they read back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "exchange/run_series.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto runs = assay::parse_runs_json(text, "run.json")) {
    const std::string written = assay::write_runs_json(*runs);
    const auto again = assay::parse_runs_json(written, "run.json");
    if (!again || assay::write_runs_json(*again) != written) std::abort();
  }
  return 0;
}
