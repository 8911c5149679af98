#include "store/run_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "store/journal/journal.h"
#include "store/read_journals.h"

namespace assay {
namespace {

/// All series of an answer have so many buckets together, whatever width was asked for: they are a hundred bytes each
/// on their way, and a run may have a hundred thousand series.
constexpr std::size_t kMostBucketsTogether = 500'000;
constexpr std::size_t kMostCurves = 100'000;
constexpr std::size_t kBytesOfSeries = 400;

/// What both passes over the points have in common: which of them the question is about.
class AskedPoints : public JournalVisitor {
 public:
  explicit AskedPoints(const CurveQuestion& question) : question_(question) {}

 protected:
  bool asks_for(const SeriesKey& key) const {
    const auto& names = question_.names;
    return names.empty() || std::find(names.begin(), names.end(), key.name) != names.end();
  }
  /// Where the point is on the axis; nothing if it is not in the chart.
  std::optional<std::int64_t> place_of(const SeriesPoint& point) const {
    const bool by_step = question_.axis == CurveQuestion::Axis::step;
    if (by_step && point.step == kNoStep) return std::nullopt;
    const auto place = by_step ? point.step : point.time_ns;
    if ((question_.from && place < *question_.from) || (question_.to && place >= *question_.to)) return std::nullopt;
    return place;
  }

  const CurveQuestion& question_;
};

/// The first pass: how far the points reach.
class Extent final : public AskedPoints {
 public:
  using AskedPoints::AskedPoints;
  void on_points(const SeriesKey& key, std::string_view, std::span<const SeriesPoint> points) override {
    if (!asks_for(key)) return;
    for (const auto& point : points) {
      const auto place = place_of(point);
      if (!place) continue;
      first = any ? std::min(first, *place) : *place;
      last = any ? std::max(last, *place) : *place;
      any = true;
    }
    if (series.size() <= kMostCurves) series.insert(key);
  }

  bool any = false;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::set<SeriesKey> series;  ///< as many as may be asked for, and one more
};

void add_to(CurveBucket& bucket, double value) {
  ++bucket.points;
  if (!std::isfinite(value)) return;
  bucket.min = bucket.finite == 0 ? value : std::min(bucket.min, value);
  bucket.max = bucket.finite == 0 ? value : std::max(bucket.max, value);
  bucket.sum += value;
  bucket.last = value;
  ++bucket.finite;
}

/// The second pass. Steps and times mostly ascend, but nothing promises it: a workload may count again from zero, so
/// that a bucket may be met twice.
class Buckets final : public AskedPoints {
 public:
  Buckets(const CurveQuestion& question, const Extent& extent)
      : AskedPoints(question), first_(static_cast<std::uint64_t>(extent.first)) {
    // Unsigned: the distance of the farthest two places does not fit otherwise.
    const auto distance = static_cast<std::uint64_t>(extent.last) - first_;
    const std::size_t room = std::max<std::size_t>(1, kMostBucketsTogether / extent.series.size());
    span_ = distance / std::min(question.width, room) + 1;
    count_ = static_cast<std::size_t>(distance / span_) + 1;
  }

  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    if (!asks_for(key)) return;
    // What came since the first pass has no room.
    if (series_.size() >= kMostCurves && !series_.contains(key)) return;
    auto& series = series_[key];
    if (series.buckets.empty()) {
      series.unit = unit;
      series.buckets.resize(count_);
    }
    for (const auto& point : points) {
      const auto place = place_of(point);
      // A run that goes on may have grown since the first pass.
      const auto at = place ? (static_cast<std::uint64_t>(*place) - first_) / span_ : count_;
      if (at < count_) add_to(series.buckets[at], point.value);
    }
  }

  std::vector<RunCurve> take() {
    std::vector<RunCurve> all;
    for (auto& [key, series] : series_) {
      for (std::size_t i = 0; i < count_; ++i) {
        series.buckets[i].begin = static_cast<std::int64_t>(first_ + i * span_);
      }
      std::erase_if(series.buckets, [](const CurveBucket& bucket) { return bucket.points == 0; });
      if (series.buckets.empty()) continue;
      all.push_back({key, std::move(series.unit), static_cast<std::int64_t>(span_), std::move(series.buckets)});
    }
    return all;
  }

