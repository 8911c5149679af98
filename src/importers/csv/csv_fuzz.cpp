// libFuzzer entry: whatever the bytes, reading metrics from CSV ends with series or with a message, and what was read
// comes back from our own export.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "importers/csv/metrics_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto import = assay::parse_metrics_csv(text, "fuzz.csv");
  if (!import) {
    if (import.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& flag : import->flags) {
    if (flag.kind.empty() || flag.message.empty()) std::abort();
  }
  for (const auto& run : import->runs) {
    const std::string written = assay::write_series_csv(run.series);
    // Names full of zero bytes make a file that no longer looks like text.
    if (written.find('\0') != std::string::npos) continue;
    const auto again = assay::parse_metrics_csv(written, "again.csv");
    if (!again || again->runs.size() != 1 || again->runs[0].series.size() != run.series.size()) std::abort();
    if (assay::write_series_csv(again->runs[0].series) != written) std::abort();
  }
  return 0;
}
