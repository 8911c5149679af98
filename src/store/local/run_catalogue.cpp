#include "store/local/run_catalogue.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/log.h"
#include "store/journal/salvage.h"
#include "store/lease.h"
#include "store/read_journals.h"

namespace assay {
namespace {

/// Counts what a journal holds.
class Counter final : public JournalVisitor {
 public:
  void on_event(WallTime, std::string_view) override { ++events; }
  void on_points(const SeriesKey&, std::string_view, std::span<const SeriesPoint> all) override {
    points += all.size();
  }
  void on_output(OutputStream, WallTime, std::string_view bytes) override { output += bytes.size(); }

  std::size_t events = 0, points = 0, output = 0;
};

std::vector<RunRow> rows_of_folders(const RunCatalogue& catalogue) {
  std::vector<RunRow> rows;
  for (const auto& id : catalogue.folders()) {
    if (const auto run = catalogue.folder(id).load(); run.ok()) rows.push_back(row_of(*run));
  }
  std::sort(rows.begin(), rows.end(), [](const RunRow& a, const RunRow& b) { return a.created < b.created; });
  return rows;
}

WallTime last_write(const fs::path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};
  return WallTime(std::chrono::seconds(info.st_mtim.tv_sec) + Nanos(info.st_mtim.tv_nsec));
}

/// Whether its job goes on without an owner, so that another one can take it.
bool is_awaited(const Run& run) { return run.state == RunState::running && !run.placement.place.empty(); }
bool is_going_on(const Run& run) { return run.state == RunState::starting || run.state == RunState::running; }
/// Whether an owner far away has the run, or had it last.
bool is_leased_elsewhere(const RunFolder& folder) {
  const auto lease = folder.load_lease();
  return lease.ok() && *lease && (*lease)->expires;
}

/// What is known of a run's owner by its folder alone.
JournalOwner owner_state(const RunFolder& folder) {
  // The lock first: it is given up after run.json has its final form.
  const auto lock = folder.owner();
  if (lock == LockState::held) return JournalOwner::live;
  const auto run = folder.load();
  if (!run.ok()) return JournalOwner::gone;
  if (run->state == RunState::queued) return JournalOwner::live;
  if (run->state == RunState::ended) {
    // One that never began has no journal to put an end mark into.
    const bool began = run->started != WallTime{};
    return began && run->verdict != Verdict::interrupted ? JournalOwner::finished : JournalOwner::gone;
  }
  if (is_leased_elsewhere(folder) || lock == LockState::unknown) return JournalOwner::live;
  return is_awaited(*run) ? JournalOwner::awaited : JournalOwner::gone;
}

}  // namespace

Result<std::shared_ptr<RunCatalogue>> RunCatalogue::open(const fs::path& data, Sharing sharing, const Clock& clock) {
  std::shared_ptr<RunCatalogue> catalogue(new RunCatalogue(data, clock));
  ASSAY_TRY(catalogue->index_, Index::open(data, sharing, [raw = catalogue.get()] { return rows_of_folders(*raw); }));
  return catalogue;
}

Result<Run> RunCatalogue::load(const RunFolder& folder) const {
  auto run = folder.load();
  if (run.ok() || run.error().kind != ErrorKind::bad_file) return run;
  Counter counter;
  if (const auto read = this->read(folder, counter); read.ok() && counter.events + counter.points + counter.output) {
    run.error().message += fmt::format("; its journal is still readable: {} events, {} points, {} bytes of output",
                                       counter.events, counter.points, counter.output);
  }
  return run;
}

Result<Run> RunCatalogue::find(std::string_view id) {
  const auto folder = this->folder(id);
  auto run = load(folder);
  if (run.ok()) return close_if_abandoned(folder, std::move(run).value());
  if (run.error().kind == ErrorKind::not_found && is_file_name(id)) forget(id);
  return run;
}

Result<Run> RunCatalogue::change(std::string_view id, const std::function<Result<void>(Run&)>& change) {
  // Closes the run first if it must be, and keeps a wrong id from making a lock file.
  ASSAY_CHECK(find(id));
  const auto folder = this->folder(id);
  ASSAY_TRY(const auto lock, FileLock::acquire(folder.change_lock()));
  ASSAY_TRY(auto run, folder.load());
  ASSAY_CHECK(change(run));
  run.id = id;
  ASSAY_CHECK(folder.save(run));
  note(run);
  return run;
}

