#include "store/series/tier_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "bytes/crc32c.h"
#include "bytes/varint.h"

namespace assay {
namespace {

constexpr std::size_t kChecksum = 4;
/// What a row takes beside its blob, about.
constexpr std::int64_t kRowOverhead = 32;

std::uint32_t checksum(SeriesId series, std::int64_t t0, std::int64_t t1, std::string_view payload) {
  std::string key;
  put_fixed(key, series, 4);
  put_fixed(key, static_cast<std::uint64_t>(t0), 8);
  put_fixed(key, static_cast<std::uint64_t>(t1), 8);
  return crc32c(payload, crc32c(key));
}

std::string lost(SeriesId series, const TierRow& row, const Error& why) {
  return fmt::format("series {}: what it had from {} to {} cannot be read: {}", series,
                     iso8601(WallTime(Nanos(row.t0))), iso8601(WallTime(Nanos(row.t1))), why.message);
}

std::string lost_before(SeriesId series, TimeRange range) {
  return fmt::format("series {}: of what it had from {} to {} some was damaged and is lost", series,
                     iso8601(WallTime(Nanos(range.from_ns))), iso8601(WallTime(Nanos(range.to_ns))));
}

/// Newer elements into older ones, both in order of time.
template <typename Codec>
std::vector<typename Codec::Element> combined(std::span<const typename Codec::Element> old,
                                              std::span<const typename Codec::Element> fresh) {
  std::vector<typename Codec::Element> all;
  all.reserve(old.size() + fresh.size());
  auto next = fresh.begin();
  for (const auto& element : old) {
    while (next != fresh.end() && Codec::time_of(*next) < Codec::time_of(element)) all.push_back(*next++);
    if (next != fresh.end() && Codec::time_of(*next) == Codec::time_of(element)) {
      all.push_back(*next++);
    } else {
      all.push_back(element);
    }
  }
  all.insert(all.end(), next, fresh.end());
  return all;
}

}  // namespace

void PointCodec::encode(std::span<const TimedValue> points, std::string& out) {
  thread_local std::vector<SeriesPoint> wide;
  wide.clear();
  for (const auto& point : points) wide.push_back({.time_ns = point.time_ns, .step = kNoStep, .value = point.value});
  encode_chunk(wide, out);
}

Result<std::vector<TimedValue>> PointCodec::decode(std::string_view bytes) {
  ASSAY_TRY(const auto wide, decode_chunk(bytes));
  std::vector<TimedValue> points;
  points.reserve(wide.size());
  for (const auto& point : wide) points.push_back({point.time_ns, point.value});
  return points;
}

std::string sealed(SeriesId series, std::int64_t t0, std::int64_t t1, std::string_view payload) {
  std::string blob;
  blob.reserve(kChecksum + payload.size());
  put_fixed(blob, checksum(series, t0, t1, payload), kChecksum);
  blob.append(payload);
  return blob;
}

Result<std::string_view> unsealed(SeriesId series, const TierRow& row) {
  ByteReader reader(row.blob);
  const auto stated = reader.fixed(kChecksum);
  if (!reader.ok() || stated != checksum(series, row.t0, row.t1, reader.rest())) {
    return Error{.kind = ErrorKind::bad_file, .message = "its checksum is wrong"};
  }
  return reader.rest();
}

Result<RowTable> RowTable::prepare(Database& database, const std::string& table, SeriesGrowth& growth) {
  RowTable rows(growth);
  const auto prepare = [&](std::optional<Statement>& statement, std::string_view sql) -> Result<void> {
    ASSAY_TRY(auto prepared, database.prepare(fmt::format(fmt::runtime(sql), table)));
    statement.emplace(std::move(prepared));
    return {};
  };
  ASSAY_CHECK(
      prepare(rows.before_, "SELECT t0, t1, blob FROM {} WHERE series = ? AND t0 <= ? ORDER BY t0 DESC LIMIT 1"));
  ASSAY_CHECK(prepare(rows.next_, "SELECT t0 FROM {} WHERE series = ? AND t0 > ? ORDER BY t0 LIMIT 1"));
  ASSAY_CHECK(prepare(rows.put_, "INSERT OR REPLACE INTO {} (series, t0, t1, blob) VALUES (?, ?, ?, ?)"));
  ASSAY_CHECK(prepare(rows.remove_, "DELETE FROM {} WHERE series = ? AND t0 = ? RETURNING length(blob)"));
  ASSAY_CHECK(prepare(rows.expire_, "DELETE FROM {} WHERE series = ? AND t0 < ? AND t1 < ? RETURNING length(blob)"));
  ASSAY_CHECK(
      prepare(rows.aside_, "INSERT OR REPLACE INTO damaged (tier, series, t0, t1, blob) VALUES ('{}', ?, ?, ?, ?)"));
  ASSAY_CHECK(
      prepare(rows.losses_, "SELECT t0, t1 FROM damaged WHERE tier = '{}' AND series = ? AND t0 < ? AND t1 >= ?"));
  ASSAY_CHECK(prepare(rows.bytes_, "SELECT sum(length(blob)), count(*) FROM {} WHERE series = ?"));
  ASSAY_CHECK(prepare(rows.scan_, "SELECT t0, t1, blob FROM {} WHERE series = ? AND t0 >= ? AND t0 < ? ORDER BY t0"));
  return rows;
}

TierRow RowTable::row_of(const Statement& statement) {
  return {.t0 = statement.integer(0), .t1 = statement.integer(1), .blob = std::string(statement.bytes(2))};
}

Result<std::optional<TierRow>> RowTable::at_or_before(SeriesId series, std::int64_t time) {
  const ResetAtEnd reset(*before_);
  before_->bind(1, std::int64_t{series}).bind(2, time);
  ASSAY_TRY(const bool found, before_->step());
  return found ? std::optional(row_of(*before_)) : std::nullopt;
}

Result<std::optional<std::int64_t>> RowTable::next_start(SeriesId series, std::int64_t time) {
  const ResetAtEnd reset(*next_);
  next_->bind(1, std::int64_t{series}).bind(2, time);
  ASSAY_TRY(const bool found, next_->step());
  return found ? std::optional(next_->integer(0)) : std::nullopt;
}

Result<void> RowTable::put(SeriesId series, const TierRow& row) {
  ASSAY_CHECK(put_->bind(1, std::int64_t{series}).bind(2, row.t0).bind(3, row.t1).bind_bytes(4, row.blob).run());
  (*growth_)[series] += std::ssize(row.blob) + kRowOverhead;
  return {};
}

Result<void> RowTable::remove(SeriesId series, std::int64_t t0) {
  remove_->bind(1, std::int64_t{series}).bind(2, t0);
  ASSAY_CHECK(take_away(series, *remove_));
  return {};
}

Result<std::size_t> RowTable::remove_before(SeriesId series, std::int64_t time) {
  expire_->bind(1, std::int64_t{series}).bind(2, time).bind(3, time);
  return take_away(series, *expire_);
}

Result<std::size_t> RowTable::take_away(SeriesId series, Statement& statement) {
  const ResetAtEnd reset(statement);
  for (std::size_t count = 0;; ++count) {
    ASSAY_TRY(const bool another, statement.step());
    if (!another) return count;
    (*growth_)[series] -= statement.integer(0) + kRowOverhead;
  }
}

Result<std::int64_t> RowTable::bytes(SeriesId series) {
  const ResetAtEnd reset(*bytes_);
  ASSAY_CHECK(bytes_->bind(1, std::int64_t{series}).step());
  return bytes_->integer(0) + bytes_->integer(1) * kRowOverhead;
}

Result<void> RowTable::set_aside(SeriesId series, const TierRow& row) {
  ASSAY_CHECK(aside_->bind(1, std::int64_t{series}).bind(2, row.t0).bind(3, row.t1).bind_bytes(4, row.blob).run());
  return remove(series, row.t0);
}

Result<void> RowTable::mark_incomplete(SeriesId series, TimeRange range) {
  return aside_->bind(1, std::int64_t{series}).bind(2, range.from_ns).bind(3, range.to_ns - 1).bind_bytes(4, "").run();
}

Result<void> RowTable::each_loss(SeriesId series, TimeRange range, const std::function<void(TimeRange)>& visit) {
  const ResetAtEnd reset(*losses_);
  losses_->bind(1, std::int64_t{series}).bind(2, range.to_ns).bind(3, range.from_ns);
  for (;;) {
    ASSAY_TRY(const bool another, losses_->step());
    if (!another) return {};
    visit({losses_->integer(0), losses_->integer(1)});
  }
}

template <typename Visit>
Result<void> RowTable::scan(SeriesId series, TimeRange range, Visit visit) {
  // The row that begins before the range may reach into it.
  ASSAY_TRY(const auto before, at_or_before(series, range.from_ns));
  const ResetAtEnd reset(*scan_);
  scan_->bind(1, std::int64_t{series}).bind(2, before ? before->t0 : range.from_ns).bind(3, range.to_ns);
  for (;;) {
    ASSAY_TRY(const bool another, scan_->step());
    if (!another || !visit(row_of(*scan_))) return {};
  }
}

template <typename Codec>
auto TierTable<Codec>::decoded(SeriesId series, const TierRow& row) const -> Result<std::vector<Element>> {
  ASSAY_TRY(const auto payload, unsealed(series, row));
  return Codec::decode(payload);
}

template <typename Codec>
auto TierTable<Codec>::readable(SeriesId series, const TierRow& row, std::vector<std::string>& problems)
    -> Result<std::vector<Element>> {
  auto elements = decoded(series, row);
  if (elements.ok()) return elements;
  problems.push_back(lost(series, row, elements.error()));
  ASSAY_CHECK(rows_.set_aside(series, row));
  return std::vector<Element>();
}

template <typename Codec>
Result<void> TierTable<Codec>::write(SeriesId series, std::span<const Element> elements) {
  std::string payload;
  Codec::encode(elements, payload);
  const auto t0 = Codec::time_of(elements.front());
  const auto t1 = Codec::time_of(elements.back());
  return rows_.put(series, {t0, t1, sealed(series, t0, t1, payload)});
}

template <typename Codec>
Result<void> TierTable<Codec>::merge(SeriesId series, std::span<const Element> elements,
                                     std::vector<std::string>& problems) {
  constexpr std::size_t kFull = Codec::kRowElements;
  while (!elements.empty()) {
    // The elements up to the next row belong to the row before them.
    const auto first = Codec::time_of(elements.front());
    ASSAY_TRY(const auto row, rows_.at_or_before(series, first));
    ASSAY_TRY(const auto next, rows_.next_start(series, first));
    std::size_t count = elements.size();
    if (next) {
      count = static_cast<std::size_t>(
          std::partition_point(elements.begin(), elements.end(),
                               [&](const Element& element) { return Codec::time_of(element) < *next; }) -
          elements.begin());
    }
    std::vector<Element> all(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(count));
    bool at_end = true;
    if (row) {
      ASSAY_TRY(const auto old, readable(series, *row, problems));
      at_end = row->t1 < first;
      // A row that is at least half full and lies before stays as it is.
      if (!old.empty() && (!at_end || old.size() < kFull / 2)) {
        ASSAY_CHECK(rows_.remove(series, row->t0));
        all = combined<Codec>(old, all);
      }
    }
    // What grows at its end is filled row by row; in the middle, room is left for more.
    const std::size_t pieces = (all.size() + kFull - 1) / kFull;
    const std::size_t piece = at_end ? kFull : (all.size() + pieces - 1) / pieces;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      ASSAY_CHECK(write(series, std::span(all).subspan(at, std::min(piece, all.size() - at))));
    }
    elements = elements.subspan(count);
  }
  return {};
}

