#include "store/local/local_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/byte_stream.h"
#include "base/crash_point.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/units.h"
#include "model/run.h"
#include "store/lease.h"
#include "store/local/reindex.h"
#include "store/local/run_catalogue.h"
#include "store/local/run_leases.h"
#include "store/local/study_folder.h"
#include "store/read_journals.h"
#include "store/run_answers.h"
#include "store/run_points.h"

namespace assay {
namespace {

constexpr std::string_view kReadme = R"(This folder belongs to assay, the benchmarking platform.

  runs/<id>/run.json      what a run was, its settings, verdict and results, for people and programs
  runs/<id>/journal       everything it recorded: events, series, output (read it with `assay logs`, `assay show`)
  runs/<id>/ranks/        the same from further processes of the same job
  runs/<id>/artifacts/    files that belong to the run
  runs/<id>/lease.json    who records it just now
  studies/<id>.json       several runs that answer one question; <id>.runs: which run did which entry of its plan
  index.db                a list of the runs, made from the folders; `assay reindex` makes it again

A run's folder can be copied, moved to another data folder or deleted as a whole. Run `assay reindex` afterwards.
)";

/// write_file_atomically's temporary files end like this.
constexpr std::string_view kTemporarySuffix = ".tmp";
/// For charts: the points of some ten runs of a million each.
constexpr std::size_t kPointBudget = std::size_t{256} << 20;

/// So much of an artifact is written before somebody looks again whether there is room for more.
constexpr std::uint64_t kWrittenUnseen = std::uint64_t{64} << 20;

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

class LocalStore final : public RunStore {
 public:
  LocalStore(const fs::path& data, std::shared_ptr<RunCatalogue> runs, const Clock& clock,
             std::optional<Bytes> most_of_a_run)
      : runs_(std::move(runs)),
        leases_(runs_, clock),
        studies_(data / "studies"),
        clock_(clock),
        most_of_a_run_(most_of_a_run) {}

  Result<void> add_run(Run& run) override;
  Result<Lease> create_run(Run& run, const LeaseTerms& terms) override;
  Result<Lease> take_run(std::string_view id, const LeaseTerms& terms) override { return leases_.take(id, terms); }
  Result<Lease> renew_lease(const Lease& lease, Nanos length) override { return leases_.renew(lease, length); }
  void give_up(const Lease& lease) override { leases_.give_up(lease); }
  Result<std::optional<Lease>> find_lease(std::string_view id) override;
  Result<Run> change_owned(const Lease& lease, const std::function<Result<void>(Run&)>& change) override {
    return leases_.change_owned(lease, change);
  }
  Result<Lease> join_run(std::string_view id, std::string_view name) override;

  Result<std::uint64_t> append_frames(const Lease& lease, std::uint64_t offset, std::string_view frames) override;
  Result<std::vector<JournalState>> journals(std::string_view id) override;
  Result<std::string> read_frames(std::string_view id, std::string_view journal, std::uint64_t offset,
                                  std::size_t length) override;
  Result<std::vector<RunCurve>> read_curves(std::string_view id, const CurveQuestion& question) override {
    return points_.answer(*this, id, question);
  }

  Result<Run> find_run(std::string_view id) override { return runs_->find(id); }
  Result<RunPage> list_runs(const RunQuery& query) override {
    runs_->close_abandoned();
    return runs_->index().list(query);
  }
  Result<Run> change_run(std::string_view id, const std::function<Result<void>(Run&)>& change) override;
  Result<void> remove_run(std::string_view id) override;
  Result<std::vector<RunChange>> changes(std::uint64_t since, std::size_t limit) override {
    return runs_->index().changes(since, limit);
  }
  Result<std::uint64_t> newest_change() override { return runs_->index().newest_change(); }

  Result<void> attach(std::string_view run, std::string_view name, ByteSource& content) override;
  Result<std::vector<Artifact>> artifacts(std::string_view run) override;
  Result<std::unique_ptr<ByteSource>> open_artifact(std::string_view run, std::string_view name) override;

  Result<void> create_study(Study& study) override;
  Result<Study> find_study(std::string_view id) override { return studies_.find(id); }
  Result<StudyPage> list_studies(const StudyQuery& query) override { return studies_.list(query); }
  Result<void> note_planned_run(std::string_view study, std::size_t entry, std::string_view run) override {
    return studies_.note_run(study, entry, run);
  }
  Result<void> remove_study(std::string_view id) override { return studies_.remove(id); }

  Result<ReindexReport> reindex() override { return reindex_data_folder(*runs_, studies_); }

 private:
  /// The folder of a run that exists, readable or not.
  Result<RunFolder> existing(std::string_view id) const;
  /// How much more the run may record.
  std::uint64_t room_in(const RunFolder& folder) const;
  std::string no_room() const;
  /// `usage` where the run has as many files as it may have, and none of that name: each costs whoever looks.
  Result<void> check_number_of_files(const RunFolder& folder, std::string_view name) const;
  /// Makes the folder of a new run; with `terms`, this is its owner.
  Result<std::optional<RunLeases::Claim>> make_run(Run& run, const LeaseTerms* terms);

