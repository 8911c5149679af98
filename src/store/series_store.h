#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/series_types.h"

namespace assay {

struct SeriesAnswer;

/// The telemetry of a cluster.
///
/// **What is kept**: for each series one value per time stamp; of several, the last one appended. Points may come in
/// any order; late ones cost more. Beside the points there are minutes and hours, which are kept for longer.
///
/// **Threads**: any thread may call anything. Writers wait for each other, readers for nobody. Long work is done in
/// slices, between which those who wait are served in their order: nobody waits for all that somebody else has brought.
///
/// **Failure**: a full disk is an error of the call that met it; nothing is damaged and the call may be repeated.
/// Damaged bytes are skipped, named in `problems()` and in the answer that met them. What a crash costs, an
/// implementation says.
class SeriesStore {
 public:
  virtual ~SeriesStore() = default;

  // --- writing ---

  /// The ids of series, new or known; those that are given are not looked at. `usage` for each that is known with
  /// another unit, whose name or labels are too long, or beyond as many series as may be.
  virtual std::vector<Result<SeriesId>> intern(std::span<const SeriesInfo> series) = 0;
  Result<SeriesId> intern(const SeriesKey& key, std::string_view unit);
  /// `not_found` if an id is unknown or was forgotten: then nothing of the batch is stored, unless it was forgotten
  /// while the batch was. After any other failure, the same batch may be appended again. Whose owner has more bytes
  /// than one may have is refused, and counted, until something of it was deleted.
  virtual Result<AppendOutcome> append(std::span<const SeriesSample> samples) = 0;
  /// The same by names, for those who keep no ids.
  Result<AppendOutcome> append(std::span<const SeriesBatch> batch);
  /// Makes sure that everything appended survives a crash of the machine.
  virtual Result<void> sync() = 0;
  /// A slice of upkeep, and retention. Call it about once a second, and again at once while it says `more`. After a
  /// failure the rest of the slice was done all the same.
  ///
  /// Retention does not believe a clock that has just jumped or that has been watched for less than an hour: until then
  /// it counts back from the newest sample of before.
  virtual Result<UpkeepOutcome> maintain(WallTime now) = 0;
  /// Brings everything into its final form, which `maintain` does little by little.
  virtual Result<void> flush() = 0;
  /// Deletes the points in `range` of every selected series, and with the unlimited range the series themselves; says
  /// how many series were touched. Minutes and hours are made again where their points still exist; older ones go where
  /// they lie wholly inside.
  virtual Result<std::size_t> erase(const SeriesSelector& selector, TimeRange range) = 0;
  Result<std::size_t> erase(const SeriesSelector& selector) { return erase(selector, TimeRange{}); }
  /// A copy of the store as it is at some moment during the call, into a new or empty folder; writers go on meanwhile.
  virtual Result<void> backup_to(const fs::path& folder) = 0;

  // --- reading: everything that was appended ---

  /// Buckets start at multiples of their width. A width that follows from `max_points` is one that people would choose
  /// (1 s, 5 s, 2 min …); every width is rounded up to a multiple of the tier's (raw: as it is), and
  /// the tier is the coarsest that fits the width and still has the whole first bucket. Minimum, maximum and counts are
  /// exact, means to rounding. `usage` if the answer would exceed its limits.
  virtual Result<SeriesAnswer> query(const SeriesQuery& query) const = 0;
  /// Raw points in order of time, the first `limit` of the range; at most `max_answer_points`.
  virtual Result<SeriesPoints> points(SeriesId series, TimeRange range, std::size_t limit) const = 0;
  /// The newest point of each selected series that has one, whatever its age.
  virtual Result<std::vector<LatestValue>> latest(const SeriesSelector& selector) const = 0;
  /// `usage` if there are more than `max_answer_series`.
  virtual Result<std::vector<SeriesInfo>> list(const SeriesSelector& selector) const = 0;
  /// Any number of them in order of their ids, those after `after`: a bounded number is looked at each time, whatever
  /// fits. Places are good as long as ids are.
  virtual SeriesPage page(const SeriesSelector& selector, std::optional<SeriesId> after, std::size_t limit) const = 0;

  static constexpr std::size_t kMostExamined = 50'000;  ///< of one page

  /// Damage that was found since it was opened, in words, each once; at most a hundred.
  virtual std::vector<std::string> problems() const = 0;
  virtual SeriesStoreStats stats() const = 0;
  /// What belongs to one owner.
  virtual SeriesHolding holding(std::string_view owner) const = 0;
  virtual SeriesLimits limits() const = 0;
};

}  // namespace assay
