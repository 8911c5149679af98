#include <fmt/format.h>

#include <algorithm>

#include "store/series/around_damage.h"
#include "store/series/engine.h"

namespace assay {
namespace {

/// Series that wait for a chunk before `append` itself writes some; upkeep normally gets there first.
constexpr std::size_t kMostDue = 2048;
constexpr std::size_t kDueAtOnce = 256;
/// A head is written out at this size even if it is short of points: noise that does not pack.
constexpr std::size_t kMostPackedBytes = 4096;
/// What is done under one hold of the locks, so that whoever waits gets its turn within a tenth of a second: samples
/// that enter heads, minutes made again for late ones (with their chunk and hour, half a millisecond each), new names.
constexpr std::size_t kSlice = 8192;
constexpr std::size_t kMinutesRewritten = 128;
constexpr std::size_t kFewestRewritten = 4;
/// Where the disk or the processor is slower than that, fewer minutes are made again in one go.
constexpr Nanos kLateSliceTime = std::chrono::milliseconds(50);
constexpr std::size_t kNamesAtOnce = 1024;
constexpr std::size_t kSeriesAtOnce = 256;

bool by_series_and_time(const SeriesSample& a, const SeriesSample& b) {
  return a.series != b.series ? a.series < b.series : a.time_ns < b.time_ns;
}

/// The first of some late samples, in order of series and time: as many as one slice of work has room for.
struct LateSlice {
  std::size_t samples = 0;
  std::size_t minutes = 0;
};
LateSlice late_slice(std::span<const SeriesSample> late, std::size_t most_minutes) {
  LateSlice slice;
  for (; slice.samples < std::min(late.size(), kSlice); ++slice.samples) {
    const auto& next = late[slice.samples];
    const auto* before = slice.samples == 0 ? nullptr : &late[slice.samples - 1];
    const bool same_minute = before && before->series == next.series &&
                             floor_to(before->time_ns, kMinuteNs) == floor_to(next.time_ns, kMinuteNs);
    if (same_minute) continue;
    if (slice.minutes == most_minutes) break;
    ++slice.minutes;
  }
  return slice;
}

}  // namespace

std::vector<Result<SeriesId>> SeriesEngine::intern(std::span<const SeriesInfo> series) {
  std::vector<Result<SeriesId>> ids;
  ids.reserve(series.size());
  while (!series.empty()) {
    const auto slice = series.first(std::min(series.size(), kNamesAtOnce));
    const std::lock_guard writing(writer_);
    for (const auto& one : slice) ids.push_back(intern_one(one.key, one.unit));
    series = series.subspan(slice.size());
  }
  return ids;
}

Result<SeriesId> SeriesEngine::intern_one(const SeriesKey& key, std::string_view unit) {
  if (const auto known = catalogue_.find(key)) {
    if (catalogue_.unit(*known) == unit) return *known;
    return wrong_unit(key, catalogue_.unit(*known), unit);
  }
  ASSAY_CHECK(check_series_key(key, unit));
  if (catalogue_.size() >= options_.max_series || next_id_ >= INT32_MAX) {
    return too_many_series(catalogue_.size());
  }
  const auto owner = owner_of(key, options_.owner_label);
  ASSAY_CHECK(check_holding(options_, owner, catalogue_.holding(owner), key_bytes(key, unit)));
  const SeriesId id = next_id_++;
  const std::lock_guard hold(state_);
  add_series(id, key, unit);
  unlogged_.push_back(id);
  unsaved_.push_back(id);
  return id;
}

Result<AppendOutcome> SeriesEngine::append(std::span<const SeriesSample> samples) {
  {
    const std::lock_guard hold(state_);
    for (const auto& sample : samples) {
      if (!catalogue_.contains(sample.series)) return no_such_series(sample.series);
    }
  }
  AppendOutcome outcome;
  std::vector<SeriesSample> late;
  do {
    const auto slice = samples.first(std::min(samples.size(), kSlice));
    const std::lock_guard writing(writer_);
    ASSAY_CHECK(make_room());
    ASSAY_CHECK(take_fresh(slice, outcome));
    late.insert(late.end(), late_.begin(), late_.end());
    samples = samples.subspan(slice.size());
    if (samples.empty() && late.empty()) ASSAY_CHECK(sync_if_due());
  } while (!samples.empty());
  // In order, so that a chunk is met in one slice or two; of equal times the last one stays the last.
  std::stable_sort(late.begin(), late.end(), by_series_and_time);
  for (std::span<const SeriesSample> rest = late; !rest.empty();) {
    const std::lock_guard writing(writer_);
    const auto slice = late_slice(rest, late_minutes_);
    const SteadyTime begun = std::chrono::steady_clock::now();
    ASSAY_CHECK(take_late(rest.first(slice.samples), outcome).within("storing late telemetry"));
    const auto took = std::max<Nanos>(std::chrono::steady_clock::now() - begun, Nanos(1));
    const double fitting = static_cast<double>(slice.minutes) * seconds_of(kLateSliceTime) / seconds_of(took);
    late_minutes_ = static_cast<std::size_t>(std::clamp<double>(fitting, kFewestRewritten, kMinutesRewritten));
    outcome.rewritten += slice.minutes;
    rest = rest.subspan(slice.samples);
    if (rest.empty()) ASSAY_CHECK(sync_if_due());
  }
  return outcome;
}

/// What belongs into heads; the rest waits in `late_`.
Result<void> SeriesEngine::take_fresh(std::span<const SeriesSample> samples, AppendOutcome& outcome) {
  ASSAY_CHECK(sort_out(samples, outcome));
  log_names();
  log_->add_samples(fresh_);
  ASSAY_CHECK(log_->commit());
  unlogged_.clear();
  put_into_heads(fresh_);
  outcome.accepted += fresh_.size();
  return {};
}

/// What was late when its batch came, and is so still, unless its series was forgotten.
Result<void> SeriesEngine::take_late(std::span<const SeriesSample> samples, AppendOutcome& outcome) {
  ASSAY_CHECK(sort_out(samples, outcome));
  const auto change = next_change_;
  log_->add_samples(fresh_);
  if (!late_.empty()) log_->add_late(next_change_++, late_);
  ASSAY_CHECK(log_->commit());
  put_into_heads(fresh_);
  if (!late_.empty()) ASSAY_CHECK(merge_late(change, late_));
  outcome.accepted += fresh_.size() + late_.size();
  return {};
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
  const auto written = write_due(head_bytes_ < options_.max_head_bytes ? kDueAtOnce : kMostDue);
  // As long as there is memory, what cannot be written to chunks now can be later.
  if (written.ok() || head_bytes_ < options_.max_head_bytes) return {};
  return Result<void>(written.error()).within("telemetry waits in memory and cannot be written");
}

/// Splits samples into what goes into heads, what is late and what is refused.
Result<void> SeriesEngine::sort_out(std::span<const SeriesSample> samples, AppendOutcome& outcome) {
  fresh_.clear();
  late_.clear();
  const auto oldest = oldest_taken(options_, floors_, newest_sample_, clock_.wall());
  const auto newest = (clock_.wall() + options_.max_ahead).time_since_epoch().count();
  for (const auto& sample : samples) {
    if (!catalogue_.contains(sample.series)) return no_such_series(sample.series);
    if (sample.time_ns < oldest) {
      ++outcome.too_old;
    } else if (sample.time_ns > newest || sample.time_ns >= kEndOfTime) {
      ++outcome.too_far_ahead;
    } else if (catalogue_.owned_bytes(sample.series) >= options_.max_per_owner.bytes) {
      ++outcome.too_much;
    } else if (sample.time_ns <= heads_[sample.series].progress.stored_until) {
      late_.push_back(sample);
    } else {
      fresh_.push_back(sample);
    }
  }
  return {};
}

void SeriesEngine::log_names() {
  for (const auto id : unlogged_) {
    const auto info = catalogue_.info(id);
    log_->add_series(id, info.key, info.unit);
  }
}

void SeriesEngine::put_into_heads(std::span<const SeriesSample> samples) {
  const std::lock_guard hold(state_);
  put_all_into_heads(samples);
}

/// With `state_` held, or while nobody else knows the store. What is not newer than the rest of its head is put in
/// together: one by one, a sender of old samples would have every head unpacked for each of them.
void SeriesEngine::put_all_into_heads(std::span<const SeriesSample> samples) {
  std::vector<SeriesSample> older;
  for (const auto& sample : samples) {
    Head& head = heads_[sample.series];
    if (head.points.empty() || sample.time_ns > head.points.last_time()) {
      put_into_head(head, sample);
    } else {
      older.push_back(sample);
    }
  }
  for (const auto& [id, points] : by_series(older)) {
    Head& head = heads_[id];
    change_head(id, head, [&, &late = points] { head.points.merge(late); });
  }
}

void SeriesEngine::put_into_head(Head& head, const SeriesSample& sample) {
  const auto file = replaying_ != 0 ? replaying_ : log_->file_number();
  change_head(sample.series, head, [&] {
    if (head.points.empty()) {
      head.first_file = head.tail_file = file;
    } else if (floor_to(sample.time_ns, kMinuteNs) > head.points.last_time()) {
      head.tail_file = file;
    }
    head.points.append(sample.time_ns, sample.value);
  });
  newest_sample_ = std::max(newest_sample_, sample.time_ns);
}

/// Keeps count of what is in memory.
template <typename Change>
void SeriesEngine::change_head(SeriesId id, Head& head, Change change) {
  const auto points = head.points.size();
  const auto memory = head.points.memory();
  change();
  head_points_ += head.points.size() - points;
  head_bytes_ += head.points.memory() - memory;
  if (head.points.size() >= head.target || head.points.bytes() >= kMostPackedBytes) due_.insert(id);
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
  std::stable_sort(sorted.begin(), sorted.end(), by_series_and_time);
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
  ASSAY_TRY(auto transaction, file_->begin());
  for (const auto& [id, points] : late) {
    auto progress = heads_[id].progress;
    ASSAY_CHECK(file_->store(id, points, progress.stored_until, problems));
    if (points.back().time_ns < progress.newest.time_ns) continue;
    progress.newest = points.back();
    ASSAY_CHECK(file_->put_progress(id, progress));
    changed.emplace_back(id, progress);
  }
  if (change) ASSAY_CHECK(file_->put_setting("changes", static_cast<std::int64_t>(*change)));
  ASSAY_TRY(const auto growth, file_->save_growth());
  {
    const std::lock_guard hold(state_);
    ASSAY_CHECK(transaction.commit());
    for (const auto& [id, progress] : changed) heads_[id].progress = progress;
    grow(growth);
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