  std::shared_ptr<RunCatalogue> runs_;
  RunLeases leases_;
  StudyFolder studies_;
  PointCache points_{kPointBudget};
  const Clock& clock_;
  const std::optional<Bytes> most_of_a_run_;
};

Result<RunFolder> LocalStore::existing(std::string_view id) const {
  auto folder = runs_->folder(id);
  std::error_code code;
  if (!is_file_name(id) || !fs::is_directory(folder.path(), code)) return no_run(id);
  return folder;
}

Result<std::optional<RunLeases::Claim>> LocalStore::make_run(Run& run, const LeaseTerms* terms) {
  if (run.id.empty()) run.id = new_id();
  ASSAY_CHECK(check_file_name("id of a run", run.id));
  run.state = terms ? RunState::running : RunState::queued;
  if (run.created == WallTime{}) run.created = clock_.wall();

  // Made beside its place and moved there when it is complete: nobody ever sees half a run.
  const auto final = runs_->folder(run.id);
  const RunFolder staged(runs_->runs() / fmt::format("{}{}", kStagingPrefix, new_id()), run.id);
  const auto make = [&]() -> Result<std::optional<RunLeases::Claim>> {
    std::optional<RunLeases::Claim> claim;
    ASSAY_CHECK(make_folders(staged.path()));
    ASSAY_CHECK(open_file(staged.journal(), O_WRONLY | O_CREAT | O_EXCL));
    if (terms) {
      ASSAY_TRY(claim, leases_.claim_new(staged, *terms));
    }
    ASSAY_CHECK(staged.save(run));
    if (::rename(staged.path().c_str(), final.path().c_str()) != 0) {
      if (errno == EEXIST || errno == ENOTEMPTY) {
        return Error{.kind = ErrorKind::busy, .message = fmt::format("there is a run '{}' already", run.id)};
      }
      return system_error(errno, "cannot move it to its place");
    }
    return claim;
  };
  auto claim = make();
  if (claim.ok()) {
    crash_point("run-stored");
    runs_->note(run);
  } else {
    std::error_code ignored;
    fs::remove_all(staged.path(), ignored);
  }
  return std::move(claim).within(fmt::format("creating run '{}'", run.id));
}

Result<void> LocalStore::add_run(Run& run) {
  ASSAY_CHECK(make_run(run, nullptr));
  return {};
}

Result<Lease> LocalStore::create_run(Run& run, const LeaseTerms& terms) {
  ASSAY_TRY(auto claim, make_run(run, &terms));
  return leases_.hold(std::move(*claim));
}

Result<std::optional<Lease>> LocalStore::find_lease(std::string_view id) {
  ASSAY_TRY(const auto folder, existing(id));
  // Whoever ended it may have been killed before it could tidy up.
  if (const auto run = folder.load(); run.ok() && run->state == RunState::ended) return std::optional<Lease>();
  return folder.load_lease();
}

Result<Lease> LocalStore::join_run(std::string_view id, std::string_view name) {
  ASSAY_CHECK(check_file_name("name of a rank", name));
  ASSAY_TRY(const auto folder, existing(id));
  ASSAY_CHECK(folder.load());
  return leases_.join(folder, name).within(fmt::format("joining run '{}'", id));
}

std::uint64_t LocalStore::room_in(const RunFolder& folder) const {
  if (!most_of_a_run_) return UINT64_MAX;
  const auto most = static_cast<std::uint64_t>(most_of_a_run_->count);
  return most - std::min(most, folder.bytes());
}

Result<void> LocalStore::check_number_of_files(const RunFolder& folder, std::string_view name) const {
  std::error_code code;
  if (!most_of_a_run_ || fs::exists(folder.artifacts() / name, code)) return {};
  std::size_t files = 0;
  for (fs::directory_iterator entry(folder.artifacts(), code), end; !code && entry != end; entry.increment(code)) {
    ++files;
  }
  if (files < kMostFilesOfRun) return {};
  return Error{
      .kind = ErrorKind::usage,
      .message = fmt::format("run '{}' has {} files already, as many as the leader keeps of one", folder.id(), files)};
}

std::string LocalStore::no_room() const {
  return fmt::format("a run may record {} with its files ('bytes_per_run' of the leader)",
                     format_bytes(*most_of_a_run_));
}

Result<std::uint64_t> LocalStore::append_frames(const Lease& lease, std::uint64_t offset, std::string_view frames) {
  if (frames.empty() || !is_file_name(lease.run) || frames.size() <= room_in(runs_->folder(lease.run))) {
    return leases_.append(lease, offset, frames);
  }
  auto owners = lease;
  owners.journal = kOwnersJournal;
  ASSAY_CHECK(leases_.change_owned(owners, [&](Run& run) -> Result<void> {
    run.state = RunState::ended;
    run.verdict = Verdict::failed;
    run.error = RunError{.kind = ErrorKind::io,
                         .message = "it was ended: " + no_room(),
                         .hint = "Let it record less, or raise the limit."};
    run.flags.push_back({"recording_incomplete", "journal", "What it recorded after that was not kept."});
    run.ended = clock_.wall();
    if (run.started != WallTime{}) run.duration = std::max(run.ended - run.started, Nanos(0));
    return {};
  }));
  return Error{.kind = ErrorKind::usage, .message = fmt::format("run '{}' has ended: {}", lease.run, no_room())};
}

Result<std::vector<JournalState>> LocalStore::journals(std::string_view id) {
  ASSAY_TRY(const auto folder, existing(id));
  return runs_->journals(folder);
}

Result<std::string> LocalStore::read_frames(std::string_view id, std::string_view journal, std::uint64_t offset,
                                            std::size_t length) {
  ASSAY_TRY(const auto folder, existing(id));
  return folder.read_journal(journal, offset, length);
}

Result<Run> LocalStore::change_run(std::string_view id, const std::function<Result<void>(Run&)>& change) {
  return runs_->change(id, [&](Run& run) -> Result<void> {
    const auto state = run.state;
    const auto verdict = run.verdict;
    ASSAY_CHECK(change(run));
    run.state = state;
    run.verdict = verdict;
    return {};
  });
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
    const bool may_be_running = !run.ok() || run->state == RunState::starting || run->state == RunState::running;
    const auto lease = folder->load_lease();
    const bool leased = lease.ok() && *lease && (*lease)->expires && clock_.wall() < *(*lease)->expires;
    if (may_be_running && (leased || folder->owner() != LockState::free)) {
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
  crash_point("run-in-trash");
  runs_->forget(id);
  points_.forget(id);
  std::error_code code;
  fs::remove_all(trash, code);
  if (code) return system_error(code.value(), fmt::format("cannot delete '{}'", trash.string()));
  crash_point("run-removed");
  return {};
}

Result<void> LocalStore::attach(std::string_view run, std::string_view name, ByteSource& content) {
  ASSAY_CHECK(check_file_name("name of an artifact", name));
  if (!is_artifact_name(name)) {
    return Error{.kind = ErrorKind::usage, .message = "the name of an artifact must not end with '.tmp'"};
  }
  ASSAY_TRY(const auto folder, existing(run));
  ASSAY_CHECK(make_folders(folder.artifacts()));
  ASSAY_CHECK(check_number_of_files(folder, name));
  // Nobody waits for a long one: it is written beside its place, and the last to be complete counts.
  const auto staged = folder.artifacts() / fmt::format("{}{}", new_id(), kTemporarySuffix);
  std::uint64_t room = 0;
  const auto write = [&]() -> Result<void> {
    ASSAY_TRY(const auto file, open_file(staged, O_WRONLY | O_CREAT | O_EXCL));
    ASSAY_CHECK(pour(content, [&](std::string_view piece) -> Result<void> {
      // Others may be writing, too.
      if (piece.size() > room) room = std::min(room_in(folder), std::max<std::uint64_t>(kWrittenUnseen, piece.size()));
      if (piece.size() > room) return Error{.kind = ErrorKind::usage, .message = no_room()};
      room -= piece.size();
      return write_all(file.get(), piece);
    }));
    if (::fsync(file.get()) != 0) return system_error(errno, "cannot sync it");
    if (::rename(staged.c_str(), (folder.artifacts() / name).c_str()) != 0) {
      return system_error(errno, "cannot move it to its place");
    }
    return {};
  };
  auto written = write();
  std::error_code ignored;
  if (!written.ok()) fs::remove(staged, ignored);
  crash_point("artifact-stored");
  return std::move(written).within(fmt::format("keeping '{}'", name));
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

Result<std::unique_ptr<ByteSource>> LocalStore::open_artifact(std::string_view run, std::string_view name) {
  ASSAY_TRY(const auto folder, existing(run));
  const Error missing{.kind = ErrorKind::not_found, .message = fmt::format("run '{}' has no artifact '{}'", run, name)};
  if (!is_artifact_name(name)) return missing;
  auto file = file_source(folder.artifacts() / name);
  if (!file && file.error().kind == ErrorKind::missing_file) return missing;
  return file;
}

Result<void> LocalStore::create_study(Study& study) {
  if (study.id.empty()) study.id = new_id();
  ASSAY_CHECK(check_file_name("id of a study", study.id));
  if (study.created == WallTime{}) study.created = clock_.wall();
  return studies_.create(study).within(fmt::format("creating study '{}'", study.id));
}

}  // namespace

Result<std::unique_ptr<RunStore>> open_local_store(const fs::path& folder, const LocalStoreOptions& options) {
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
  static const SystemClock kSystemClock;
  const Clock& clock = options.clock ? *options.clock : kSystemClock;
  ASSAY_TRY(auto runs, RunCatalogue::open(folder, *sharing, clock));
  if (options.tidy) ASSAY_CHECK(tidy_data_folder(*runs));
  return std::unique_ptr<RunStore>(std::make_unique<LocalStore>(folder, std::move(runs), clock, options.most_of_a_run));
}

}  // namespace assay
