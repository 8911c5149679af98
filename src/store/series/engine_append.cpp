#include <fmt/format.h>

#include <algorithm>

#include "store/series/around_damage.h"
#include "store/series/engine.h"

namespace assay {
namespace {

/// Series that wait for a chunk before `append` itself writes some; upkeep normally gets there first.
constexpr std::size_t kMostDue = 2048;
/// A head is written out at this size even if it is short of points: noise that does not pack.
constexpr std::size_t kMostPackedBytes = 4096;
/// Samples that enter the head under one hold of the lock.
constexpr std::size_t kSlice = 8192;
/// Late samples of one change: fits a frame of the log.
constexpr std::size_t kLateAtOnce = 32768;
constexpr std::size_t kSeriesAtOnce = 256;

}  // namespace

Result<SeriesId> SeriesEngine::intern(const SeriesKey& key, std::string_view unit) {
  const std::lock_guard writing(writer_);
  if (const auto known = catalogue_.find(key)) {
    if (catalogue_.unit(*known) == unit) return *known;
    return wrong_unit(key, catalogue_.unit(*known), unit);
  }
  ASSAY_CHECK(check_series_key(key, unit));
  if (catalogue_.size() >= options_.max_series || next_id_ >= INT32_MAX) {
    return too_many_series(catalogue_.size());
  }
  const SeriesId id = next_id_++;
  const std::lock_guard hold(state_);
  add_series(id, key, unit);
  unlogged_.push_back(id);
  unsaved_.push_back(id);
  return id;
}

Result<AppendOutcome> SeriesEngine::append(std::span<const SeriesSample> samples) {
  const std::lock_guard writing(writer_);
  ASSAY_CHECK(make_room());
  ASSAY_TRY(const auto outcome, sort_out(samples));
  const auto first_change = next_change_;
  ASSAY_CHECK(log_samples());
  put_into_heads(fresh_);
  auto change = first_change;
  for (std::span<const SeriesSample> rest = late_; !rest.empty(); ++change) {
    const auto piece = rest.first(std::min(rest.size(), kLateAtOnce));
    ASSAY_CHECK(merge_late(change, piece).within("storing late telemetry"));
    rest = rest.subspan(piece.size());
  }
  ASSAY_CHECK(sync_if_due());
  return outcome;
}

/// Keeps memory and log files bounded before anything new is taken in.
Result<void> SeriesEngine::make_room() {
  if (log_->full()) {
    ASSAY_CHECK(log_->rotate());
    remember_log_files(first_log_file_);
    const std::lock_guard hold(state_);
    ++log_files_;
  }
  if (due_.size() < kMostDue && head_bytes_ < options_.max_head_bytes) return {};
  const auto written = write_due(kMostDue);
  // As long as there is memory, what cannot be written to chunks now can be later.
  if (written.ok() || head_bytes_ < options_.max_head_bytes) return {};
  return Result<void>(written.error()).within("telemetry waits in memory and cannot be written");
}

/// Splits a batch into what goes into heads, what is late and what is refused.
Result<AppendOutcome> SeriesEngine::sort_out(std::span<const SeriesSample> samples) {
  AppendOutcome outcome;
  fresh_.clear();
  late_.clear();
  const auto oldest = floors_[0];
  const auto newest = (clock_.wall() + options_.max_ahead).time_since_epoch().count();
  for (const auto& sample : samples) {
    if (!catalogue_.contains(sample.series)) return no_such_series(sample.series);
    if (sample.time_ns < oldest) {
      ++outcome.too_old;
    } else if (sample.time_ns > newest || sample.time_ns >= kEndOfTime) {
      ++outcome.too_far_ahead;
    } else if (sample.time_ns <= heads_[sample.series].progress.stored_until) {
      late_.push_back(sample);
    } else {
      fresh_.push_back(sample);
    }
  }
  outcome.accepted = fresh_.size() + late_.size();
  return outcome;
}

Result<void> SeriesEngine::log_samples() {
  for (const auto id : unlogged_) {
    const auto info = catalogue_.info(id);
    log_->add_series(id, info.key, info.unit);
  }
  log_->add_samples(fresh_);
  for (std::span<const SeriesSample> rest = late_; !rest.empty();) {
    const auto piece = rest.first(std::min(rest.size(), kLateAtOnce));
    log_->add_late(next_change_++, piece);
    rest = rest.subspan(piece.size());
  }
  ASSAY_CHECK(log_->commit());
  unlogged_.clear();
  return {};
}

void SeriesEngine::put_into_heads(std::span<const SeriesSample> samples) {
  while (!samples.empty()) {
    const auto slice = samples.first(std::min(samples.size(), kSlice));
    const std::lock_guard hold(state_);
    for (const auto& sample : slice) put_into_head(sample);
    samples = samples.subspan(slice.size());
  }
}

/// With `state_` held, or while nobody else knows the store.
void SeriesEngine::put_into_head(const SeriesSample& sample) {
  Head& head = heads_[sample.series];
  const auto file = replaying_ != 0 ? replaying_ : log_->file_number();
  const auto points = head.points.size();
  const auto memory = head.points.memory();
  if (head.points.empty()) {
    head.first_file = head.tail_file = file;
    head.points.append(sample.time_ns, sample.value);
  } else if (sample.time_ns > head.points.last_time()) {
    if (floor_to(sample.time_ns, kMinuteNs) > head.points.last_time()) head.tail_file = file;
    head.points.append(sample.time_ns, sample.value);
  } else {
    head.points.insert(sample.time_ns, sample.value);
  }
  head_points_ += head.points.size() - points;
  head_bytes_ += head.points.memory() - memory;
  if (head.points.size() >= head.target || head.points.bytes() >= kMostPackedBytes) due_.insert(sample.series);
  newest_sample_ = std::max(newest_sample_, sample.time_ns);
}

/// Puts samples among what is in chunks; the last one of equal times wins. They are in the log as change `change`.
Result<void> SeriesEngine::merge_late(std::uint64_t change, std::span<const SeriesSample> samples) {
  const auto late = by_series(samples);
  const auto give_up = [&](const LatePoints& series, const Error& error) {
    note({fmt::format("series {}: late points cannot be stored: {}", series.id, error.message)});
    change_failed_ = true;
    const std::lock_guard hold(state_);
    losses_.add(series.id, {series.points.front().time_ns, series.points.back().time_ns + 1},
                "late points could not be stored: " + error.message);
  };
  std::span<const LatePoints> rest = late;
  do {
    const auto group = rest.first(std::min(rest.size(), kSeriesAtOnce));
    rest = rest.subspan(group.size());
    const auto store = [&](std::span<const LatePoints> some) {
      // The database has seen the change when it has the last series of it.
      const bool last = rest.empty() && some.data() + some.size() == group.data() + group.size();
      return store_late(some, last ? std::optional(change) : std::nullopt);
    };
    ASSAY_CHECK(outcome_of_change(around_damage(group, store, give_up)));
  } while (!rest.empty());
  return {};
}

std::vector<SeriesEngine::LatePoints> SeriesEngine::by_series(std::span<const SeriesSample> samples) {
  std::vector<SeriesSample> sorted(samples.begin(), samples.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const SeriesSample& a, const SeriesSample& b) {
    return a.series != b.series ? a.series < b.series : a.time_ns < b.time_ns;
  });
  std::vector<LatePoints> late;
  for (const auto& sample : sorted) {
    if (late.empty() || late.back().id != sample.series) late.push_back({sample.series, {}});
    auto& points = late.back().points;
    if (!points.empty() && points.back().time_ns == sample.time_ns) points.pop_back();
    points.push_back({sample.time_ns, sample.value});
  }
  return late;
}

