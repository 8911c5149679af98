#include <algorithm>
#include <iterator>

#include "store/series/engine.h"

namespace assay {
namespace {

/// Series that are changed in one transaction: each may have thousands of rows.
constexpr std::size_t kChangeGroup = 64;

}  // namespace

Result<std::size_t> SeriesEngine::erase(const SeriesSelector& selector, TimeRange range) {
  const TimeRange clipped{std::max<std::int64_t>(range.from_ns, 0), std::min(range.to_ns, kEndOfTime)};
  if (clipped.from_ns >= clipped.to_ns) return std::size_t{0};
  const auto selected = select(selector, options_.max_series);
  std::size_t erased = 0;
  for (std::span<const SeriesId> rest = selected; !rest.empty();) {
    const auto slice = rest.first(std::min(rest.size(), kChangeGroup));
    rest = rest.subspan(slice.size());
    const std::lock_guard writing(writer_);
    std::vector<SeriesId> ids;
    std::copy_if(slice.begin(), slice.end(), std::back_inserter(ids),
                 [&](SeriesId id) { return catalogue_.contains(id); });
    if (!ids.empty()) ASSAY_CHECK(erase_some(ids, clipped));
    erased += ids.size();
  }
  return erased;
}

Result<void> SeriesEngine::erase_some(std::span<const SeriesId> ids, TimeRange range) {
  if (range.from_ns == 0 && range.to_ns == kEndOfTime) return forget(ids);
  const auto change = next_change_++;
  log_->add_erase(change, range, ids);
  ASSAY_CHECK(log_->commit());
  return outcome_of_change(apply_erase(change, range, ids)).within("deleting telemetry");
}

Result<void> SeriesEngine::apply_erase(std::uint64_t change, TimeRange range, std::span<const SeriesId> ids) {
  do {
    const auto group = ids.first(std::min(ids.size(), kChangeGroup));
    ids = ids.subspan(group.size());
    ASSAY_CHECK(erase_group(group, range, ids.empty() ? std::optional(change) : std::nullopt));
  } while (!ids.empty());
  written_since_checkpoint_ = true;
  return {};
}

Result<void> SeriesEngine::erase_group(std::span<const SeriesId> ids, TimeRange range,
                                       std::optional<std::uint64_t> change) {
  std::vector<std::string> problems;
  std::vector<SeriesProgress> after;
  ASSAY_TRY(auto transaction, file_->begin());
  for (const auto id : ids) {
    auto progress = heads_[id].progress;
    ASSAY_CHECK(file_->erase(id, range, floors_[0], problems));
    const auto newest = progress.newest.time_ns;
    if (newest >= range.from_ns && newest < range.to_ns) {
      ASSAY_TRY(const auto last, file_->raw().last(id, problems));
      progress.newest = last.value_or(TimedValue{kNever, 0});
      ASSAY_CHECK(file_->put_progress(id, progress));
    }
    after.push_back(progress);
  }
  if (change) ASSAY_CHECK(file_->put_setting("changes", static_cast<std::int64_t>(*change)));
  ASSAY_TRY(const auto growth, file_->save_growth());
  {
    const std::lock_guard hold(state_);
    ASSAY_CHECK(transaction.commit());
    for (std::size_t i = 0; i < ids.size(); ++i) heads_[ids[i]].progress = after[i];
    grow(growth);
    erase_from_heads(ids, range);
  }
  note(std::move(problems));
  return {};
}

/// With `state_` held, or while nobody else knows the store.
void SeriesEngine::erase_from_heads(std::span<const SeriesId> ids, TimeRange range) {
  for (const auto id : ids) {
    Head& head = heads_[id];
    if (head.points.empty() || head.points.last_time() < range.from_ns || head.points.first_time() >= range.to_ns) {
      continue;
    }
    auto points = head.points.unpack();
    std::erase_if(
        points, [&](const TimedValue& point) { return point.time_ns >= range.from_ns && point.time_ns < range.to_ns; });
    PackedPoints packed;
    packed.assign(points);
    replace_points(head, std::move(packed));
    // What was the newest minute may be gone: any of the points may be as old as the oldest.
    head.tail_file = head.first_file;
  }
}

Result<void> SeriesEngine::forget(std::span<const SeriesId> ids) {
  const auto change = next_change_++;
  log_->add_forget(change, ids);
  ASSAY_CHECK(log_->commit());
  return outcome_of_change(apply_forget(change, ids)).within("deleting series");
}

Result<void> SeriesEngine::apply_forget(std::uint64_t change, std::span<const SeriesId> ids) {
  do {
    const auto group = ids.first(std::min(ids.size(), kChangeGroup));
    ids = ids.subspan(group.size());
    ASSAY_TRY(auto transaction, Transaction::begin(file_->database()));
    for (const auto id : group) ASSAY_CHECK(file_->forget(id));
    if (ids.empty()) ASSAY_CHECK(file_->put_setting("changes", static_cast<std::int64_t>(change)));
    const std::lock_guard hold(state_);
    ASSAY_CHECK(transaction.commit());
    drop(group);
  } while (!ids.empty());
  written_since_checkpoint_ = true;
  return {};
}

/// With `state_` held, or while nobody else knows the store.
void SeriesEngine::drop(std::span<const SeriesId> ids) {
  const std::set<SeriesId> gone(ids.begin(), ids.end());
  for (const auto id : ids) {
    replace_points(heads_[id], {});
    heads_[id] = {};
    catalogue_.remove(id);
    losses_.forget(id);
    due_.erase(id);
  }
  const auto is_gone = [&](SeriesId id) { return gone.contains(id); };
  std::erase_if(unlogged_, is_gone);
  std::erase_if(unsaved_, is_gone);
  std::erase_if(unsavable_, is_gone);
}

}  // namespace assay
