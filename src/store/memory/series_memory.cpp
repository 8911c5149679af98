#include "store/memory/series_memory.h"

#include <algorithm>

#include "store/bucket_answer.h"

namespace assay {
namespace {

bool is_selected(const SeriesInfo& series, const SeriesSelector& selector) {
  if (!selector.name.empty() && selector.name != series.key.name) return false;
  return std::all_of(selector.labels.begin(), selector.labels.end(), [&](const LabelMatch& match) {
    const auto label = series.key.labels.find(match.label);
    return match.fits(label == series.key.labels.end() ? std::nullopt : std::optional<std::string_view>(label->second));
  });
}

}  // namespace

std::vector<Result<SeriesId>> SeriesMemory::intern(std::span<const SeriesInfo> series) {
  const std::lock_guard lock(mutex_);
  std::vector<Result<SeriesId>> ids;
  ids.reserve(series.size());
  for (const auto& one : series) ids.push_back(intern_one(one.key, one.unit));
  return ids;
}

Result<SeriesId> SeriesMemory::intern_one(const SeriesKey& key, std::string_view unit) {
  if (const auto known = ids_.find(key); known != ids_.end()) {
    const std::string& other = series_.at(known->second).info.unit;
    if (other == unit) return known->second;
    return wrong_unit(key, other, unit);
  }
  ASSAY_CHECK(check_series_key(key, unit));
  if (series_.size() >= limits_.max_series) return too_many_series(series_.size());
  auto& held = holdings_[std::string(owner_of(key, limits_.owner_label))];
  ASSAY_CHECK(check_holding(limits_, owner_of(key, limits_.owner_label), held, key_bytes(key, unit)));
  ++held.series;
  held.key_bytes += key_bytes(key, unit);
  const SeriesId id = next_id_++;
  ids_[key] = id;
  series_[id].info = {.id = id, .key = key, .unit = std::string(unit)};
  return id;
}

Result<AppendOutcome> SeriesMemory::append(std::span<const SeriesSample> samples) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  for (const auto& sample : samples) {
    if (!series_.contains(sample.series)) return no_such_series(sample.series);
  }
  AppendOutcome outcome;
  std::map<std::string, std::uint64_t, std::less<>> taken;
  const auto is_full = [&](const SeriesKey& key) {
    const std::string owner(owner_of(key, limits_.owner_label));
    const auto [known, is_new] = taken.try_emplace(owner);
    if (is_new) known->second = bytes_of(owner);
    return known->second >= limits_.max_per_owner.bytes;
  };
  const auto newest = (clock_.wall() + limits_.max_ahead).time_since_epoch().count();
  const auto oldest = oldest_taken(limits_, floors_, newest_sample_, clock_.wall());
  for (const auto& sample : samples) {
    if (sample.time_ns < oldest) {
      ++outcome.too_old;
    } else if (sample.time_ns > newest || sample.time_ns >= kEndOfTime) {
      ++outcome.too_far_ahead;
    } else if (is_full(series_.at(sample.series).info.key)) {
      ++outcome.too_much;
    } else {
      ++outcome.accepted;
      newest_sample_ = std::max(newest_sample_, sample.time_ns);
      series_.at(sample.series).points[sample.time_ns] = sample.value;
    }
  }
  return outcome;
}

Result<UpkeepOutcome> SeriesMemory::maintain(WallTime now) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  UpkeepOutcome outcome;
  std::int64_t newest = 0;
  for (const auto& [id, series] : series_) {
    if (!series.points.empty()) newest = std::max(newest, series.points.rbegin()->first);
  }
  newest = std::min(newest, now.time_since_epoch().count());
  for (std::size_t tier = 0; tier < floors_.size(); ++tier) {
    const auto oldest = std::max<std::int64_t>(newest - limits_.keep[tier].count(), 0);
    floors_[tier] = std::max(floors_[tier], floor_to(oldest, kHourNs));
  }
  for (auto entry = series_.begin(); entry != series_.end();) {
    auto& points = entry->second.points;
    const bool had_points = !points.empty();
    points.erase(points.begin(), points.lower_bound(floors_[2]));
    const bool is_over = had_points && points.empty();
    outcome.series_forgotten += is_over ? 1 : 0;
    if (is_over) forget_key(entry->second.info);
    entry = is_over ? series_.erase(entry) : std::next(entry);
  }
  return outcome;
}

Result<std::size_t> SeriesMemory::erase(const SeriesSelector& selector, TimeRange range) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  const bool whole = range.from_ns <= 0 && range.to_ns >= kEndOfTime;
  std::size_t touched = 0;
  for (auto entry = series_.begin(); entry != series_.end();) {
    const bool selected = is_selected(entry->second.info, selector);
    auto& points = entry->second.points;
    if (selected && range.from_ns < range.to_ns) {
      points.erase(points.lower_bound(range.from_ns), points.lower_bound(range.to_ns));
    }
    touched += selected ? 1 : 0;
    if (selected && whole) forget_key(entry->second.info);
    entry = selected && whole ? series_.erase(entry) : std::next(entry);
  }
  return touched;
}

