#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/journal/journal.h"

namespace assay {

class RunStore;
struct Lease;
struct Run;
struct SeriesSummary;

/// Records one run while it happens. One thread at a time.
///
/// What was appended and flushed survives `kill -9` of this process; what `finish` wrote survives a power cut.
/// A writer that goes away without `finish` gives the run up: it is found `interrupted` later.
///
/// A run whose job outlives its owner (`Placement::place`) is recorded in groups: what was appended between two marks
/// is in the journal with the second one, or not at all. Such a run, given up, waits for somebody to go on from its
/// last mark; what was appended after that is dropped, since it will be recorded again.
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
  /// Hands everything appended so far to the store; that of a group waits for its mark.
  virtual Result<void> flush() = 0;
  /// Hands everything appended so far to the store together with what whoever goes on from here must know, as JSON.
  /// Only for runs that are recorded in groups.
  virtual Result<void> mark(std::string_view mark) = 0;

  /// Every series written so far, summed up.
  virtual std::vector<SeriesSummary> summaries() const = 0;

  /// Replaces what is stored about the run itself while it goes on (a `hello` brought versions, a rename …).
  /// Name and tags that somebody else changed meanwhile stay, unless this writer changes them too; so with `finish`.
  virtual Result<void> update(const Run& run) = 0;
  /// The run has ended: stores its final form, syncs, gives up ownership. Nothing may be appended afterwards.
  virtual Result<void> finish(const Run& run) = 0;
};

/// Stores a new run and records it, as this process. The store must outlive the writer.
Result<std::unique_ptr<RunWriter>> begin_run(RunStore& store, Run& run);
/// Goes on recording a run that was recorded in groups and that this caller has taken; `run` is as the store has it.
/// Shows `visitor` what its owners have recorded so far: the last mark stands for all of that.
Result<std::unique_ptr<RunWriter>> continue_run(RunStore& store, Lease lease, Run run, JournalVisitor& visitor);
/// Adds the series and output of a further process to a run that another one records (see `RunStore::join_run`).
/// Its `update` and `finish` leave the run itself alone.
Result<std::unique_ptr<RunWriter>> join_run(RunStore& store, std::string_view id, std::string_view name);

}  // namespace assay
