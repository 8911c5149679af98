#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/series.h"
#include "store/series_info.h"
#include "store/timed_value.h"

namespace assay {

/// Points of one series by its name, for callers that do not keep ids.
struct SeriesBatch {
  SeriesKey key;
  std::string unit;
  std::vector<TimedValue> points;
};

/// One condition on a label. A label that a series does not have counts as empty text.
struct LabelMatch {
  enum class Test {
    equals,
    differs,
    starts_with,
    present,  ///< whatever its value
  };
  std::string label;
  Test test = Test::equals;
  std::string value;

  /// Of the label's value; nothing where a series does not have it.
  bool fits(std::optional<std::string_view> actual) const {
    const std::string_view text = actual.value_or("");
    switch (test) {
      case Test::equals: return text == value;
      case Test::differs: return text != value;
      case Test::starts_with: return text.starts_with(value);
      case Test::present: return actual.has_value();
    }
    return false;
  }
};

struct SeriesSelector {
  std::string name;  ///< empty: every name
  std::vector<LabelMatch> labels;
};

/// From `from_ns` to before `to_ns`.
struct TimeRange {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = kEndOfTime;
};

enum class SeriesTier : std::uint8_t { raw, minute, hour };

struct SeriesQuery {
  SeriesSelector selector;
  TimeRange range;
  std::int64_t width_ns = 0;     ///< of a bucket; 0: as `max_points` wants it
  std::size_t max_points = 500;  ///< buckets per series at most; 0: no such limit
};

struct SeriesPage {
  std::vector<SeriesInfo> series;
  /// Go on after this one. There may be fewer series than the limit, even none, and still a place: so far was looked.
  std::optional<SeriesId> next;
};

struct SeriesPoints {
  std::vector<TimedValue> points;
  bool more = false;  ///< the limit cut it off: go on after the last point
  std::vector<std::string> problems;
};

struct LatestValue {
  SeriesInfo series;
  TimedValue newest;
};

/// What became of a batch: accepted and refused are its size. Refused samples are no failure, the rest is stored; but
/// whoever tells a sender that it may forget them loses them.
struct AppendOutcome {
  std::size_t accepted = 0;
  std::size_t too_old = 0;        ///< older than raw points are kept, counted back from now or the newest sample
  std::size_t too_far_ahead = 0;  ///< more than `max_ahead` after now: the sender's clock is wrong, or this machine's
  std::size_t too_much = 0;       ///< their owner has as many bytes as one may have
  /// Minutes of series that were made again for late samples: what those cost, beyond being many.
  std::size_t rewritten = 0;
};

/// What one slice of upkeep did. `more`: another call would find work at once.
struct UpkeepOutcome {
  std::size_t series_written = 0;
  std::size_t rows_expired = 0;
  std::size_t series_forgotten = 0;
  std::size_t log_files_deleted = 0;
  std::size_t pages_freed = 0;
  bool more = false;
};

/// What one owner has in a store: `SeriesLimits::owner_label`.
struct SeriesHolding {
  std::size_t series = 0;
  std::size_t key_bytes = 0;  ///< of their names, units and labels
  std::uint64_t bytes = 0;    ///< of their points, minutes and hours, but for the newest, which are not written yet

  friend bool operator==(const SeriesHolding&, const SeriesHolding&) = default;
};

struct SeriesStoreStats {
  std::size_t series = 0;
  std::size_t head_points = 0;  ///< that wait in memory to be written
  std::size_t head_bytes = 0;
  std::size_t log_files = 0;
  double fullness = 0;  ///< of the memory for those, from 0 to 1: beyond it nothing is taken
};

/// What a store takes and keeps.
struct SeriesLimits {
  /// How long raw points, minutes and hours are kept; each at least as long as the one before. Counted back from now or
  /// from the newest sample, whichever is earlier: see `SeriesStore::maintain`.
  std::array<Nanos, 3> keep = {std::chrono::hours(24 * 14), std::chrono::hours(24 * 90), std::chrono::hours(24 * 730)};
  /// A sample later than this from now is refused: one wrong clock would make every later point a late one.
  Nanos max_ahead = std::chrono::hours(1);
  std::size_t max_series = 1'000'000;
  /// Whose a series is, is the value of this label; those without it belong to one owner without a name. Each may have
  /// so much of what is stored, for as long as it is: one that makes up ever new labels does not take the place of all.
  std::string owner_label = "node";
  SeriesHolding max_per_owner = {.series = 32'768, .key_bytes = std::size_t{8} << 20, .bytes = std::uint64_t{8} << 30};
  std::size_t max_answer_series = 10'000;
  std::size_t max_answer_points = 5'000'000;
};

}  // namespace assay
