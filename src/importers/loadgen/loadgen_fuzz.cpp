// libFuzzer entry: whatever the bytes, LoadGen's logs end as a result or with a message, and every flag has its reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "importers/loadgen/loadgen_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Once as whatever it looks like, and through either parser, whatever it looks like.
  const assay::NamedText file{"run_1/mlperf_log_summary.txt", text};
  const auto import = assay::import_loadgen(std::span(&file, 1));
  if (import) {
    for (const auto& flag : import->flags) {
      if (flag.kind.empty() || flag.message.empty()) std::abort();
    }
  } else if (import.error().message.empty()) {
    std::abort();
  }
  auto summary = assay::parse_loadgen_summary(text, "s");
  const auto detail = assay::parse_loadgen_detail(text, "d");
  if (summary && detail) {
    static_cast<void>(assay::merge_loadgen(*summary, *detail));
    static_cast<void>(assay::check_loadgen(*summary));
  }
  return 0;
}