Result<void> SeriesMemory::backup_to(const fs::path&) {
  return Error{.kind = ErrorKind::unsupported, .message = "what is in memory alone cannot be backed up"};
}

Result<std::vector<const SeriesMemory::Series*>> SeriesMemory::select(const SeriesSelector& selector) const {
  std::vector<const Series*> selected;
  for (const auto& [id, series] : series_) {
    if (is_selected(series.info, selector)) selected.push_back(&series);
  }
  if (selected.size() > limits_.max_answer_series) return answer_too_large("series", limits_.max_answer_series);
  return selected;
}

Result<SeriesAnswer> SeriesMemory::query(const SeriesQuery& query) const {
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(const auto plan, plan_of(query, floors_));
  ASSAY_TRY(const auto selected, select(query.selector));
  SeriesAnswer answer{.range = plan.range, .width_ns = plan.width_ns, .tier = plan.tier};
  std::size_t count = 0;
  for (const Series* series : selected) {
    BucketBuilder builder(plan.width_ns);
    const auto end = series->points.lower_bound(plan.range.to_ns);
    for (auto point = series->points.lower_bound(plan.range.from_ns); point != end; ++point) {
      builder.add(TimedValue{.time_ns = point->first, .value = point->second});
    }
    auto buckets = builder.take();
    count += buckets.size();
    if (count > limits_.max_answer_points) return answer_too_large("buckets", limits_.max_answer_points);
    if (!buckets.empty()) answer.rows.push_back({.series = series->info, .buckets = std::move(buckets)});
  }
  return answer;
}

Result<SeriesPoints> SeriesMemory::points(SeriesId series, TimeRange range, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  const auto found = series_.find(series);
  if (found == series_.end()) return no_such_series(series);
  SeriesPoints answer;
  limit = std::min(limit, limits_.max_answer_points);
  const auto& points = found->second.points;
  for (auto point = points.lower_bound(std::max(range.from_ns, floors_[0])); point != points.end(); ++point) {
    if (point->first >= range.to_ns) break;
    answer.more = answer.points.size() == limit;
    if (answer.more) break;
    answer.points.push_back({.time_ns = point->first, .value = point->second});
  }
  return answer;
}

Result<std::vector<LatestValue>> SeriesMemory::latest(const SeriesSelector& selector) const {
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(const auto selected, select(selector));
  std::vector<LatestValue> values;
  for (const Series* series : selected) {
    if (series->points.empty()) continue;
    const auto& [time_ns, value] = *series->points.rbegin();
    values.push_back({.series = series->info, .newest = {.time_ns = time_ns, .value = value}});
  }
  return values;
}

Result<std::vector<SeriesInfo>> SeriesMemory::list(const SeriesSelector& selector) const {
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(const auto selected, select(selector));
  std::vector<SeriesInfo> infos;
  for (const Series* series : selected) infos.push_back(series->info);
  return infos;
}

SeriesPage SeriesMemory::page(const SeriesSelector& selector, std::optional<SeriesId> after, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  SeriesPage page;
  std::size_t examined = 0;
  std::optional<SeriesId> last = after;
  for (const auto& [id, series] : series_) {
    if (after && id <= *after) continue;
    if (page.series.size() == limit || examined++ == kMostExamined) {
      page.next = last;
      return page;
    }
    last = id;
    if (is_selected(series.info, selector)) page.series.push_back(series.info);
  }
  return page;
}

void SeriesMemory::fail_writes(std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

SeriesStoreStats SeriesMemory::stats() const {
  const std::lock_guard lock(mutex_);
  SeriesStoreStats stats{.series = series_.size()};
  for (const auto& [id, series] : series_) stats.head_points += series.points.size();
  return stats;
}

void SeriesMemory::forget_key(const SeriesInfo& series) {
  ids_.erase(series.key);
  auto& held = holdings_[std::string(owner_of(series.key, limits_.owner_label))];
  --held.series;
  held.key_bytes -= key_bytes(series.key, series.unit);
}

SeriesHolding SeriesMemory::holding(std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  const auto found = holdings_.find(owner);
  auto holding = found == holdings_.end() ? SeriesHolding{} : found->second;
  holding.bytes = bytes_of(owner);
  return holding;
}

std::uint64_t SeriesMemory::bytes_of(std::string_view owner) const {
  std::uint64_t bytes = 0;
  for (const auto& [id, series] : series_) {
    if (owner_of(series.info.key, limits_.owner_label) == owner) bytes += series.points.size() * sizeof(TimedValue);
  }
  return bytes;
}

std::vector<std::string> SeriesMemory::problems() const {
  const std::lock_guard lock(mutex_);
  return damage_;
}

void SeriesMemory::find_damage(std::string what) {
  const std::lock_guard lock(mutex_);
  damage_.push_back(std::move(what));
}

}  // namespace assay
