#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/run.h"
#include "model/series.h"
#include "model/study.h"
#include "store/run_query.h"

namespace assay {

enum class OutputStream : std::uint8_t { out, error };

/// Names a series inside one RunWriter.
using SeriesHandle = std::uint32_t;

/// Records one run while it happens. One thread at a time.
///
/// What was appended and flushed survives `kill -9` of this process; what `finish` wrote survives a power cut.
/// A writer that goes away without `finish` leaves the run as it was: it is found `interrupted` later.
/// A failed append is remembered and reported by every later call; what was written before stays readable.
class RunWriter {
 public:
  virtual ~RunWriter() = default;

  virtual const std::string& run_id() const = 0;

  /// One event of the workload protocol, as the JSON object it came as.
  virtual Result<void> append_event(WallTime time, std::string_view event) = 0;
  /// Announces a series; the same key gives the same handle again.
  virtual SeriesHandle open_series(const SeriesKey& key, std::string_view unit) = 0;
  virtual Result<void> append_points(SeriesHandle series, std::span<const SeriesPoint> points) = 0;
  /// What the workload printed, byte for byte.
  virtual Result<void> append_output(OutputStream stream, WallTime time, std::string_view bytes) = 0;
  /// Hands everything appended so far to the operating system.
  virtual Result<void> flush() = 0;

  /// Every series written so far, summed up.
  virtual std::vector<SeriesSummary> summaries() const = 0;

  /// Replaces what is stored about the run itself while it goes on (a `hello` brought versions, a rename …).
  /// Name and tags that somebody else changed meanwhile stay, unless this writer changes them too; so with `finish`.
  virtual Result<void> update(const Run& run) = 0;
  /// The run has ended: stores its final form, syncs, gives up ownership. Nothing may be appended afterwards.
  virtual Result<void> finish(const Run& run) = 0;
};

/// Receives the content of a run's journal in the order in which it was written.
class JournalVisitor {
 public:
  virtual ~JournalVisitor() = default;
  virtual void on_event(WallTime /*time*/, std::string_view /*event*/) {}
  virtual void on_points(const SeriesKey& /*key*/, std::string_view /*unit*/, std::span<const SeriesPoint> /*points*/) {
  }
  virtual void on_output(OutputStream /*stream*/, WallTime /*time*/, std::string_view /*bytes*/) {}
  /// Bytes that could not be read were skipped; what comes after them is read again.
  virtual void on_damage(std::string_view /*what*/) {}
};

/// How far a reader has come; opaque to its user. Default-made: the beginning.
struct JournalPosition {
  std::map<std::string, std::uint64_t> offsets;
};

struct Artifact {
  std::string name;
  std::int64_t bytes = 0;
};

/// A run, a study or a folder that the store could not read, with the reason. The others are not affected.
struct StoreProblem {
  std::string about;
  Error error;
};

struct ReindexReport {
  int runs = 0;
  int studies = 0;
  int interrupted = 0;  ///< of `runs`: found without an owner and closed
  std::vector<StoreProblem> problems;
};

/// Where runs and studies are kept. Every operation may block on the disk or the network; any thread may call,
/// and several processes may use the same store at once.
class Store {
 public:
  virtual ~Store() = default;

  // Runs.
  /// Stores a new run in state `running`, gives it an id unless it has one, and hands back its only writer.
  /// An id that exists already is an error of kind `busy`.
  virtual Result<std::unique_ptr<RunWriter>> create_run(Run& run) = 0;
  /// A further process of the same job adds its own series and output to a run that another one records.
  /// Its `update` and `finish` leave the run itself alone.
  /// `name` tells the processes apart ("rank-3"); `busy` if it has been here already, `not_found` if there is no such
  /// run.
  virtual Result<std::unique_ptr<RunWriter>> join_run(std::string_view id, std::string_view name) = 0;
  /// The run, or `not_found`. A run whose owner is gone is closed as `interrupted` first.
  virtual Result<Run> find_run(std::string_view id) = 0;
  virtual Result<RunPage> list_runs(const RunQuery& query) = 0;
  /// Reads, changes and stores a run in one step. An error from `change` leaves it as it was.
  virtual Result<Run> change_run(std::string_view id, const std::function<Result<void>(Run&)>& change) = 0;
  /// Deletes the run and all it recorded. A run that is still going on is `busy`.
  virtual Result<void> remove_run(std::string_view id) = 0;
  /// Shows the visitor everything recorded after `from`; returns where it stopped, to go on from later.
  virtual Result<JournalPosition> read_journal(std::string_view id, JournalVisitor& visitor,
                                               JournalPosition from = {}) = 0;

  // Files that belong to a run: traces, reports, the source of the specification.
  virtual Result<void> attach(std::string_view run, std::string_view name, std::string_view content) = 0;
  virtual Result<std::vector<Artifact>> artifacts(std::string_view run) = 0;
  virtual Result<std::string> read_artifact(std::string_view run, std::string_view name) = 0;

  // Studies.
  virtual Result<void> create_study(Study& study) = 0;
  virtual Result<Study> find_study(std::string_view id) = 0;
  /// Newest first. Those that cannot be read are left out; `reindex` names them.
  virtual Result<std::vector<Study>> list_studies() = 0;
  virtual Result<Study> change_study(std::string_view id, const std::function<Result<void>(Study&)>& change) = 0;
  virtual Result<void> remove_study(std::string_view id) = 0;

  /// Rebuilds whatever the store derives from its primary data, and closes runs whose owner is gone.
  virtual Result<ReindexReport> reindex() = 0;
};

}  // namespace assay
