#include "store/memory/run_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/byte_stream.h"
#include "base/ids.h"
#include "model/study.h"
#include "store/journal/journal_reader.h"
#include "store/journal/salvage.h"
#include "store/journal_state.h"
#include "store/lease.h"
#include "store/memory/row_filter.h"
#include "store/read_journals.h"
#include "store/run_answers.h"
#include "store/run_points.h"
#include "store/study_list.h"

namespace assay {

struct RunMemory {
  struct Journal {
    std::string bytes;
    bool open = false;     ///< somebody may still append
    bool brought = false;  ///< by the run's owner, until the run ends
  };
  struct Entry {
    Run run;
    std::optional<Lease> lease;
    std::uint64_t change = 0;
    std::map<std::string, Journal, std::less<>> journals;
    std::map<std::string, std::string, std::less<>> artifacts;
  };
  std::mutex mutex;
  std::map<std::string, Entry, std::less<>> runs;
  std::map<std::string, std::uint64_t, std::less<>> removed;
  std::map<std::string, Study, std::less<>> studies;
  std::uint64_t newest_change = 0;
};

std::shared_ptr<RunMemory> make_run_memory() { return std::make_shared<RunMemory>(); }

namespace {

using Entry = RunMemory::Entry;

/// Whether its job goes on without an owner.
bool is_awaited(const Run& run) { return run.state == RunState::running && !run.placement.place.empty(); }

Error refused(ErrorKind kind, std::string message) { return Error{.kind = kind, .message = std::move(message)}; }

class MemoryStore final : public RunStore {
 public:
  MemoryStore(std::shared_ptr<RunMemory> memory, const Clock& clock) : memory_(std::move(memory)), clock_(clock) {}