 private:
  struct Series {
    std::string unit;
    std::vector<CurveBucket> buckets;
  };
  std::uint64_t first_;
  std::uint64_t span_;
  std::size_t count_;
  std::map<SeriesKey, Series> series_;
};

Result<void> check_question(const CurveQuestion& question) {
  if (question.width < 1 || question.width > kMostBuckets) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("a chart is 1 to {} buckets wide, not {}", kMostBuckets, question.width)};
  }
  if (question.from && question.to && *question.from >= *question.to) {
    return Error{.kind = ErrorKind::usage, .message = "the end of the range is not after its beginning"};
  }
  return {};
}

}  // namespace

Result<std::vector<RunCurve>> draw_curves(const CurveQuestion& question, const ShowPoints& show) {
  ASSAY_CHECK(check_question(question));
  Extent extent(question);
  ASSAY_CHECK(show(extent));
  if (!extent.any) return std::vector<RunCurve>();
  if (extent.series.size() > kMostCurves) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("these are more than {} series", kMostCurves),
                 .hint = "Name those that are wanted."};
  }
  Buckets buckets(question, extent);
  ASSAY_CHECK(show(buckets));
  return buckets.take();
}

void RunPoints::on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) {
  if (too_many_) return;
  // Of a series with few points the rest is what takes memory.
  const std::size_t bytes = points.size_bytes() + (series_.contains(key) ? 0 : kBytesOfSeries + key.name.size());
  if (bytes > limit_ - bytes_) {
    too_many_ = true;
    series_.clear();
    bytes_ = 0;
    return;
  }
  auto& series = series_[key];
  if (series.points.empty()) series.unit = unit;
  series.points.insert(series.points.end(), points.begin(), points.end());
  bytes_ += bytes;
}

void RunPoints::show(JournalVisitor& visitor) const {
  for (const auto& [key, series] : series_) visitor.on_points(key, series.unit, series.points);
}

Result<std::vector<RunCurve>> PointCache::answer(RunStore& store, std::string_view run, const CurveQuestion& question) {
  const auto entry = entry_of(run);
  const std::lock_guard lock(entry->mutex);
  auto position = read_journal(store, run, entry->points, entry->position);
  if (!position.ok()) {
    // What was read before the error would come twice.
    forget(run);
    return std::move(position).error();
  }
  entry->position = std::move(position).value();
  count(run, entry, entry->points.bytes());
  return draw_curves(question, [&](JournalVisitor& visitor) -> Result<void> {
    if (entry->points.too_many()) {
      ASSAY_CHECK(read_journal(store, run, visitor));
    } else {
      entry->points.show(visitor);
    }
    return {};
  });
}

std::shared_ptr<PointCache::Entry> PointCache::entry_of(std::string_view run) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(run);
  if (found != entries_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second.second);
    return found->second.first;
  }
  recent_.emplace_front(run);
  auto entry = std::make_shared<Entry>(budget_);
  entries_.emplace(std::string(run), std::pair(entry, recent_.begin()));
  return entry;
}

void PointCache::count(std::string_view run, const std::shared_ptr<Entry>& entry, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(run);
  if (found == entries_.end() || found->second.first != entry) return;
  used_ = used_ - entry->counted + bytes;
  entry->counted = bytes;
  while (used_ > budget_ && !recent_.empty()) {
    const auto oldest = entries_.find(recent_.back());
    used_ -= oldest->second.first->counted;
    entries_.erase(oldest);
    recent_.pop_back();
  }
}

void PointCache::forget(std::string_view run) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(run);
  if (found == entries_.end()) return;
  used_ -= found->second.first->counted;
  recent_.erase(found->second.second);
  entries_.erase(found);
}

}  // namespace assay
