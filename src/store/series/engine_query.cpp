#include <algorithm>

#include "store/series/engine.h"

namespace assay {
namespace {

/// Points of a head that lie in the range.
std::vector<TimedValue> clipped(const PackedPoints& head, TimeRange range) {
  if (head.empty() || head.last_time() < range.from_ns || head.first_time() >= range.to_ns) return {};
  auto points = head.unpack();
  std::erase_if(points,
                [&](const TimedValue& point) { return point.time_ns < range.from_ns || point.time_ns >= range.to_ns; });
  return points;
}

/// Reads one series at the width of a query. A minute or hour that the head reaches into is made from its parts, so
/// that an answer is the same before and after the head is written.
class BucketReader {
 public:
  BucketReader(SeriesFile& file, SeriesId series, const PackedPoints& head, std::vector<std::string>& problems)
      : file_(file), series_(series), head_(head), problems_(problems) {}

  Result<void> raw(TimeRange range, BucketBuilder& out) {
    ASSAY_CHECK(file_.raw().each(series_, range, problems_, [&](std::span<const TimedValue> points) {
      for (const auto& point : points) out.add(point);
      return true;
    }));
    for (const auto& point : clipped(head_, range)) out.add(point);
    return {};
  }

  Result<void> minutes(TimeRange range, BucketBuilder& out) {
    const auto head_from = head_.empty() ? kEndOfTime : floor_to(head_.first_time(), kMinuteNs);
    ASSAY_CHECK(stored(file_.minutes(), {range.from_ns, std::min(range.to_ns, head_from)}, out));
    if (head_from >= range.to_ns) return {};
    BucketBuilder minutes(kMinuteNs);
    ASSAY_CHECK(raw({std::max(range.from_ns, head_from), range.to_ns}, minutes));
    for (const auto& minute : minutes.take()) out.add(minute);
    return {};
  }

  Result<void> hours(TimeRange range, BucketBuilder& out) {
    const auto head_from = head_.empty() ? kEndOfTime : floor_to(head_.first_time(), kHourNs);
    ASSAY_CHECK(stored(file_.hours(), {range.from_ns, std::min(range.to_ns, head_from)}, out));
    if (head_from >= range.to_ns) return {};
    BucketBuilder hours(kHourNs);
    ASSAY_CHECK(minutes({std::max(range.from_ns, head_from), range.to_ns}, hours));
    for (const auto& hour : hours.take()) out.add(hour);
    return {};
  }

 private:
  Result<void> stored(BucketTable& table, TimeRange range, BucketBuilder& out) {
    if (range.from_ns >= range.to_ns) return {};
    return table.each(series_, range, problems_, [&](std::span<const SeriesBucket> buckets) {
      for (const auto& bucket : buckets) out.add(bucket);
      return true;
    });
  }

