#include "importers/into_store/store_import.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "store/run_store.h"
#include "store/run_writer.h"
#include "store/study_list.h"

namespace assay {
namespace {

Result<void> store_run(RunStore& store, RunWithSeries& recorded, std::vector<std::string>& begun) {
  Run& run = recorded.run;
  ASSAY_TRY(const auto writer, begin_run(store, run));
  begun.push_back(run.id);
  for (const auto& series : recorded.series) {
    const SeriesHandle handle = writer->open_series(series.key, series.unit);
    ASSAY_CHECK(writer->append_points(handle, series.points));
  }
  run.series = writer->summaries();
  run.state = RunState::ended;
  return writer->finish(run);
}

Result<void> store_all(RunStore& store, ImportedStudy& imported, std::vector<std::string>& begun) {
  for (std::size_t i = 0; i < imported.runs.size(); ++i) {
    Run& run = imported.runs[i].run;
    run.study = imported.study.id;
    ASSAY_CHECK(store_run(store, imported.runs[i], begun).within(fmt::format("storing '{}'", run.name)));
    imported.study.plan[i].run = run.id;
  }
  return store.create_study(imported.study);
}

}  // namespace

Result<void> store_import(RunStore& store, ImportedStudy& imported) {
  imported.study.id = new_id();
  std::vector<std::string> begun;
  auto stored = store_all(store, imported, begun);
  if (stored) return stored;
  // The first error is the one to report.
  for (const auto& id : begun) (void)store.remove_run(id).ok();
  return stored;
}

Result<std::optional<ImportedStudy>> find_import(RunStore& store, const std::string& spec_hash) {
  ASSAY_TRY(const auto studies, store.list_studies({}));
  for (const auto& row : studies.rows) {
    const bool same =
        row.spec_hash == spec_hash && std::find(row.tags.begin(), row.tags.end(), "imported") != row.tags.end();
    if (!same) continue;
    ASSAY_TRY(auto study, store.find_study(row.id));
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
