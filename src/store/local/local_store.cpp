#include "store/local/local_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/ids.h"
#include "base/log.h"
#include "store/local/reindex.h"
#include "store/local/run_catalogue.h"
#include "store/local/run_journals.h"
#include "store/local/run_writers.h"
#include "store/local/study_folder.h"

namespace assay {
namespace {

constexpr std::string_view kReadme = R"(This folder belongs to assay, the benchmarking platform.

  runs/<id>/run.json      what a run was, its settings, verdict and results, for people and programs
  runs/<id>/journal       everything it recorded: events, series, output (read it with `assay logs`, `assay show`)
  runs/<id>/ranks/        the same from further processes of the same job
  runs/<id>/artifacts/    files that belong to the run
  studies/<id>.json       several runs that answer one question
  index.db                a list of the runs, made from the folders; `assay reindex` makes it again

A run's folder can be copied, moved to another data folder or deleted as a whole. Run `assay reindex` afterwards.
)";

/// write_file_atomically's temporary files end like this.
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::size_t kArtifactLimit = std::size_t{1} << 30;

Result<void> check_file_name(std::string_view what, std::string_view name) {
  if (is_file_name(name)) return {};
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("this {} cannot be used: it must have 1 to 128 bytes, no '/', no control "
                                      "characters and no dot in front",
                                      what)};
}

Error no_run(std::string_view id) {
  return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no run '{}'", id)};
}

bool is_artifact_name(std::string_view name) { return is_file_name(name) && !name.ends_with(kTemporarySuffix); }

class LocalStore final : public Store {
 public:
  LocalStore(const fs::path& data, std::shared_ptr<RunCatalogue> runs)
      : runs_(std::move(runs)), studies_(data / "studies") {}

  Result<std::unique_ptr<RunWriter>> create_run(Run& run) override;
  Result<std::unique_ptr<RunWriter>> join_run(std::string_view id, std::string_view name) override;
  Result<Run> find_run(std::string_view id) override { return runs_->find(id); }
  Result<RunPage> list_runs(const RunQuery& query) override {
    runs_->close_abandoned();
    return runs_->index().list(query);
  }
  Result<Run> change_run(std::string_view id, const std::function<Result<void>(Run&)>& change) override {
    return runs_->change(id, change);
  }
  Result<void> remove_run(std::string_view id) override;
  Result<JournalPosition> read_journal(std::string_view id, JournalVisitor& visitor, JournalPosition from) override;

  Result<void> attach(std::string_view run, std::string_view name, std::string_view content) override;
  Result<std::vector<Artifact>> artifacts(std::string_view run) override;
  Result<std::string> read_artifact(std::string_view run, std::string_view name) override;

  Result<void> create_study(Study& study) override;
  Result<Study> find_study(std::string_view id) override { return studies_.find(id); }
  Result<std::vector<Study>> list_studies() override;
  Result<Study> change_study(std::string_view id, const std::function<Result<void>(Study&)>& change) override {
    return studies_.change(id, change);
  }
  Result<void> remove_study(std::string_view id) override { return studies_.remove(id); }

  Result<ReindexReport> reindex() override { return reindex_data_folder(*runs_, studies_); }

 private:
  /// The folder of a run that exists, readable or not.
  Result<RunFolder> existing(std::string_view id) const;

  std::shared_ptr<RunCatalogue> runs_;
  StudyFolder studies_;
};

Result<RunFolder> LocalStore::existing(std::string_view id) const {
  auto folder = runs_->folder(id);
  std::error_code code;
  if (!is_file_name(id) || !fs::is_directory(folder.path(), code)) return no_run(id);
  return folder;
}

Result<std::unique_ptr<RunWriter>> LocalStore::create_run(Run& run) {
  if (run.id.empty()) run.id = new_id();
  ASSAY_CHECK(check_file_name("id of a run", run.id));
  run.state = RunState::running;
  if (run.created == WallTime{}) run.created = SystemClock().wall();

  // Made beside its place and moved there when it is complete: nobody ever sees half a run.
  const auto final = runs_->folder(run.id);
  const RunFolder staged(runs_->runs() / fmt::format("{}{}", kStagingPrefix, new_id()), run.id);
  const auto make = [&]() -> Result<std::unique_ptr<RunWriter>> {
    ASSAY_CHECK(make_folders(staged.path()));
    ASSAY_TRY(auto owner, take_ownership(staged));
    ASSAY_TRY(auto journal, JournalWriter::create(staged.journal()));
    ASSAY_CHECK(staged.save(run));
    if (::rename(staged.path().c_str(), final.path().c_str()) != 0) {
      if (errno == EEXIST || errno == ENOTEMPTY) {
        return Error{.kind = ErrorKind::busy, .message = fmt::format("there is a run '{}' already", run.id)};
      }
      return system_error(errno, "cannot move it to its place");
    }
    return std::unique_ptr<RunWriter>(
        std::make_unique<OwnerRunWriter>(runs_, run, std::move(journal), std::move(owner)));
  };
  auto writer = make();
  if (writer.ok()) {
    runs_->note(run);
  } else {
    std::error_code ignored;
    fs::remove_all(staged.path(), ignored);
  }
  return std::move(writer).within(fmt::format("creating run '{}'", run.id));
}

Result<std::unique_ptr<RunWriter>> LocalStore::join_run(std::string_view id, std::string_view name) {
  ASSAY_CHECK(check_file_name("name of a rank", name));
  ASSAY_TRY(const auto folder, existing(id));
  ASSAY_CHECK(folder.load());
  ASSAY_CHECK(make_folders(folder.ranks()));
  ASSAY_TRY(auto journal,
            JournalWriter::create(rank_journal(folder, name)).within(fmt::format("joining run '{}'", id)));
  // Tells readers that more may come.
  ASSAY_CHECK(FileLock::lock(journal.descriptor()));
  return std::unique_ptr<RunWriter>(std::make_unique<RankRunWriter>(std::string(id), std::move(journal)));
}

