#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bytes/point_chunk.h"
#include "store/series/bucket_codec.h"
#include "store/series_bucket.h"
#include "store/series_types.h"
#include "store/sqlite/sqlite.h"

namespace assay {

/// How the rows of the raw tier are written.
struct PointCodec {
  using Element = TimedValue;
  static constexpr std::size_t kRowElements = kChunkPoints;
  static std::int64_t time_of(const TimedValue& point) { return point.time_ns; }
  static void encode(std::span<const TimedValue> points, std::string& out);
  static Result<std::vector<TimedValue>> decode(std::string_view bytes);
};

/// How the rows of roll-ups are written.
struct BucketCodec {
  using Element = SeriesBucket;
  static constexpr std::size_t kRowElements = kRowBuckets;
  static std::int64_t time_of(const SeriesBucket& bucket) { return bucket.start_ns; }
  static void encode(std::span<const SeriesBucket> buckets, std::string& out) { encode_buckets(buckets, out); }
  static Result<std::vector<SeriesBucket>> decode(std::string_view bytes) { return decode_buckets(bytes); }
};

/// One stored row: the elements of a series from t0 to t1, behind a checksum that covers all of it.
struct TierRow {
  std::int64_t t0 = 0;
  std::int64_t t1 = 0;
  std::string blob;
};

/// By how many bytes the rows of series have become larger, or smaller, since somebody last looked.
using SeriesGrowth = std::map<SeriesId, std::int64_t>;

/// The statements on one table `(series, t0, t1, blob)`. Belongs to its database. Not thread-safe.
class RowTable {
 public:
  /// `growth` must outlive it.
  static Result<RowTable> prepare(Database& database, const std::string& table, SeriesGrowth& growth);

  /// The last row that begins at `time` or before.
  Result<std::optional<TierRow>> at_or_before(SeriesId series, std::int64_t time);
  /// Where the first row after `time` begins.
  Result<std::optional<std::int64_t>> next_start(SeriesId series, std::int64_t time);
  Result<void> put(SeriesId series, const TierRow& row);
  Result<void> remove(SeriesId series, std::int64_t t0);
  /// Rows that end before `time`; says how many there were.
  Result<std::size_t> remove_before(SeriesId series, std::int64_t time);
  /// Takes a row that cannot be read out of the way, into the table `damaged`.
  Result<void> set_aside(SeriesId series, const TierRow& row);
  /// Remembers that what the table has from `range` lacks something for good.
  Result<void> mark_incomplete(SeriesId series, TimeRange range);
  /// Calls `visit` with the times of what was set aside or marked and may reach into the range.
  Result<void> each_loss(SeriesId series, TimeRange range, const std::function<void(TimeRange)>& visit);
  /// Of all its rows, looking at each.
  Result<std::int64_t> bytes(SeriesId series);
  /// Calls `visit` with each row that may hold times of the range, in order, until it says false.
  template <typename Visit>
  Result<void> scan(SeriesId series, TimeRange range, Visit visit);

 private:
  explicit RowTable(SeriesGrowth& growth) : growth_(&growth) {}
  Result<std::size_t> take_away(SeriesId series, Statement& statement);
  static TierRow row_of(const Statement& statement);

  std::optional<Statement> before_;
  std::optional<Statement> next_;
  std::optional<Statement> put_;
  std::optional<Statement> remove_;
  std::optional<Statement> expire_;
  std::optional<Statement> aside_;
  std::optional<Statement> losses_;
  std::optional<Statement> bytes_;
  std::optional<Statement> scan_;
  SeriesGrowth* growth_;
};

/// Seals and opens the blob of a row; the checksum covers the series and the times as well.
std::string sealed(SeriesId series, std::int64_t t0, std::int64_t t1, std::string_view payload);
Result<std::string_view> unsealed(SeriesId series, const TierRow& row);

/// Resets a statement when its rows were read, so that it holds no snapshot open.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) : statement_(statement) {}
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;
  ~ResetAtEnd() { statement_.reset(); }

 private:
  Statement& statement_;
};

/// The elements of one tier, in rows that do not overlap. `problems` receives damage, in words. Not thread-safe.
template <typename Codec>
class TierTable {
 public:
  using Element = typename Codec::Element;

  explicit TierTable(RowTable rows) : rows_(std::move(rows)) {}

  /// Puts elements, in order of time and each time once, among those that are there; equal times are replaced.
  Result<void> merge(SeriesId series, std::span<const Element> elements, std::vector<std::string>& problems);
  /// Calls `visit` with the elements of the range, in order of time and row by row, until it says false. `problems` is
  /// told of everything in the range that is damaged now or was lost to damage before.
  using Visit = std::function<bool(std::span<const Element>)>;
  Result<void> each(SeriesId series, TimeRange range, std::vector<std::string>& problems, const Visit& visit);
  /// The elements of the range, at most `limit`.
  Result<std::vector<Element>> read(SeriesId series, TimeRange range, std::vector<std::string>& problems,
                                    std::size_t limit = SIZE_MAX);
  /// The last that can be read.
  Result<std::optional<Element>> last(SeriesId series, std::vector<std::string>& problems);
  /// The last there is; `bad_file` where that cannot be read.
  Result<std::optional<Element>> newest(SeriesId series);
  Result<void> erase(SeriesId series, TimeRange range, std::vector<std::string>& problems);
  RowTable& rows() { return rows_; }

 private:
  Result<std::vector<Element>> decoded(SeriesId series, const TierRow& row) const;
  Result<void> write(SeriesId series, std::span<const Element> elements);
  /// The elements of a row that is about to change; one that cannot be read is set aside and counts as empty.
  Result<std::vector<Element>> readable(SeriesId series, const TierRow& row, std::vector<std::string>& problems);

  RowTable rows_;
};

extern template class TierTable<PointCodec>;
extern template class TierTable<BucketCodec>;
using PointTable = TierTable<PointCodec>;
using BucketTable = TierTable<BucketCodec>;

}  // namespace assay