std::vector<JournalState> RunCatalogue::journals(const RunFolder& folder) const {
  std::vector<JournalState> all;
  const auto owners = owner_state(folder);
  // Those of further ranks come from where the owner is, or are written by a process that holds their lock.
  const bool brought = owners == JournalOwner::live && is_leased_elsewhere(folder);
  for (auto& name : folder.journals()) {
    const auto path = folder.journal(name);
    const auto owner = name == kOwnersJournal                                ? owners
                       : brought || FileLock::state(path) == LockState::held ? JournalOwner::live
                                                                             : JournalOwner::gone;
    // The size last: what it says then is whole.
    std::error_code code;
    const auto size = fs::file_size(path, code);
    all.push_back({std::move(name), code ? 0 : size, owner});
  }
  return all;
}

Result<void> RunCatalogue::read(const RunFolder& folder, JournalVisitor& visitor) const {
  const auto read = [&](std::string_view journal, std::uint64_t offset, std::size_t length) {
    return folder.read_journal(journal, offset, length);
  };
  ASSAY_CHECK(read_journals(journals(folder), read, visitor));
  return {};
}

bool RunCatalogue::is_abandoned(const RunFolder& folder, const Run& run) const {
  if (!is_going_on(run) || folder.owner() != LockState::free) return false;
  const auto lease = folder.load_lease();
  if (!lease.ok() || !*lease || !(*lease)->expires) return !is_awaited(run);
  return clock_.wall() > *(*lease)->expires + kLongestSilence;
}

Run RunCatalogue::close_if_abandoned(const RunFolder& folder, Run run) {
  if (!is_abandoned(folder, run)) return run;
  // In a folder that cannot be written the run is closed only in what we hand out.
  const auto lock = FileLock::acquire(folder.change_lock());
  if (lock.ok()) {
    // Somebody may have closed it meanwhile; then only the index is behind.
    if (auto now = folder.load(); now.ok() && !is_abandoned(folder, *now)) {
      note(*now);
      return std::move(now).value();
    }
  }
  Salvager salvager;
  if (const auto read = this->read(folder, salvager); !read.ok()) {
    log_warning("run '{}': {}", run.id, read.error().text());
  }
  WallTime last_sign{};
  for (const auto& name : folder.journals()) last_sign = std::max(last_sign, last_write(folder.journal(name)));
  run = salvager.close(std::move(run), last_sign, folder.owner_name());
  if (lock.ok()) {
    if (const auto saved = folder.save(run); !saved.ok()) {
      log_warning("run '{}' could not be closed as interrupted: {}", run.id, saved.error().text());
    }
    std::error_code ignored;
    fs::remove(folder.lease(), ignored);
  }
  note(run);
  return run;
}

std::vector<std::string> RunCatalogue::next_going_on() {
  const std::lock_guard hold(mutex_);
  auto found = index_->running(looked_until_, kMostLookedAt);
  if (!found.ok()) return {};
  auto ids = std::move(found).value();
  if (ids.size() < kMostLookedAt && !looked_until_.empty()) {
    const auto first = index_->running("", kMostLookedAt - ids.size());
    if (!first.ok()) return ids;
    for (const auto& id : *first) {
      if (id <= looked_until_) ids.push_back(id);
    }
  }
  looked_until_ = ids.size() < kMostLookedAt ? std::string() : ids.back();
  return ids;
}

void RunCatalogue::close_abandoned() {
  for (const auto& id : next_going_on()) {
    const auto folder = this->folder(id);
    if (folder.owner() != LockState::free) continue;
    auto run = folder.load();
    if (run.ok() && is_going_on(*run)) {
      close_if_abandoned(folder, std::move(run).value());
    } else if (run.ok()) {
      note(*run);
    } else if (run.error().kind == ErrorKind::not_found) {
      forget(id);
    }
  }
}

void RunCatalogue::note(const Run& run) { warn_once(index_->put(row_of(run))); }

void RunCatalogue::forget(std::string_view id) { warn_once(index_->forget(id)); }

void RunCatalogue::warn_once(const Result<void>& result) {
  if (result.ok() || warned_.exchange(true)) return;
  log_warning(
      "The index of runs could not be written ({}). The runs themselves are recorded; `assay reindex` brings "
      "the list up to date later.",
      result.error().text());
}

std::vector<std::string> RunCatalogue::folders() const {
  std::vector<std::string> ids;
  std::error_code code;
  for (fs::directory_iterator entry(runs(), code), end; !code && entry != end; entry.increment(code)) {
    auto name = entry->path().filename().string();
    std::error_code ignored;
    if (is_file_name(name) && entry->is_directory(ignored)) ids.push_back(std::move(name));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace assay