  SeriesFile& file_;
  const SeriesId series_;
  const PackedPoints& head_;
  std::vector<std::string>& problems_;
};

}  // namespace

/// The ids of those that fit, in order; more than `most` of them are not looked for. Where nothing says among which few
/// they are, this looks at all series, a slice at a time: others come in between, and some may be gone by the end.
std::vector<SeriesId> SeriesEngine::select(const SeriesSelector& selector, std::size_t most) const {
  std::vector<SeriesId> ids;
  for (std::optional<SeriesId> first = 0; first && ids.size() <= most;) {
    const std::lock_guard hold(state_);
    if (auto found = catalogue_.select_indexed(selector, kMostExamined); found && ids.empty()) return std::move(*found);
    const auto page = catalogue_.select_page(selector, *first, most + 1 - ids.size(), kMostExamined);
    ids.insert(ids.end(), page.ids.begin(), page.ids.end());
    first = page.last ? std::optional(*page.last + 1) : std::nullopt;
  }
  return ids;
}

/// A view on database and heads that stays as it is. `state_` must be held.
Result<SeriesEngine::Snapshot> SeriesEngine::snapshot(ReaderPool::Lease file, const std::vector<SeriesId>& ids) const {
  ASSAY_CHECK(file.pin());
  Snapshot snapshot{std::move(file), {}};
  snapshot.series.reserve(ids.size());
  for (const auto id : ids) {
    if (catalogue_.contains(id)) snapshot.series.push_back({catalogue_.info(id), heads_[id].points});
  }
  return snapshot;
}

Result<std::vector<SeriesBucket>> SeriesEngine::buckets(SeriesFile& file, const Seen& series, const SeriesPlan& plan,
                                                        std::vector<std::string>& problems) {
  BucketBuilder builder(plan.width_ns);
  BucketReader reader(file, series.info.id, series.head, problems);
  switch (plan.tier) {
    case SeriesTier::raw: ASSAY_CHECK(reader.raw(plan.range, builder)); break;
    case SeriesTier::minute: ASSAY_CHECK(reader.minutes(plan.range, builder)); break;
    case SeriesTier::hour: ASSAY_CHECK(reader.hours(plan.range, builder)); break;
  }
  return builder.take();
}

Result<SeriesAnswer> SeriesEngine::query(const SeriesQuery& query) const {
  const auto ids = select(query.selector, options_.max_answer_series);
  if (ids.size() > options_.max_answer_series) return answer_too_large("series", options_.max_answer_series);
  ASSAY_TRY(auto file, readers_.lease());
  std::unique_lock hold(state_);
  ASSAY_TRY(const auto plan, plan_of(query, floors_));
  ASSAY_TRY(auto seen, snapshot(std::move(file), ids));
  SeriesAnswer answer{
      .range = plan.range, .width_ns = plan.width_ns, .tier = plan.tier, .problems = losses_.of(ids, plan.range)};
  hold.unlock();

  std::size_t count = 0;
  for (auto& series : seen.series) {
    if (plan.range.from_ns >= plan.range.to_ns) break;
    ASSAY_TRY(auto buckets, buckets(*seen.file, series, plan, answer.problems));
    count += buckets.size();
    if (count > options_.max_answer_points) return answer_too_large("buckets", options_.max_answer_points);
    if (!buckets.empty()) answer.rows.push_back({std::move(series.info), std::move(buckets)});
  }
  note(answer.problems);
  return answer;
}

Result<SeriesPoints> SeriesEngine::points(SeriesId series, TimeRange range, std::size_t limit) const {
  ASSAY_TRY(auto file, readers_.lease());
  std::unique_lock hold(state_);
  if (!catalogue_.contains(series)) {
    return no_such_series(series);
  }
  ASSAY_TRY(auto seen, snapshot(std::move(file), {series}));
  const TimeRange reading{std::max({range.from_ns, floors_[0], std::int64_t{0}}), std::min(range.to_ns, kEndOfTime)};
  SeriesPoints answer{.problems = losses_.of({&series, 1}, reading)};
  hold.unlock();

  if (reading.from_ns >= reading.to_ns) return answer;
  limit = std::min(limit, options_.max_answer_points);
  ASSAY_TRY(answer.points, seen.file->raw().read(series, reading, answer.problems, limit + 1));
  for (const auto& point : clipped(seen.series.front().head, reading)) {
    if (answer.points.size() > limit) break;
    answer.points.push_back(point);
  }
  answer.more = answer.points.size() > limit;
  if (answer.more) answer.points.resize(limit);
  note(answer.problems);
  return answer;
}

Result<std::vector<LatestValue>> SeriesEngine::latest(const SeriesSelector& selector) const {
  const auto ids = select(selector, options_.max_answer_series);
  if (ids.size() > options_.max_answer_series) return answer_too_large("series", options_.max_answer_series);
  const std::lock_guard hold(state_);
  std::vector<LatestValue> values;
  for (const auto id : ids) {
    if (!catalogue_.contains(id)) continue;
    const Head& head = heads_[id];
    if (!head.points.empty()) {
      values.push_back({catalogue_.info(id), {head.points.last_time(), head.points.last_value()}});
    } else if (head.progress.newest.time_ns != kNever) {
      values.push_back({catalogue_.info(id), head.progress.newest});
    }
  }
  return values;
}

Result<std::vector<SeriesInfo>> SeriesEngine::list(const SeriesSelector& selector) const {
  const auto ids = select(selector, options_.max_answer_series);
  if (ids.size() > options_.max_answer_series) return answer_too_large("series", options_.max_answer_series);
  const std::lock_guard hold(state_);
  std::vector<SeriesInfo> all;
  all.reserve(ids.size());
  for (const auto id : ids) {
    if (catalogue_.contains(id)) all.push_back(catalogue_.info(id));
  }
  return all;
}

SeriesPage SeriesEngine::page(const SeriesSelector& selector, std::optional<SeriesId> after, std::size_t limit) const {
  const std::lock_guard hold(state_);
  const auto found = catalogue_.select_page(selector, after ? *after + 1 : 0, limit, kMostExamined);
  SeriesPage page;
  page.series.reserve(found.ids.size());
  for (const auto id : found.ids) page.series.push_back(catalogue_.info(id));
  page.next = found.last;
  return page;
}

}  // namespace assay
