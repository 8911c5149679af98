#include "store/local/reindex.h"

#include <algorithm>

#include "store/run_answers.h"

namespace assay {
namespace {

void remove_leftovers(const RunCatalogue& runs) {
  std::vector<fs::path> leftovers;
  const auto collect = [&](const fs::path& folder, std::string_view prefix) {
    std::error_code code;
    for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
      if (entry->path().filename().string().starts_with(prefix)) leftovers.push_back(entry->path());
    }
  };
  collect(runs.data(), kTrashPrefix);
  collect(runs.runs(), kStagingPrefix);
  for (const auto& path : leftovers) {
    const RunFolder folder(path, "");
    std::error_code code;
    // A folder without the lock file is being made this very moment, or empty.
    const bool has_owner_file = fs::exists(folder.owner_lock(), code);
    if (has_owner_file ? folder.owner() == LockState::free : !path.filename().string().starts_with(kStagingPrefix)) {
      fs::remove_all(path, code);
    }
  }
}

}  // namespace

Result<void> tidy_data_folder(RunCatalogue& runs) {
  remove_leftovers(runs);
  ASSAY_TRY(const auto listed, runs.index().ids());
  for (const auto& id : runs.folders()) {
    if (listed.contains(id)) continue;
    if (const auto run = runs.folder(id).load(); run.ok()) runs.note(*run);
  }
  return {};
}

Result<ReindexReport> reindex_data_folder(RunCatalogue& runs, const StudyFolder& studies) {
  ReindexReport report;
  remove_leftovers(runs);

  std::vector<RunRow> rows;
  for (const auto& id : runs.folders()) {
    const auto before = runs.load(runs.folder(id));
    auto run = before.ok() ? runs.find(id) : before;
    if (run.ok()) {
      if (before->state != RunState::ended && run->verdict == Verdict::interrupted) ++report.interrupted;
      rows.push_back(row_of(*run));
    } else if (run.error().kind != ErrorKind::not_found) {
      report.problems.push_back({"run " + id, std::move(run).error()});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const RunRow& a, const RunRow& b) { return a.created < b.created; });
  report.runs = static_cast<int>(rows.size());

  for (const auto& id : studies.ids()) {
    auto study = studies.find(id);
    if (study.ok()) {
      ++report.studies;
    } else if (study.error().kind != ErrorKind::not_found) {
      report.problems.push_back({"study " + id, std::move(study).error()});
    }
  }

  // Runs that others create meanwhile are in the index but not in `rows`: only what has no folder is forgotten.
  const auto readable = [&](const std::string& id) { return runs.folder(id).load().ok(); };
  ASSAY_CHECK(runs.index().replace(rows, readable).within("writing the index"));
  return report;
}

}  // namespace assay
