#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "store/series/engine.h"

namespace assay {
namespace {

constexpr std::array<std::int64_t, 3> kTierWidth = {1, kMinuteNs, kHourNs};

Error too_many(std::string_view what, std::size_t limit) {
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("the answer would have more than {} {}", limit, what),
               .hint = "Select fewer series, a shorter time or wider buckets."};
}

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

/// The next width that people would choose, so that buckets begin where clocks tick and readings are taken.
std::int64_t round_width(std::int64_t width_ns) {
  constexpr std::int64_t kMilli = 1'000'000;
  constexpr std::array<std::int64_t, 19> kWidths = {
      100 * kMilli,   200 * kMilli,   500 * kMilli,   kSecondNs,      2 * kSecondNs, 5 * kSecondNs, 10 * kSecondNs,
      15 * kSecondNs, 20 * kSecondNs, 30 * kSecondNs, kMinuteNs,      2 * kMinuteNs, 3 * kMinuteNs, 5 * kMinuteNs,
      10 * kMinuteNs, 15 * kMinuteNs, 20 * kMinuteNs, 30 * kMinuteNs, kHourNs};
  const auto found = std::lower_bound(kWidths.begin(), kWidths.end(), width_ns);
  // Less than the fastest sampling is asked for by those who know why; beyond an hour every hour will do.
  return width_ns < kWidths.front() || found == kWidths.end() ? width_ns : *found;
}

}  // namespace

/// Buckets of at least that width from one tier, whole ones around the range, about `most` of them (0: any number).
SeriesEngine::Plan SeriesEngine::plan_at(unsigned tier, TimeRange range, std::int64_t width_ns, std::int64_t most) {
  Plan plan{.width_ns = ceil_to(width_ns, kTierWidth[tier]), .tier = static_cast<SeriesTier>(tier)};
  for (;;) {
    plan.range = {floor_to(range.from_ns, plan.width_ns), ceil_to(range.to_ns, plan.width_ns)};
    // Bounds on multiples of the width may take one bucket more than was asked for.
    if (most == 0 || (plan.range.to_ns - plan.range.from_ns) / plan.width_ns <= std::max<std::int64_t>(most, 2)) break;
    plan.width_ns = ceil_to(round_width(plan.width_ns + plan.width_ns / most + 1), kTierWidth[tier]);
  }
  return plan;
}

/// With `state_` held. The width of the buckets, their bounds and the tier they come from.
Result<SeriesEngine::Plan> SeriesEngine::plan(const SeriesQuery& query) const {
  const auto from = std::max<std::int64_t>(query.range.from_ns, 0);
  const auto to = std::min(query.range.to_ns, kEndOfTime - kHourNs);
  if (from >= to || query.width_ns < 0 || query.width_ns > kEndOfTime / 2) {
    return Error{.kind = ErrorKind::usage, .message = "the range of time is empty, or the width is no duration"};
  }
  if (query.width_ns == 0 && query.max_points == 0) {
    return Error{.kind = ErrorKind::usage, .message = "the query has neither a width nor a number of points"};
  }
  auto width = std::max<std::int64_t>(query.width_ns, 1);
  const auto most = static_cast<std::int64_t>(std::min<std::size_t>(query.max_points, 1'000'000));
  if (most > 0) width = std::max(width, round_width((to - from + most - 1) / most));
  auto tier = width >= kHourNs ? 2U : width >= kMinuteNs ? 1U : 0U;
  Plan plan = plan_at(tier, {from, to}, width, most);
  // A first bucket of which a part is deleted would pass for a whole one: rather wider buckets of the next tier.
  while (tier < 2 && plan.range.from_ns < floors_[tier]) plan = plan_at(++tier, {from, to}, width, most);
  plan.range.from_ns = std::clamp(floors_[tier], plan.range.from_ns, plan.range.to_ns);
  return plan;
}

/// A view on database and heads that stays as it is. `state_` must be held.
Result<SeriesEngine::Snapshot> SeriesEngine::snapshot(ReaderPool::Lease file, const std::vector<SeriesId>& ids) const {
  ASSAY_CHECK(file.pin());
  Snapshot snapshot{std::move(file), {}};
  snapshot.series.reserve(ids.size());
  for (const auto id : ids) snapshot.series.push_back({catalogue_.info(id), heads_[id].points});
  return snapshot;
}

Result<std::vector<SeriesBucket>> SeriesEngine::buckets(SeriesFile& file, const Seen& series, const Plan& plan,
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

Result<SeriesAnswer> SeriesEngine::query(const SeriesQuery& query) {
  ASSAY_TRY(auto file, readers_.lease());
  std::unique_lock hold(state_);
  ASSAY_TRY(const auto plan, this->plan(query));
  const auto ids = catalogue_.select(query.selector);
  if (ids.size() > options_.max_answer_series) return too_many("series", options_.max_answer_series);
  ASSAY_TRY(auto seen, snapshot(std::move(file), ids));
  hold.unlock();

  SeriesAnswer answer{.range = plan.range, .width_ns = plan.width_ns, .tier = plan.tier};
  std::size_t count = 0;
  for (auto& series : seen.series) {
    if (plan.range.from_ns >= plan.range.to_ns) break;
    ASSAY_TRY(auto buckets, buckets(*seen.file, series, plan, answer.problems));
    count += buckets.size();
    if (count > options_.max_answer_points) return too_many("buckets", options_.max_answer_points);
    if (!buckets.empty()) answer.rows.push_back({std::move(series.info), std::move(buckets)});
  }
  note(answer.problems);
  return answer;
}

Result<SeriesPoints> SeriesEngine::points(SeriesId series, TimeRange range, std::size_t limit) {
  ASSAY_TRY(auto file, readers_.lease());
  std::unique_lock hold(state_);
  if (!catalogue_.contains(series)) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no series {}", series)};
  }
  ASSAY_TRY(auto seen, snapshot(std::move(file), {series}));
  const TimeRange reading{std::max({range.from_ns, floors_[0], std::int64_t{0}}), std::min(range.to_ns, kEndOfTime)};
  hold.unlock();

  SeriesPoints answer;
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
  const std::lock_guard hold(state_);
  const auto ids = catalogue_.select(selector);
  if (ids.size() > options_.max_answer_series) return too_many("series", options_.max_answer_series);
  std::vector<LatestValue> values;
  for (const auto id : ids) {
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
  const std::lock_guard hold(state_);
  const auto ids = catalogue_.select(selector);
  if (ids.size() > options_.max_answer_series) return too_many("series", options_.max_answer_series);
  std::vector<SeriesInfo> all;
  all.reserve(ids.size());
  for (const auto id : ids) all.push_back(catalogue_.info(id));
  return all;
}

}  // namespace assay
