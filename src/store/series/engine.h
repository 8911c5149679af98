#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fair_mutex.h"
#include "base/file_lock.h"
#include "base/files.h"
#include "base/result.h"
#include "store/bucket_answer.h"
#include "store/series/catalogue.h"
#include "store/series/embedded_series_store.h"
#include "store/series/head_log.h"
#include "store/series/known_losses.h"
#include "store/series/packed_points.h"
#include "store/series/reader_pool.h"
#include "store/series/series_file.h"
#include "store/series/stored_progress.h"
#include "store/series_rules.h"
#include "store/series_store.h"

namespace assay {

/// The embedded store; embedded_series_store.h has its contract.
///
/// Two locks, always taken in this order: `writer_` is held by whatever changes anything, for one slice of its work at
/// a time, `state_` only for the moments in which memory that readers look at changes. A commit to the database and the
/// removal of its points from the head happen under one hold of `state_`, and a reader takes its snapshot of both under
/// another: it sees each point once.
class SeriesEngine final : public SeriesStore {
 public:
  static Result<std::unique_ptr<SeriesEngine>> open(const fs::path& folder, const SeriesStoreOptions& options);
  SeriesEngine(const SeriesEngine&) = delete;
  SeriesEngine& operator=(const SeriesEngine&) = delete;
  ~SeriesEngine() override;

  using SeriesStore::append;
  using SeriesStore::erase;
  using SeriesStore::intern;
  std::vector<Result<SeriesId>> intern(std::span<const SeriesInfo> series) override;
  Result<AppendOutcome> append(std::span<const SeriesSample> samples) override;
  Result<void> sync() override;
  Result<UpkeepOutcome> maintain(WallTime now) override;
  Result<void> flush() override;
  Result<std::size_t> erase(const SeriesSelector& selector, TimeRange range) override;
  Result<void> backup_to(const fs::path& folder) override;

  Result<SeriesAnswer> query(const SeriesQuery& query) const override;
  Result<SeriesPoints> points(SeriesId series, TimeRange range, std::size_t limit) const override;
  Result<std::vector<LatestValue>> latest(const SeriesSelector& selector) const override;
  Result<std::vector<SeriesInfo>> list(const SeriesSelector& selector) const override;
  SeriesPage page(const SeriesSelector& selector, std::optional<SeriesId> after, std::size_t limit) const override;
  std::vector<std::string> problems() const override;
  SeriesStoreStats stats() const override;
  SeriesHolding holding(std::string_view owner) const override;
  SeriesLimits limits() const override { return options_; }

 private:
  class Replay;
  /// The newest points of one series, all of them later than what is in chunks.
  struct Head {
    PackedPoints points;
    SeriesProgress progress;
    std::uint32_t first_file = 0;  ///< log file of the oldest point in `points`
    std::uint32_t tail_file = 0;   ///< log file in which the newest minute began
    std::uint32_t target = 0;      ///< due for a chunk at this many points
  };
  /// Points of one series that belong among its chunks, in order of time and each time once.
  struct LatePoints {
    SeriesId id = 0;
    std::vector<TimedValue> points;
  };
  /// What a head becomes once its points are in chunks.
  struct Written {
    SeriesId id = 0;
    PackedPoints rest;
    SeriesProgress progress;
  };
  /// A series as a reader sees it.
  struct Seen {
    SeriesInfo info;
    PackedPoints head;
  };
  struct Snapshot {
    ReaderPool::Lease file;
    std::vector<Seen> series;
  };
  /// Points of a log that may be in chunks already, for all that a damaged database can say.
  struct LeftOut {
    std::size_t points = 0;
    TimeRange range{0, 0};
  };
  /// What is needed while the store is opened.
  struct Opening {
    explicit Opening(StoredProgress progress) : stored(std::move(progress)) {}
    StoredProgress stored;
    std::map<SeriesId, LeftOut> unplaced;  ///< series of which it is not known how far they are in chunks
  };
  /// The log files there should be; 0: nobody knows.
  struct LogNumbers {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  using Floors = SeriesFloors;
  /// What the database calls them.
  static constexpr std::array kFloorNames = {"raw_floor", "minute_floor", "hour_floor"};

  SeriesEngine(fs::path folder, const SeriesStoreOptions& options);

  // engine_open.cpp
  Result<void> open_file();
  Result<void> load();
  Result<void> load_series(std::vector<std::string>& problems);
  Result<void> load_progress(SeriesId id);
  Result<void> load_sizes();
  void note_set_aside();
  void add_series(SeriesId id, const SeriesKey& key, std::string_view unit);
  void note(std::vector<std::string> problems) const;

  // engine_replay.cpp
  Result<void> replay();
  void place(SeriesId id, const LeftOut& left_out);
  void note_lost_names();
  void note_missing_log(const std::vector<LogFile>& files, LogNumbers known);
  void remember_log_files(std::uint32_t first);

