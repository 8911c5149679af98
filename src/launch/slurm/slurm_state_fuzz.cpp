// libFuzzer entry: whatever Slurm's programs print, or people write behind `slurm:`, is read or refused with words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launch/job.h"
#include "launch/slurm/slurm_place.h"
#include "launch/slurm/slurm_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& [id, record] : assay::parse_squeue(text)) {
    if (id <= 0 || record.state.empty()) std::abort();
    if (assay::waiting_text(id, record).empty()) std::abort();
    const auto error = assay::ended_by_slurm(id, record);
    if (error && error->message.empty()) std::abort();
  }
  static_cast<void>(assay::parse_sacct(text, 12));
  const auto id = assay::parse_sbatch(text);
  if (id && *id <= 0) std::abort();
  if (assay::refused_by_slurm(text).message.empty()) std::abort();
  const auto written = assay::parse_place(text);
  const assay::Result<assay::SlurmPlace> place = written ? assay::slurm_place_from(*written) : written.error();
  if (!place && place.error().message.empty()) std::abort();
  if (place) {
    for (const auto& argument : assay::sbatch_arguments(assay::slurm_request(*place, {.arguments = {"true"}}, "key"))) {
      if (!argument.starts_with("--") || argument.find('\n') != std::string::npos) std::abort();
    }
  }
  return 0;
}
