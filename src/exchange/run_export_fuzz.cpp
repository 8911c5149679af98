// libFuzzer entry: a run that can be read is written so that it reads back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "exchange/run_series.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto run = assay::parse_run_json(text, "run.json")) {
    const std::string written = assay::write_run_json(*run);
    const auto again = assay::parse_run_json(written, "run.json");
    if (!again || assay::write_run_json(*again) != written) std::abort();
  }
  return 0;
}