Result<void> LocalStore::remove_run(std::string_view id) {
  auto folder = existing(id);
  if (!folder.ok()) {
    if (is_file_name(id)) runs_->forget(id);
    return std::move(folder).error();
  }
  const auto trash = runs_->data() / fmt::format("{}{}", kTrashPrefix, id);
  {
    ASSAY_TRY(const auto lock, FileLock::acquire(folder->change_lock()));
    const auto run = folder->load();
    const bool may_be_running = !run.ok() || run->state == RunState::running;
    if (may_be_running && folder->owner() != LockState::free) {
      return Error{.kind = ErrorKind::busy,
                   .message = fmt::format("run '{}' is still going on", id),
                   .hint = "Stop it first, or wait until it has ended."};
    }
    std::error_code ignored;
    fs::remove_all(trash, ignored);
    if (::rename(folder->path().c_str(), trash.c_str()) != 0) {
      return system_error(errno, fmt::format("cannot remove run '{}'", id));
    }
  }
  runs_->forget(id);
  std::error_code code;
  fs::remove_all(trash, code);
  if (code) return system_error(code.value(), fmt::format("cannot delete '{}'", trash.string()));
  return {};
}

Result<JournalPosition> LocalStore::read_journal(std::string_view id, JournalVisitor& visitor, JournalPosition from) {
  ASSAY_TRY(const auto folder, existing(id));
  return read_run_journals(folder, visitor, std::move(from)).within(fmt::format("reading the journal of run '{}'", id));
}

Result<void> LocalStore::attach(std::string_view run, std::string_view name, std::string_view content) {
  ASSAY_CHECK(check_file_name("name of an artifact", name));
  if (!is_artifact_name(name)) {
    return Error{.kind = ErrorKind::usage, .message = "the name of an artifact must not end with '.tmp'"};
  }
  ASSAY_TRY(const auto folder, existing(run));
  ASSAY_TRY(const auto lock, FileLock::acquire(folder.change_lock()));
  ASSAY_CHECK(make_folders(folder.artifacts()));
  return write_file_atomically(folder.artifacts() / name, content);
}

Result<std::vector<Artifact>> LocalStore::artifacts(std::string_view run) {
  ASSAY_TRY(const auto folder, existing(run));
  std::vector<Artifact> all;
  std::error_code code;
  for (fs::directory_iterator entry(folder.artifacts(), code), end; !code && entry != end; entry.increment(code)) {
    auto name = entry->path().filename().string();
    std::error_code ignored;
    if (!is_artifact_name(name) || !entry->is_regular_file(ignored)) continue;
    all.push_back({std::move(name), static_cast<std::int64_t>(entry->file_size(ignored))});
  }
  std::sort(all.begin(), all.end(), [](const Artifact& a, const Artifact& b) { return a.name < b.name; });
  return all;
}

Result<std::string> LocalStore::read_artifact(std::string_view run, std::string_view name) {
  ASSAY_TRY(const auto folder, existing(run));
  const Error missing{.kind = ErrorKind::not_found, .message = fmt::format("run '{}' has no artifact '{}'", run, name)};
  if (!is_artifact_name(name)) return missing;
  auto content = read_file(folder.artifacts() / name, kArtifactLimit);
  if (!content.ok() && content.error().kind == ErrorKind::missing_file) return missing;
  return content;
}

Result<void> LocalStore::create_study(Study& study) {
  if (study.id.empty()) study.id = new_id();
  ASSAY_CHECK(check_file_name("id of a study", study.id));
  if (study.created == WallTime{}) study.created = SystemClock().wall();
  return studies_.create(study).within(fmt::format("creating study '{}'", study.id));
}

Result<std::vector<Study>> LocalStore::list_studies() {
  std::vector<Study> studies;
  for (const auto& id : studies_.ids()) {
    auto study = studies_.find(id);
    if (study.ok()) {
      studies.push_back(std::move(study).value());
    } else if (study.error().kind != ErrorKind::not_found) {
      log_warning("{}", study.error().text());
    }
  }
  std::sort(studies.begin(), studies.end(),
            [](const Study& a, const Study& b) { return std::pair(b.created, b.id) < std::pair(a.created, a.id); });
  return studies;
}

}  // namespace

Result<std::unique_ptr<Store>> open_local_store(const fs::path& folder, const LocalStoreOptions& options) {
  std::error_code code;
  const bool existed = fs::is_directory(folder, code);
  if (auto made = make_folders(folder / "runs"); !made.ok()) {
    if (!existed) {
      auto error = std::move(made).error();
      error.hint = "Choose another folder with --data DIR or ASSAY_DATA.";
      return error;
    }
  } else if (const auto readme = folder / "README.txt"; !fs::exists(readme, code)) {
    // For people who come across the folder; nothing depends on it.
    [[maybe_unused]] const auto written = write_file_atomically(readme, kReadme);
  }
  auto sharing = options.sharing;
  if (!sharing) {
    const auto kind = file_system_of(folder).value_or({});
    sharing = kind.network ? Sharing::network : Sharing::local;
    if (kind.network) {
      log_info("'{}' is on a network file system ({}): the index is written by one process at a time.", folder.string(),
               kind.name);
    }
  }
  ASSAY_TRY(auto runs, RunCatalogue::open(folder, *sharing));
  return std::unique_ptr<Store>(std::make_unique<LocalStore>(folder, std::move(runs)));
}

}  // namespace assay