template <typename Codec>
Result<void> TierTable<Codec>::each(SeriesId series, TimeRange range, std::vector<std::string>& problems,
                                    const Visit& visit) {
  const auto before = [](const Element& element, std::int64_t time) { return Codec::time_of(element) < time; };
  auto scanned = rows_.scan(series, range, [&](const TierRow& row) {
    if (row.t1 < range.from_ns) return true;
    const auto elements = decoded(series, row);
    if (!elements.ok()) {
      problems.push_back(lost(series, row, elements.error()));
      return true;
    }
    const auto begin = std::lower_bound(elements->begin(), elements->end(), range.from_ns, before);
    const auto end = std::lower_bound(begin, elements->end(), range.to_ns, before);
    return begin == end || visit(std::span(begin, end));
  });
  if (scanned.ok()) {
    scanned = rows_.each_loss(series, range, [&](TimeRange gone) { problems.push_back(lost_before(series, gone)); });
  }
  if (scanned.ok() || scanned.error().kind != ErrorKind::bad_file) return scanned;
  problems.push_back(
      fmt::format("series {}: a part of the database cannot be read: {}", series, scanned.error().message));
  return {};
}

template <typename Codec>
auto TierTable<Codec>::read(SeriesId series, TimeRange range, std::vector<std::string>& problems, std::size_t limit)
    -> Result<std::vector<Element>> {
  std::vector<Element> all;
  ASSAY_CHECK(each(series, range, problems, [&](std::span<const Element> elements) {
    const auto count = std::min(elements.size(), limit - all.size());
    all.insert(all.end(), elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(count));
    return all.size() < limit;
  }));
  return all;
}

