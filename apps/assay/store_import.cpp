#include "store_import.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"

namespace assay {
namespace {

Result<void> store_run(RunStore& store, RunWithSeries& recorded) {
  Run& run = recorded.run;
  ASSAY_TRY(const auto writer, begin_run(store, run));
  for (const auto& series : recorded.series) {
    const SeriesHandle handle = writer->open_series(series.key, series.unit);
    ASSAY_CHECK(writer->append_points(handle, series.points));
  }
  run.series = writer->summaries();
  run.state = RunState::ended;
  return writer->finish(run);
}

Result<void> store_all(RunStore& store, ImportedStudy& imported) {
  for (std::size_t i = 0; i < imported.runs.size(); ++i) {
    Run& run = imported.runs[i].run;
    run.study = imported.study.id;
    ASSAY_CHECK(store_run(store, imported.runs[i]).within(fmt::format("storing '{}'", run.name)));
    imported.study.plan[i].run = run.id;
  }
  return store.create_study(imported.study);
}

}  // namespace

Result<void> store_import(RunStore& store, ImportedStudy& imported) {
  imported.study.id = new_id();
  auto stored = store_all(store, imported);
  if (stored) return stored;
  for (const auto& one : imported.runs) {
    // The first error is the one to report.
    if (!one.run.id.empty()) (void)store.remove_run(one.run.id).ok();
  }
  return stored;
}

Result<std::optional<ImportedStudy>> find_import(RunStore& store, const std::string& spec_hash) {
  ASSAY_TRY(auto studies, store.list_studies());
  for (auto& study : studies) {
    const bool same =
        study.spec_hash == spec_hash && std::find(study.tags.begin(), study.tags.end(), "imported") != study.tags.end();
    if (!same) continue;
    ImportedStudy known;
    for (const auto& planned : study.plan) {
      auto run = store.find_run(planned.run);
      if (run) known.runs.push_back({.run = std::move(run).value()});
    }
    known.study = std::move(study);
    if (!known.runs.empty()) return std::optional(std::move(known));
  }
  return std::optional<ImportedStudy>();
}

}  // namespace assay