/// In one transaction; `change`: together with the news that it was carried out.
Result<void> SeriesEngine::store_late(std::span<const LatePoints> late, std::optional<std::uint64_t> change) {
  std::vector<std::string> problems;
  std::vector<std::pair<SeriesId, SeriesProgress>> changed;
  ASSAY_TRY(auto transaction, Transaction::begin(file_->database()));
  for (const auto& [id, points] : late) {
    auto progress = heads_[id].progress;
    ASSAY_CHECK(file_->store(id, points, progress.stored_until, problems));
    if (points.back().time_ns < progress.newest.time_ns) continue;
    progress.newest = points.back();
    ASSAY_CHECK(file_->put_progress(id, progress));
    changed.emplace_back(id, progress);
  }
  if (change) ASSAY_CHECK(file_->put_setting("changes", static_cast<std::int64_t>(*change)));
  {
    const std::lock_guard hold(state_);
    ASSAY_CHECK(transaction.commit());
    for (const auto& [id, progress] : changed) heads_[id].progress = progress;
  }
  written_since_checkpoint_ = true;
  note(std::move(problems));
  return {};
}

/// A change that failed was reported as failed: a restart must not carry it out on what came after it.
Result<void> SeriesEngine::outcome_of_change(Result<void> outcome) {
  if (!outcome.ok()) change_failed_ = true;
  return outcome;
}

Result<void> SeriesEngine::sync_if_due() {
  const auto now = clock_.now();
  if (now - synced_ < options_.sync_every) return {};
  ASSAY_CHECK(log_->sync());
  synced_ = now;
  return {};
}

Result<void> SeriesEngine::sync() {
  const std::lock_guard writing(writer_);
  return log_->sync();
}

}  // namespace assay
