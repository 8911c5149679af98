#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

// Whoever only hands a store on need not be compiled again when one of these changes; whoever calls it includes what it
// asks for.
class ByteSource;
struct Artifact;
struct CurveQuestion;
struct JournalState;
struct Lease;
struct LeaseTerms;
struct ReindexReport;
struct Run;
struct RunChange;
struct RunCurve;
struct RunPage;
struct RunQuery;
struct Study;
struct StudyPage;
struct StudyQuery;

/// Where runs and studies are kept. Every operation may block on the disk or the network; any thread may call,
/// and several processes may use the same store at once.
///
/// The life of a run: `queued` → `starting` → `running` → `ended`, never back. From `starting` on it has an owner, who
/// alone may change it (`change_owned`) and record (`append_frames`), as long as its lease is good. A lease that has
/// run out or was superseded is answered with `denied`. When a run ends, its lease is over.
class RunStore {
 public:
  virtual ~RunStore() = default;

  // Runs that somebody asks for, and whose they are.
  /// Stores a new run in state `queued`; gives it an id unless it has one. An id that exists already is `busy`.
  virtual Result<void> add_run(Run& run) = 0;
  /// Stores a new run in state `running` and takes it in one step.
  virtual Result<Lease> create_run(Run& run, const LeaseTerms& terms) = 0;
  /// Takes a run that is queued, or whose owner is gone or has let its lease run out. `busy`: it has an owner;
  /// `usage`: it has ended. Of a run that is recorded in groups (`Placement::place`), what such an owner has not
  /// finished writing is cut off its journal when a process takes it.
  virtual Result<Lease> take_run(std::string_view id, const LeaseTerms& terms) = 0;
  /// The same lease, good for `length` from now on.
  virtual Result<Lease> renew_lease(const Lease& lease, Nanos length) = 0;
  /// Gives the run up as it stands; without effect where the lease is not good any more.
  virtual void give_up(const Lease& lease) = 0;
  /// Whose it is: the last lease, good or not; nothing where nobody ever had it, or it is over.
  virtual Result<std::optional<Lease>> find_lease(std::string_view id) = 0;
  /// Changes the run as its owner. A run that is `ended` is synced, and its lease is over.
  /// Name and tags that others changed meanwhile are in the run that `change` sees.
  virtual Result<Run> change_owned(const Lease& lease, const std::function<Result<void>(Run&)>& change) = 0;
  /// A further process of the same job may append to a journal of its own, called `name` ("rank-3"), and to nothing
  /// else. `busy` if it has been here already, `not_found` if there is no such run.
  virtual Result<Lease> join_run(std::string_view id, std::string_view name) = 0;

  // What a run records.
  /// Appends whole frames to the lease's journal at `offset`, and returns how long that is now. What is there already
  /// is not written again; where `offset` is beyond the end nothing is. `usage` for bytes that are no frames of that
  /// place. The owner may name a further journal in its lease ("rank-3"), which it brings along. A run for which there
  /// is no more room ends as failed, with the reason, and this is `usage`, as of any run that has ended.
  virtual Result<std::uint64_t> append_frames(const Lease& lease, std::uint64_t offset, std::string_view frames) = 0;
  /// The owner's first, then those of further ranks by their number.
  virtual Result<std::vector<JournalState>> journals(std::string_view id) = 0;
  /// Up to `length` bytes of a journal at `offset`; fewer only where it ends.
  virtual Result<std::string> read_frames(std::string_view id, std::string_view journal, std::uint64_t offset,
                                          std::size_t length) = 0;
  /// Series of a run as a chart of a certain width shows them.
  virtual Result<std::vector<RunCurve>> read_curves(std::string_view id, const CurveQuestion& question) = 0;

  // Finding and changing.
  /// The run, or `not_found`. A run whose owner is seen to be gone is closed as `interrupted` first, unless its job
  /// goes on without an owner (`Placement::place`): then it waits for somebody to take it.
  virtual Result<Run> find_run(std::string_view id) = 0;
  /// A page of those that fit; the next goes on behind it, whatever was added or removed meanwhile. A page with a limit
  /// looks at a bounded number of runs: it may end with fewer rows than that, and its `next` goes on. `list_whole`
  /// does. Only a list by creation can go on in the middle; one in another order that has to look at more is `usage`.
  virtual Result<RunPage> list_runs(const RunQuery& query) = 0;
  /// Reads, changes and stores a run in one step, for what is anybody's: its name, its tags. State and verdict stay as
  /// they are. An error from `change` leaves the run as it was. `change` may be called several times.
  virtual Result<Run> change_run(std::string_view id, const std::function<Result<void>(Run&)>& change) = 0;
  /// Deletes the run and all it recorded. A run that is still going on is `busy`.
  virtual Result<void> remove_run(std::string_view id) = 0;
  /// What changed after `since`, oldest first, each run once at its newest change. A reader that begins asks for
  /// `newest_change` first, then lists, then goes on from there.
  virtual Result<std::vector<RunChange>> changes(std::uint64_t since, std::size_t limit) = 0;
  virtual Result<std::uint64_t> newest_change() = 0;

  // Files that belong to a run: traces, reports, the source of the specification.
  /// `usage` for a name that no file can have, or where there is no room for it.
  virtual Result<void> attach(std::string_view run, std::string_view name, ByteSource& content) = 0;
  virtual Result<std::vector<Artifact>> artifacts(std::string_view run) = 0;
  virtual Result<std::unique_ptr<ByteSource>> open_artifact(std::string_view run, std::string_view name) = 0;

  // Studies.
  virtual Result<void> create_study(Study& study) = 0;
  virtual Result<Study> find_study(std::string_view id) = 0;
  /// Newest first, in pages, without their plans. Those that cannot be read are left out; `reindex` names them.
  virtual Result<StudyPage> list_studies(const StudyQuery& query) = 0;
  /// The run that does this entry of the plan from now on; costs the same however long the plan is.
  virtual Result<void> note_planned_run(std::string_view study, std::size_t entry, std::string_view run) = 0;
  virtual Result<void> remove_study(std::string_view id) = 0;

  /// Rebuilds whatever the store derives from its primary data, and closes runs whose owner is gone.
  virtual Result<ReindexReport> reindex() = 0;
};

/// As `RunStore::list_runs`, page after page until there are as many rows as the query's limit, or no more.
Result<RunPage> list_whole(RunStore& store, const RunQuery& query);

/// Whether the run is under way at its place while nobody records it: its owner is gone, and another one can go on.
Result<bool> is_without_owner(RunStore& store, const Run& run);

/// Closes a run whose owner is gone as `interrupted`, with what its journals hold. `lease` is that of whoever closes
/// it; `owner`: who was last heard of, at `last_sign`.
Result<Run> close_interrupted(RunStore& store, const Lease& lease, std::string_view owner, WallTime last_sign);

/// Small artifacts, as a whole.
Result<void> attach_text(RunStore& store, std::string_view run, std::string_view name, std::string_view content);
Result<std::string> read_artifact(RunStore& store, std::string_view run, std::string_view name,
                                  std::size_t limit = std::size_t{64} << 20);

}  // namespace assay
