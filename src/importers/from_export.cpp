#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "importers/draft_study.h"
#include "redact/redact.h"

namespace assay {

ImportedStudy study_from_exports(std::vector<RunWithSeries> runs) {
  DraftStudy draft;
  std::string origins;
  for (auto& exported : runs) {
    Run& run = exported.run;
    origins += fmt::format("  - {{run: {}, name: {}}}\n", json::serialize(json::value(run.id)),
                           json::serialize(json::value(redact(printable(run.name)))));
    if (run.state != RunState::ended) {
      run.flags.push_back({"exported_early", run.name, "the run had not ended when it was exported"});
      run.error = RunError{.kind = ErrorKind::interrupted, .message = "exported before its end"};
      run.state = RunState::ended;
      run.verdict = Verdict::interrupted;
    }
    for (const std::string tag : {"imported", "imported=run"}) {
      if (std::find(run.tags.begin(), run.tags.end(), tag) == run.tags.end()) run.tags.push_back(tag);
    }
    run.ranks = std::max(run.ranks, 1);
    run.nodes = std::max(run.nodes, 1);
    // What refers to the store it was in.
    run.id.clear();
    run.study.clear();
    // Summed up again from the points.
    run.series.clear();
    draft.runs.push_back({.recorded = std::move(exported)});
  }
  settle_variants(draft);
  ImportedStudy imported = finish_study(std::move(draft));
  if (!origins.empty()) imported.study.source = "exported:\n" + origins;
  return imported;
}

}  // namespace assay
