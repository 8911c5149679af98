// libFuzzer entry: whatever a log holds, importing it ends with jobs or with a message, and every flag has its reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "importers/slurm/slurm_log.h"

namespace {

void import_files(std::span<const assay::NamedText> files) {
  const auto import = assay::import_slurm(files);
  if (!import) {
    if (import.error().message.empty()) std::abort();
    return;
  }
  for (const auto& flag : import->flags) {
    if (flag.kind.empty() || flag.message.empty()) std::abort();
  }
  for (const auto& job : import->jobs) {
    static_cast<void>(assay::seconds_per_epoch_of(job));
    static_cast<void>(assay::samples_per_second_of(job));
    static_cast<void>(assay::effective_batch_of(job));
    static_cast<void>(assay::gpu_utilisation_of(job));
    const auto accuracy = assay::val_accuracy_of(job);
    if (accuracy && !(*accuracy >= 0 && *accuracy <= 1)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const assay::NamedText whole{"slurm-1.out", text};
  import_files(std::span(&whole, 1));
  // The same bytes as the files of two ranks.
  const std::size_t cut = size ? data[0] % size : 0;
  const assay::NamedText parts[] = {{"slurm-1-0.out", text.substr(0, cut)}, {"slurm-1-1.out", text.substr(cut)}};
  import_files(parts);
  return 0;
}