  Result<void> add_run(Run& run) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_CHECK(insert(run, RunState::queued));
    return {};
  }
  Result<Lease> create_run(Run& run, const LeaseTerms& terms) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(auto* entry, insert(run, RunState::running));
    return grant(*entry, terms);
  }
  Result<Lease> take_run(std::string_view id, const LeaseTerms& terms) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(auto* entry, find(id));
    if (entry->run.state == RunState::ended) return refused(ErrorKind::usage, "the run has ended");
    if (is_good(entry->lease) && (!entry->lease->expires || entry->lease->owner != terms.owner)) {
      return refused(ErrorKind::busy, fmt::format("the run has an owner: {}", entry->lease->owner));
    }
    if (entry->run.state == RunState::queued) entry->run.state = RunState::starting;
    entry->journals[std::string(kOwnersJournal)].open = true;
    note(*entry);
    return grant(*entry, terms);
  }
  Result<Lease> renew_lease(const Lease& lease, Nanos length) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(auto* entry, owned(lease));
    if (entry->lease->expires) entry->lease->expires = clock_.wall() + length;
    return *entry->lease;
  }
  void give_up(const Lease& lease) override {
    const std::lock_guard lock(memory_->mutex);
    const auto found = memory_->runs.find(lease.run);
    if (found == memory_->runs.end()) return;
    auto& entry = found->second;
    if (lease.journal != kOwnersJournal) {
      entry.journals[lease.journal].open = false;
    } else if (entry.lease && entry.lease->epoch == lease.epoch) {
      // A process that gives up is gone; somebody far away has only run out of time.
      const bool process = !entry.lease->expires;
      if (process && !is_awaited(entry.run)) return close(entry);
      entry.lease->expires = clock_.wall();
      if (process) entry.journals[lease.journal].open = false;
    }
  }
  Result<std::optional<Lease>> find_lease(std::string_view id) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(const auto* entry, find(id));
    return entry->lease;
  }
  Result<Run> change_owned(const Lease& lease, const std::function<Result<void>(Run&)>& change) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(auto* entry, owned(lease));
    auto next = entry->run;
    ASSAY_CHECK(change(next));
    if (next.state < entry->run.state) return refused(ErrorKind::usage, "a run does not go back");
    next.id = lease.run;
    entry->run = std::move(next);
    if (entry->run.state == RunState::ended) {
      entry->lease.reset();
      entry->journals[lease.journal].open = false;
    }
    note(*entry);
    return entry->run;
  }
  Result<Lease> join_run(std::string_view id, std::string_view name) override {
    const std::lock_guard lock(memory_->mutex);
    if (!is_file_name(name)) return refused(ErrorKind::usage, "this name of a rank cannot be used");
    ASSAY_TRY(auto* entry, find(id));
    const auto [journal, is_new] = entry->journals.try_emplace(std::string(name));
    if (!is_new) return refused(ErrorKind::busy, fmt::format("'{}' has been here already", name));
    journal->second.open = true;
    return Lease{.run = std::string(id), .journal = std::string(name), .owner = "this process"};
  }

  Result<std::uint64_t> append_frames(const Lease& lease, std::uint64_t offset, std::string_view frames) override {
    const std::lock_guard lock(memory_->mutex);
    // A further process has none of the owner's epochs.
    ASSAY_TRY(auto* entry, lease.journal == kOwnersJournal || lease.epoch > 0 ? owned(lease) : find(lease.run));
    if (!is_file_name(lease.journal)) return refused(ErrorKind::denied, "there is no such journal");
    auto& journal = entry->journals[lease.journal];
    if (lease.journal != kOwnersJournal && lease.epoch > 0) journal.brought = true;
    auto& bytes = journal.bytes;
    if (offset > bytes.size() || offset + frames.size() <= bytes.size()) return bytes.size();
    const auto fresh = frames.substr(bytes.size() - offset);
    if (whole_frames(fresh, bytes.size()) != fresh.size())
      return refused(ErrorKind::usage, "these are no whole frames");
    bytes += fresh;
    return bytes.size();
  }
  Result<std::vector<JournalState>> journals(std::string_view id) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(const auto* entry, find(id));
    return states_of(*entry);
  }
  Result<std::string> read_frames(std::string_view id, std::string_view journal, std::uint64_t offset,
                                  std::size_t length) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(const auto* entry, find(id));
    const auto found = entry->journals.find(journal);
    if (found == entry->journals.end()) return refused(ErrorKind::not_found, "there is no such journal");
    const auto& bytes = found->second.bytes;
    return offset < bytes.size() ? bytes.substr(offset, length) : std::string();
  }
  Result<std::vector<RunCurve>> read_curves(std::string_view id, const CurveQuestion& question) override {
    return draw_curves(question, [&](JournalVisitor& visitor) -> Result<void> {
      ASSAY_CHECK(read_journal(*this, id, visitor));
      return {};
    });
  }

  Result<Run> find_run(std::string_view id) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(const auto* entry, find(id));
    return entry->run;
  }
  Result<RunPage> list_runs(const RunQuery& query) override {
    const std::lock_guard lock(memory_->mutex);
    std::vector<RunRow> rows;
    for (const auto& [id, entry] : memory_->runs) {
      if (entry.change > query.changed_after.value_or(0)) rows.push_back(row_of(entry.run));
    }
    return filter_rows(std::move(rows), query);
  }
  Result<Run> change_run(std::string_view id, const std::function<Result<void>(Run&)>& change) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(auto* entry, find(id));
    auto next = entry->run;
    ASSAY_CHECK(change(next));
    next.id = entry->run.id;
    next.state = entry->run.state;
    next.verdict = entry->run.verdict;
    entry->run = std::move(next);
    note(*entry);
    return entry->run;
  }
  Result<void> remove_run(std::string_view id) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(const auto* entry, find(id));
    if (is_good(entry->lease)) return refused(ErrorKind::busy, "the run is still going on");
    memory_->removed[entry->run.id] = ++memory_->newest_change;
    memory_->runs.erase(memory_->runs.find(id));
    return {};
  }
  Result<std::vector<RunChange>> changes(std::uint64_t since, std::size_t limit) override {
    const std::lock_guard lock(memory_->mutex);
    std::vector<RunChange> all;
    for (const auto& [id, entry] : memory_->runs) all.push_back({entry.change, id, false});
    for (const auto& [id, change] : memory_->removed) all.push_back({change, id, true});
    std::erase_if(all, [&](const RunChange& change) { return change.sequence <= since; });
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
    if (all.size() > limit) all.resize(limit);
    return all;
  }
  Result<std::uint64_t> newest_change() override {
    const std::lock_guard lock(memory_->mutex);
    return memory_->newest_change;
  }

  Result<void> attach(std::string_view run, std::string_view name, ByteSource& content) override {
    if (!is_file_name(name)) return refused(ErrorKind::usage, "this name of an artifact cannot be used");
    ASSAY_CHECK(find_run(run));
    ASSAY_TRY(auto bytes, read_all(content, SIZE_MAX));
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(auto* entry, find(run));
    entry->artifacts[std::string(name)] = std::move(bytes);
    return {};
  }
  Result<std::vector<Artifact>> artifacts(std::string_view run) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(const auto* entry, find(run));
    std::vector<Artifact> all;
    for (const auto& [name, content] : entry->artifacts) {
      all.push_back({name, static_cast<std::int64_t>(content.size())});
    }
    return all;
  }
  Result<std::unique_ptr<ByteSource>> open_artifact(std::string_view run, std::string_view name) override {
    const std::lock_guard lock(memory_->mutex);
    ASSAY_TRY(const auto* entry, find(run));
    const auto found = entry->artifacts.find(name);
    if (found == entry->artifacts.end()) return refused(ErrorKind::not_found, "there is no such artifact");
    return text_source(found->second);
  }

  Result<void> create_study(Study& study) override {
    const std::lock_guard lock(memory_->mutex);
    if (study.id.empty()) study.id = new_id();
    if (!is_file_name(study.id)) return refused(ErrorKind::usage, "this id of a study cannot be used");
    if (study.created == WallTime{}) study.created = clock_.wall();
    if (!memory_->studies.try_emplace(study.id, study).second) {
      return refused(ErrorKind::busy, "there is such a study already");
    }
    return {};
  }
  Result<Study> find_study(std::string_view id) override {
    const std::lock_guard lock(memory_->mutex);
    const auto found = memory_->studies.find(id);
    if (found == memory_->studies.end()) return refused(ErrorKind::not_found, "there is no such study");
    return found->second;
  }
  Result<StudyPage> list_studies(const StudyQuery& query) override {
    const std::lock_guard lock(memory_->mutex);
    std::vector<StudyRow> all;
    for (const auto& [id, study] : memory_->studies) all.push_back(row_of(study));
    sort_studies(all);
    return page_of(all, query);
  }
  Result<void> note_planned_run(std::string_view study, std::size_t entry, std::string_view run) override {
    const std::lock_guard lock(memory_->mutex);
    const auto found = memory_->studies.find(study);
    if (found == memory_->studies.end()) return refused(ErrorKind::not_found, "there is no such study");
    if (entry < found->second.plan.size()) found->second.plan[entry].run = run;
    return {};
  }
  Result<void> remove_study(std::string_view id) override {
    const std::lock_guard lock(memory_->mutex);
    const auto found = memory_->studies.find(id);
    if (found == memory_->studies.end()) return refused(ErrorKind::not_found, "there is no such study");
    memory_->studies.erase(found);
    return {};
  }

  Result<ReindexReport> reindex() override {
    const std::lock_guard lock(memory_->mutex);
    return ReindexReport{.runs = static_cast<int>(memory_->runs.size()),
                         .studies = static_cast<int>(memory_->studies.size()),
                         .problems = {}};
  }

 private:
  Result<Entry*> insert(Run& run, RunState state) {
    if (run.id.empty()) run.id = new_id();
    if (!is_file_name(run.id)) return refused(ErrorKind::usage, "this id of a run cannot be used");
    run.state = state;
    if (run.created == WallTime{}) run.created = clock_.wall();
    const auto [entry, is_new] = memory_->runs.try_emplace(run.id);
    if (!is_new) return refused(ErrorKind::busy, fmt::format("there is a run '{}' already", run.id));
    entry->second.run = run;
    entry->second.journals[std::string(kOwnersJournal)].open = true;
    note(entry->second);
    return &entry->second;
  }
  Result<Entry*> find(std::string_view id) {
    const auto found = memory_->runs.find(id);
    if (found == memory_->runs.end()) return refused(ErrorKind::not_found, fmt::format("there is no run '{}'", id));
    return &found->second;
  }
  Result<Entry*> owned(const Lease& lease) {
    ASSAY_TRY(auto* entry, find(lease.run));
    if (!is_good(entry->lease) || entry->lease->epoch != lease.epoch) {
      return refused(ErrorKind::denied, fmt::format("'{}' does not own the run any more", lease.owner));
    }
    return entry;
  }
  bool is_good(const std::optional<Lease>& lease) const {
    return lease && (!lease->expires || clock_.wall() < *lease->expires);
  }
  Lease grant(Entry& entry, const LeaseTerms& terms) {
    Lease lease{.run = entry.run.id, .journal = std::string(kOwnersJournal), .owner = terms.owner};
    lease.epoch = (entry.lease ? entry.lease->epoch : 0) + 1;
    if (terms.length) lease.expires = clock_.wall() + *terms.length;
    entry.lease = lease;
    return lease;
  }
  void note(Entry& entry) { entry.change = ++memory_->newest_change; }

  static std::vector<JournalState> states_of(const Entry& entry) {
    std::vector<JournalState> all;
    for (const auto& [name, journal] : entry.journals) {
      const bool unfinished = entry.run.verdict == Verdict::interrupted || entry.run.started == WallTime{};
      const bool live = journal.open || (journal.brought && entry.run.state != RunState::ended);
      const bool gone = unfinished || name != kOwnersJournal;
      const auto owner = live                                              ? JournalOwner::live
                         : is_awaited(entry.run) && name == kOwnersJournal ? JournalOwner::awaited
                         : gone                                            ? JournalOwner::gone
                                                                           : JournalOwner::finished;
      all.push_back({name, journal.bytes.size(), owner});
    }
    return all;
  }
  /// The process that recorded the run is gone.
  void close(Entry& entry) {
    entry.lease.reset();
    entry.journals[std::string(kOwnersJournal)].open = false;
    Salvager salvager;
    const auto read = [&](std::string_view journal, std::uint64_t offset, std::size_t length) -> Result<std::string> {
      const auto& bytes = entry.journals.find(journal)->second.bytes;
      return offset < bytes.size() ? bytes.substr(offset, length) : std::string();
    };
    (void)read_journals(states_of(entry), read, salvager).ok();
    entry.run = salvager.close(std::move(entry.run), clock_.wall(), {});
    note(entry);
  }

  const std::shared_ptr<RunMemory> memory_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<RunStore> open_run_memory(std::shared_ptr<RunMemory> memory, const Clock& clock) {
  return std::make_unique<MemoryStore>(std::move(memory), clock);
}

}  // namespace assay