  // engine_append.cpp: all with `writer_` held
  Result<SeriesId> intern_one(const SeriesKey& key, std::string_view unit);
  Result<void> make_room();
  Result<void> sort_out(std::span<const SeriesSample> samples, AppendOutcome& outcome);
  Result<void> take_fresh(std::span<const SeriesSample> samples, AppendOutcome& outcome);
  Result<void> take_late(std::span<const SeriesSample> samples, AppendOutcome& outcome);
  void log_names();
  void put_into_heads(std::span<const SeriesSample> samples);
  void put_all_into_heads(std::span<const SeriesSample> samples);
  void put_into_head(Head& head, const SeriesSample& sample);
  template <typename Change>
  void change_head(SeriesId id, Head& head, Change change);
  Result<void> merge_late(std::uint64_t change, std::span<const SeriesSample> samples);
  static std::vector<LatePoints> by_series(std::span<const SeriesSample> samples);
  Result<void> store_late(std::span<const LatePoints> late, std::optional<std::uint64_t> change);
  Result<void> outcome_of_change(Result<void> outcome);
  Result<void> sync_if_due();

  // engine_write.cpp: all with `writer_` held
  Result<void> write_due(std::size_t most);
  Result<void> write_out(std::span<const SeriesId> ids, bool whole);
  Result<void> write_group(std::span<const SeriesId> ids, bool whole);
  Result<Written> write_series(SeriesId id, bool whole, std::vector<std::string>& problems);
  void give_up_on(SeriesId id, const Error& error);
  Result<void> save_names();
  void settle(std::vector<Written> written);
  void grow(const SeriesGrowth& growth);
  void replace_points(Head& head, PackedPoints points);

  // engine_change.cpp: all with `writer_` held
  Result<void> erase_some(std::span<const SeriesId> ids, TimeRange range);
  Result<void> apply_erase(std::uint64_t change, TimeRange range, std::span<const SeriesId> ids);
  Result<void> erase_group(std::span<const SeriesId> ids, TimeRange range, std::optional<std::uint64_t> change);
  void erase_from_heads(std::span<const SeriesId> ids, TimeRange range);
  Result<void> forget(std::span<const SeriesId> ids);
  Result<void> apply_forget(std::uint64_t change, std::span<const SeriesId> ids);
  void drop(std::span<const SeriesId> ids);

  // engine_maintain.cpp: all with `writer_` held
  Result<void> expire(WallTime now, UpkeepOutcome& outcome);
  Result<void> begin_expiry(WallTime now, UpkeepOutcome& outcome);
  Floors next_floors(WallTime now);
  bool clock_is_settled(WallTime now);
  Result<void> remove_old_rows(std::span<const SeriesId> ids, UpkeepOutcome& outcome);
  Result<void> trim_log(WallTime now, UpkeepOutcome& outcome);
  Result<void> carry_over(std::span<const SeriesId> ids);
  Result<bool> delete_log_files(UpkeepOutcome& outcome);
  Result<void> checkpoint();
  Result<void> free_pages(UpkeepOutcome& outcome);

  // engine_query.cpp
  std::vector<SeriesId> select(const SeriesSelector& selector, std::size_t most) const;
  Result<Snapshot> snapshot(ReaderPool::Lease file, const std::vector<SeriesId>& ids) const;
  static Result<std::vector<SeriesBucket>> buckets(SeriesFile& file, const Seen& series, const SeriesPlan& plan,
                                                   std::vector<std::string>& problems);

  const fs::path folder_;
  const SeriesStoreOptions options_;
  const Clock& clock_;
  std::optional<FileLock> lock_;
  mutable ReaderPool readers_;

  FairMutex writer_;
  mutable std::mutex state_;

  // Changed with both locks held, read with either.
  SeriesCatalogue catalogue_{options_.owner_label};
  std::vector<Head> heads_;  ///< by id
  Floors floors_{};          ///< before these, the tiers are being deleted
  std::size_t head_points_ = 0;
  std::size_t head_bytes_ = 0;
  std::size_t log_files_ = 0;

  // With `state_`.
  mutable std::set<std::string> problems_;
  KnownLosses losses_;

  // With `writer_`.
  std::unique_ptr<SeriesFile> file_;
  std::optional<HeadLogWriter> log_;
  SeriesId next_id_ = 1;
  std::uint64_t next_change_ = 1;
  std::set<SeriesId> due_;           ///< have enough points for a chunk
  std::vector<SeriesId> unlogged_;   ///< not yet in the log
  std::vector<SeriesId> unsaved_;    ///< not yet in the database
  std::vector<SeriesId> unsavable_;  ///< their page of the database is damaged: their names stay in the log
  std::vector<SeriesSample> fresh_;
  std::vector<SeriesSample> late_;
  std::size_t late_minutes_ = 32;  ///< that are made again in one go, as long as nobody waits too long for that
  SteadyTime synced_{};
  SteadyTime checkpointed_{};
  bool written_since_checkpoint_ = false;  ///< since the last that moved everything
  bool change_failed_ = false;             ///< one is in the log that will not be carried out
  std::optional<Opening> opening_;         ///< at the start only
  std::uint32_t replaying_ = 0;            ///< the log file that is being read, at the start only
  std::uint32_t first_log_file_ = 0;
  bool log_files_remembered_ = false;  ///< the database knows which there are
  std::uint32_t trimmed_at_file_ = 0;
  WallTime trimmed_{};
  std::int64_t newest_sample_ = 0;    ///< the latest time that any sample had
  std::int64_t trusted_sample_ = 0;   ///< the same while the clock could be trusted: what retention goes by
  Nanos clock_ahead_{};               ///< of the steady clock, when upkeep last looked
  SteadyTime clock_settled_{};        ///< since when the two clocks have gone side by side
  std::optional<SeriesId> expiring_;  ///< where the pass of retention is; absent between passes
  std::atomic<int> backups_{0};       ///< running ones: no log file may go
};

}  // namespace assay
