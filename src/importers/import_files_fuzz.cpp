// libFuzzer entry: whatever is in a file, every format imports it as complete runs or refuses it with a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "importers/imported_study.h"

namespace {

using assay::ImportedStudy;

void demand(bool holds) {
  if (!holds) std::abort();
}

void check(const ImportedStudy& imported) {
  demand(imported.study.plan.size() == imported.runs.size());
  demand(imported.runs.size() <= assay::kMostImportedRuns);
  demand(!imported.study.name.empty() || !imported.runs.empty());
  for (const auto& [run, series] : imported.runs) {
    demand(run.state == assay::RunState::ended);
    demand(run.verdict != assay::Verdict::none);
    demand(run.ranks >= 1 && run.nodes >= 1);
    demand(!run.variant.empty());
    demand(assay::run_from_json(assay::to_json(run)).ok());
  }
  demand(assay::study_from_json(assay::to_json(imported.study)).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(assay::guess_import_format(text, "file"));
  for (const auto format : assay::import_formats()) {
    const assay::NamedText files[] = {{"a/slurm-1.out", text.substr(0, size / 2)}, {"b/node0.json", text}};
    const auto imported = assay::import_files(format, files, {.price = assay::Price{0.6, "USD", "GPUh"}});
    if (imported) {
      check(*imported);
    } else {
      demand(!imported.error().message.empty());
    }
  }
  return 0;
}
