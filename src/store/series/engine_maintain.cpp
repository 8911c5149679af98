#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/series/around_damage.h"
#include "store/series/engine.h"

namespace assay {
namespace {

// The bounds of one slice of upkeep: a fraction of a second each.
constexpr std::size_t kWrites = 256;
constexpr SeriesId kExpiries = 512;
constexpr std::size_t kCarried = 8192;
constexpr std::int64_t kFreedPages = 256;
/// Freed pages that may lie about: they will be used again.
constexpr std::int64_t kTolerableFreePages = 1024;

constexpr Nanos kCheckpointEvery = std::chrono::seconds(5);
constexpr Nanos kTrimEvery = std::chrono::minutes(10);
/// More than clocks are set by while they are kept right, and than upkeep may wait for the processor.
constexpr Nanos kClockJump = std::chrono::minutes(1);
/// A wrong clock is usually put right sooner, and nobody minds old data for so long.
constexpr Nanos kClockTrial = std::chrono::hours(1);
/// A head with at least this many points is worth a chunk of its own.
constexpr std::size_t kWorthAChunk = kChunkPoints / 4;

}  // namespace

Result<UpkeepOutcome> SeriesEngine::maintain(WallTime now) {
  UpkeepOutcome outcome;
  // One job does not wait for another that fails: on a full disk the later ones are those that make room. Between two
  // of them whoever waits is served.
  Result<void> failed;
  const auto attempt = [&](const auto& job) {
    const std::lock_guard writing(writer_);
    Result<void> done = job();
    if (failed.ok()) failed = std::move(done);
  };
  attempt([&] {
    if (!log_files_remembered_) remember_log_files(first_log_file_);
    const auto due = due_.size();
    auto written = write_due(kWrites);
    outcome.series_written = due - due_.size();
    outcome.more = !due_.empty();
    return written;
  });
  attempt([&] { return sync_if_due(); });
  attempt([&] { return expire(now, outcome).within("deleting old telemetry"); });
  attempt([&] { return trim_log(now, outcome).within("trimming the telemetry log"); });
  attempt([&] {
    const bool due = written_since_checkpoint_ && clock_.now() - checkpointed_ >= kCheckpointEvery;
    return due ? checkpoint() : Result<void>();
  });
  attempt([&] { return free_pages(outcome); });
  if (!failed.ok()) return std::move(failed).error();
  return outcome;
}

/// Whether the wall clock has kept pace with the steady clock for a while: one that has just jumped, or that nobody has
/// watched yet, may show any time.
bool SeriesEngine::clock_is_settled(WallTime now) {
  const auto steady = clock_.now();
  const auto ahead = now.time_since_epoch() - steady.time_since_epoch();
  const auto change = ahead - std::exchange(clock_ahead_, ahead);
  if (change < -kClockJump || change > kClockJump) clock_settled_ = steady;
  return steady - clock_settled_ >= kClockTrial;
}

/// Retention goes by the clock or by the newest sample, whichever shows less, and only by samples of which a trusted
/// clock approved: one that is wrong for a while must not delete anything, even if a sender shares it. A floor in the
/// future is the work of such a clock, and would have every sample refused.
SeriesEngine::Floors SeriesEngine::next_floors(WallTime now) {
  if (clock_is_settled(now)) trusted_sample_ = newest_sample_;
  const auto clock = std::clamp<std::int64_t>(now.time_since_epoch().count(), 0, kEndOfTime);
  Floors floors = floors_;
  for (std::size_t tier = 0; tier < floors.size(); ++tier) {
    const auto oldest = std::max<std::int64_t>(std::min(clock, trusted_sample_) - options_.keep[tier].count(), 0);
    floors[tier] = std::min(std::max(floors[tier], floor_to(oldest, kHourNs)), floor_to(clock, kHourNs));
  }
  return floors;
}

/// From here on nothing before the floors is answered or accepted, whether its rows are gone already or not.
Result<void> SeriesEngine::begin_expiry(WallTime now, UpkeepOutcome& outcome) {
  const Floors floors = next_floors(now);
  if (floors == floors_) return {};
  // Heads that are older than that come first: their hours need minutes that are about to go.
  std::vector<SeriesId> old;
  for (SeriesId id = 0; id < catalogue_.end() && old.size() < kWrites; ++id) {
    const auto& points = heads_[id].points;
    if (catalogue_.contains(id) && !points.empty() && points.first_time() < floors[0]) old.push_back(id);
  }
  ASSAY_CHECK(write_out(old, true));
  outcome.series_written += old.size();
  outcome.more = outcome.more || old.size() == kWrites;
  if (old.size() == kWrites) return {};
  ASSAY_TRY(auto transaction, Transaction::begin(file_->database()));
  for (std::size_t tier = 0; tier < floors.size(); ++tier) {
    ASSAY_CHECK(file_->put_setting(kFloorNames[tier], floors[tier]));
  }
  const std::lock_guard hold(state_);
  ASSAY_CHECK(transaction.commit());
  floors_ = floors;
  expiring_ = 0;
  return {};
}

Result<void> SeriesEngine::expire(WallTime now, UpkeepOutcome& outcome) {
  if (!expiring_) ASSAY_CHECK(begin_expiry(now, outcome));
  if (!expiring_) return {};
  const SeriesId end = std::min(catalogue_.end(), *expiring_ + kExpiries);
  std::vector<SeriesId> stored;
  std::vector<SeriesId> empty;
  for (SeriesId id = *expiring_; id < end; ++id) {
    if (!catalogue_.contains(id) || heads_[id].progress.stored_until == kNever) continue;
    stored.push_back(id);
    if (heads_[id].progress.stored_until < floors_[2] && heads_[id].points.empty()) empty.push_back(id);
  }
  const auto give_up = [&](SeriesId id, const Error& error) {
    note({fmt::format("series {}: what is too old cannot be deleted: {}", id, error.message)});
  };
  const auto remove = [&](std::span<const SeriesId> ids) { return remove_old_rows(ids, outcome); };
  ASSAY_CHECK(around_damage<SeriesId>(stored, remove, give_up));
  const auto before = catalogue_.size();
  const auto drop_all = [&](std::span<const SeriesId> ids) {
    // Part of a group may be gone already.
    return ids.empty() || !catalogue_.contains(ids.front()) ? Result<void>() : forget(ids);
  };
  ASSAY_CHECK(around_damage<SeriesId>(empty, drop_all, give_up));
  outcome.series_forgotten += before - catalogue_.size();
  expiring_ = end < catalogue_.end() ? std::optional(end) : std::nullopt;
  outcome.more = outcome.more || expiring_;
  return {};
}

Result<void> SeriesEngine::remove_old_rows(std::span<const SeriesId> ids, UpkeepOutcome& outcome) {
  std::size_t rows = 0;
  ASSAY_TRY(auto transaction, file_->begin());
  for (const auto id : ids) {
    ASSAY_TRY(const auto raw, file_->raw().rows().remove_before(id, floors_[0]));
    ASSAY_TRY(const auto minutes, file_->minutes().rows().remove_before(id, floors_[1]));
    ASSAY_TRY(const auto hours, file_->hours().rows().remove_before(id, floors_[2]));
    rows += raw + minutes + hours;
  }
  ASSAY_TRY(const auto growth, file_->save_growth());
  ASSAY_CHECK(transaction.commit());
  {
    const std::lock_guard hold(state_);
    grow(growth);
  }
  outcome.rows_expired += rows;
  written_since_checkpoint_ = true;
  return {};
}

/// Frees the oldest log files from the points that still hold them, and deletes those that hold none.
Result<void> SeriesEngine::trim_log(WallTime now, UpkeepOutcome& outcome) {
  if (trimmed_at_file_ == log_->file_number() && now - trimmed_ < kTrimEvery && now >= trimmed_) return {};
  const auto idle_since = (now - options_.idle_after).time_since_epoch().count();
  const auto current = log_->file_number();
  const auto keep = static_cast<std::uint32_t>(options_.max_log_files);
  const auto oldest_kept = current >= keep ? current - keep + 1 : 0;
  std::vector<SeriesId> to_write;
  std::vector<SeriesId> to_carry;
  for (SeriesId id = 0; id < catalogue_.end(); ++id) {
    const Head& head = heads_[id];
    if (!catalogue_.contains(id) || head.points.empty() || due_.contains(id)) continue;
    if (to_write.size() >= kWrites || to_carry.size() >= kCarried) break;
    const bool in_the_way = head.first_file < oldest_kept;
    if (head.points.last_time() < idle_since || (in_the_way && head.points.size() >= kWorthAChunk)) {
      to_write.push_back(id);
    } else if (in_the_way) {
      to_carry.push_back(id);
    }
  }
  auto freed = write_out(to_write, true);
  if (freed.ok()) freed = carry_over(to_carry);
  // A file that holds nothing goes even if others could not be freed: the disk may be full.
  ASSAY_TRY(const bool deleted, delete_log_files(outcome));
  ASSAY_CHECK(freed);
  outcome.series_written += to_write.size();
  const bool more = to_write.size() >= kWrites || to_carry.size() >= kCarried;
  outcome.more = outcome.more || more;
  if (more || !deleted) return {};
  trimmed_at_file_ = current;
  trimmed_ = now;
  return {};
}

/// Writes the few points of slow series into the log again: cheaper than a chunk each.
Result<void> SeriesEngine::carry_over(std::span<const SeriesId> ids) {
  if (ids.empty()) return {};
  std::vector<SeriesSample> samples;
  for (const auto id : ids) {
    for (const auto& point : heads_[id].points.unpack()) samples.push_back({id, point.time_ns, point.value});
  }
  log_->add_samples(samples);
  ASSAY_CHECK(log_->commit());
  for (const auto id : ids) heads_[id].first_file = heads_[id].tail_file = log_->file_number();
  return {};
}

/// False: a reader holds back what would have to be on the disk first.
Result<bool> SeriesEngine::delete_log_files(UpkeepOutcome& outcome) {
  if (backups_ > 0) return true;
  auto needed = log_->file_number();
  for (SeriesId id = 0; id < catalogue_.end(); ++id) {
    if (catalogue_.contains(id) && !heads_[id].points.empty()) needed = std::min(needed, heads_[id].first_file);
  }
  ASSAY_TRY(const auto files, log_files(folder_));
  if (files.empty() || files.front().number >= needed) return true;
  // Names of series that are only in the log must not go with it, nor chunks that the disk does not have yet.
  ASSAY_CHECK(save_names());
  for (const auto id : unsavable_) {
    const auto info = catalogue_.info(id);
    log_->add_series(id, info.key, info.unit);
  }
  ASSAY_CHECK(log_->commit());
  ASSAY_CHECK(log_->sync());
  remember_log_files(needed);
  ASSAY_CHECK(checkpoint());
  if (written_since_checkpoint_) return false;
  for (const auto& file : files) {
    if (file.number >= needed) break;
    std::error_code code;
    // The database would miss a file that is gone, and on a full disk it cannot be told: its content goes all the same.
    if (log_files_remembered_) {
      fs::remove(file.path, code);
    } else {
      fs::resize_file(file.path, 0, code);
    }
    if (!code) ++outcome.log_files_deleted;
  }
  const std::lock_guard hold(state_);
  log_files_ = files.size() - outcome.log_files_deleted;
  return true;
}

/// Moves what it can of the write-ahead log into the database, and syncs that; never waits for readers. What is written
/// since the oldest reader's snapshot stays where it is, possibly not even synced: then there is still something to do.
Result<void> SeriesEngine::checkpoint() {
  ASSAY_TRY(auto pragma, file_->database().prepare("PRAGMA wal_checkpoint(PASSIVE)"));
  ASSAY_CHECK(pragma.step());
  const bool busy = pragma.integer(0) != 0;
  // Without a write-ahead log both numbers are -1.
  written_since_checkpoint_ = busy || pragma.integer(1) != pragma.integer(2);
  checkpointed_ = clock_.now();
  return {};
}

Result<void> SeriesEngine::free_pages(UpkeepOutcome& outcome) {
  ASSAY_TRY(const auto before, file_->database().number("PRAGMA freelist_count"));
  if (before <= kTolerableFreePages) return {};
  ASSAY_CHECK(file_->database().execute(fmt::format("PRAGMA incremental_vacuum({})", kFreedPages)));
  ASSAY_TRY(const auto after, file_->database().number("PRAGMA freelist_count"));
  outcome.pages_freed += static_cast<std::size_t>(std::max<std::int64_t>(before - after, 0));
  outcome.more = outcome.more || after > kTolerableFreePages;
  written_since_checkpoint_ = true;
  return {};
}

Result<void> SeriesEngine::backup_to(const fs::path& folder) {
  const auto copy = [&]() -> Result<void> {
    ASSAY_CHECK(make_folders(folder));
    std::error_code code;
    if (!fs::is_empty(folder, code)) {
      return Error{.kind = ErrorKind::usage, .message = "the folder is not empty", .hint = "Name a new one."};
    }
    ASSAY_TRY(auto source, readers_.lease());
    ASSAY_CHECK(source->database().back_up_to((folder / "series.db").string()));
    // All log files from before the copy of the database until now: together they are the state at this moment.
    std::uint32_t last = 0;
    {
      const std::lock_guard writing(writer_);
      last = log_->file_number();
      ASSAY_CHECK(log_->rotate());
      remember_log_files(first_log_file_);
      const std::lock_guard hold(state_);
      ++log_files_;
    }
    ASSAY_TRY(const auto files, log_files(folder_));
    for (const auto& file : files) {
      if (file.number > last) break;
      if (!fs::copy_file(file.path, folder / file.path.filename(), code)) {
        return system_error(code.value(), fmt::format("cannot copy '{}'", file.path.string()));
      }
    }
    return {};
  };
  {
    // Under the lock: upkeep is either done deleting log files, or will see that it must not.
    const std::lock_guard writing(writer_);
    ++backups_;
  }
  auto outcome = copy();
  --backups_;
  return std::move(outcome).within(fmt::format("backing up telemetry to '{}'", folder.string()));
}

}  // namespace assay
