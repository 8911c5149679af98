#include <fmt/format.h>

#include <algorithm>

#include "store/series/around_damage.h"
#include "store/series/engine.h"

namespace assay {
namespace {

/// Series whose chunks are committed together.
constexpr std::size_t kWriteGroup = 256;
/// Where the database refuses the points of a series for good, this many are kept in memory in the hope of better days.
constexpr std::size_t kMostStuckPoints = 8 * kChunkPoints;

/// How many of the points to write, one at least: up to the last whole minute, so that minutes are made from points in
/// hand. All of them if that would leave too many.
std::size_t cut_of(const std::vector<TimedValue>& points) {
  const auto minute = floor_to(points.back().time_ns, kMinuteNs);
  const auto cut =
      static_cast<std::size_t>(std::partition_point(points.begin(), points.end(),
                                                    [&](const TimedValue& point) { return point.time_ns < minute; }) -
                               points.begin());
  return cut > 0 && cut >= points.size() / 2 ? cut : points.size();
}

}  // namespace

/// Writes up to `most` series that are due.
Result<void> SeriesEngine::write_due(std::size_t most) {
  while (most > 0 && !due_.empty()) {
    const auto group = std::min({due_.size(), kWriteGroup, most});
    const std::vector<SeriesId> ids(due_.begin(), std::next(due_.begin(), static_cast<std::ptrdiff_t>(group)));
    ASSAY_CHECK(write_out(ids, false));
    most -= group;
  }
  return {};
}

/// Writes the heads of these series to chunks; `whole`: including their last minute. None of them is due afterwards.
Result<void> SeriesEngine::write_out(std::span<const SeriesId> ids, bool whole) {
  while (!ids.empty()) {
    const auto group = ids.first(std::min(ids.size(), kWriteGroup));
    ASSAY_CHECK(around_damage(
                    group, [&](std::span<const SeriesId> some) { return write_group(some, whole); },
                    [&](SeriesId id, const Error& error) { give_up_on(id, error); })
                    .within("writing telemetry"));
    ids = ids.subspan(group.size());
  }
  return {};
}

Result<void> SeriesEngine::write_group(std::span<const SeriesId> ids, bool whole) {
  std::vector<std::string> problems;
  std::vector<Written> written;
  ASSAY_CHECK(save_names());
  ASSAY_TRY(auto transaction, file_->begin());
  if (change_failed_) ASSAY_CHECK(file_->put_setting("changes", static_cast<std::int64_t>(next_change_ - 1)));
  for (const auto id : ids) {
    if (!catalogue_.contains(id) || heads_[id].points.empty()) {
      written.push_back({id, {}, heads_[id].progress});
      continue;
    }
    ASSAY_TRY(auto series, write_series(id, whole, problems));
    written.push_back(std::move(series));
  }
  ASSAY_TRY(const auto growth, file_->save_growth());
  {
    const std::lock_guard hold(state_);
    ASSAY_CHECK(transaction.commit());
    settle(std::move(written));
    grow(growth);
  }
  change_failed_ = false;
  written_since_checkpoint_ = true;
  note(std::move(problems));
  return {};
}

Result<SeriesEngine::Written> SeriesEngine::write_series(SeriesId id, bool whole, std::vector<std::string>& problems) {
  const Head& head = heads_[id];
  auto points = head.points.unpack();
  const auto cut = whole ? points.size() : cut_of(points);
  Written written{.id = id, .progress = head.progress};
  for (std::size_t i = cut; i < points.size(); ++i) written.rest.append(points[i].time_ns, points[i].value);
  points.resize(cut);
  ASSAY_CHECK(file_->store(id, points, head.progress.stored_until, problems));
  written.progress = {points.back().time_ns, points.back()};
  ASSAY_CHECK(file_->put_progress(id, written.progress));
  return written;
}

/// With `state_` held.
void SeriesEngine::settle(std::vector<Written> written) {
  for (auto& series : written) {
    Head& head = heads_[series.id];
    replace_points(head, std::move(series.rest));
    head.progress = series.progress;
    head.first_file = head.tail_file;
    head.target = kChunkPoints;
    due_.erase(series.id);
  }
}

/// With `state_` held, or while nobody else knows the store.
void SeriesEngine::grow(const SeriesGrowth& growth) {
  for (const auto& [id, bytes] : growth) {
    if (catalogue_.contains(id)) catalogue_.grow(id, bytes);
  }
}

void SeriesEngine::replace_points(Head& head, PackedPoints points) {
  // Assigning would keep the room of the old ones where the new ones are few, and what is counted would not be what is
  // held.
  std::swap(head.points, points);
  head_points_ += head.points.size() - points.size();
  head_bytes_ += head.points.memory() - points.memory();
}

/// The page that the series needs is damaged: it stays in memory for a while, then its points are lost.
void SeriesEngine::give_up_on(SeriesId id, const Error& error) {
  note({fmt::format("series {}: it cannot be written: {}", id, error.message)});
  const std::lock_guard hold(state_);
  Head& head = heads_[id];
  due_.erase(id);
  head.target = static_cast<std::uint32_t>(head.points.size() + kChunkPoints);
  if (head.points.size() >= kMostStuckPoints) {
    losses_.add(id, {head.points.first_time(), head.points.last_time() + 1},
                "it could not be written: " + error.message);
    replace_points(head, {});
    head.target = kChunkPoints;
  }
}

/// Those that the database does not know yet. A damaged page must not stop every other series with its own.
Result<void> SeriesEngine::save_names() {
  if (unsaved_.empty()) return {};
  const auto save = [&](std::span<const SeriesId> ids) -> Result<void> {
    ASSAY_TRY(auto transaction, Transaction::begin(file_->database()));
    for (const auto id : ids) ASSAY_CHECK(file_->put_series(catalogue_.info(id)));
    ASSAY_CHECK(file_->put_setting("next_series", next_id_));
    return transaction.commit();
  };
  ASSAY_CHECK(around_damage<SeriesId>(unsaved_, save, [&](SeriesId id, const Error& error) {
    note({fmt::format("series {}: its name cannot be written: {}", id, error.message)});
    unsavable_.push_back(id);
  }));
  unsaved_.clear();
  return {};
}

Result<void> SeriesEngine::flush() {
  for (SeriesId next = 0;;) {
    const std::lock_guard writing(writer_);
    std::vector<SeriesId> ids;
    for (; next < catalogue_.end() && ids.size() < kWriteGroup; ++next) {
      if (catalogue_.contains(next) && !heads_[next].points.empty()) ids.push_back(next);
    }
    if (ids.empty()) return {};
    ASSAY_CHECK(write_out(ids, true));
  }
}

}  // namespace assay