template <typename Codec>
auto TierTable<Codec>::last(SeriesId series, std::vector<std::string>& problems) -> Result<std::optional<Element>> {
  std::int64_t before = kEndOfTime;
  for (;;) {
    ASSAY_TRY(const auto row, rows_.at_or_before(series, before));
    if (!row) return std::optional<Element>();
    const auto elements = decoded(series, *row);
    if (elements.ok()) return std::optional(elements->back());
    problems.push_back(lost(series, *row, elements.error()));
    before = row->t0 - 1;
  }
}

template <typename Codec>
auto TierTable<Codec>::newest(SeriesId series) -> Result<std::optional<Element>> {
  ASSAY_TRY(const auto row, rows_.at_or_before(series, kEndOfTime));
  if (!row) return std::optional<Element>();
  ASSAY_TRY(const auto elements, decoded(series, *row));
  return std::optional(elements.back());
}

template <typename Codec>
Result<void> TierTable<Codec>::erase(SeriesId series, TimeRange range, std::vector<std::string>& problems) {
  std::vector<TierRow> affected;
  ASSAY_CHECK(rows_.scan(series, range, [&](TierRow row) {
    if (row.t1 < range.from_ns) return true;
    const bool whole = row.t0 >= range.from_ns && row.t1 < range.to_ns;
    // Only the rows at the two ends are read again; the others just go.
    if (whole) row.blob.clear();
    affected.push_back(std::move(row));
    return true;
  }));
  for (const auto& row : affected) {
    if (row.blob.empty()) {
      ASSAY_CHECK(rows_.remove(series, row.t0));
      continue;
    }
    ASSAY_TRY(auto elements, readable(series, row, problems));
    ASSAY_CHECK(rows_.remove(series, row.t0));
    std::erase_if(elements, [&](const Element& element) {
      return Codec::time_of(element) >= range.from_ns && Codec::time_of(element) < range.to_ns;
    });
    if (!elements.empty()) ASSAY_CHECK(write(series, elements));
  }
  return {};
}

template class TierTable<PointCodec>;
template class TierTable<BucketCodec>;

}  // namespace assay
