#include "store/series/series_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "bytes/crc32c.h"
#include "bytes/varint.h"

namespace assay {
namespace {

/// Each brings the tables from the version before to its own; version n is entry n − 1.
constexpr std::array kMigrations = {
    R"(CREATE TABLE setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
       CREATE TABLE series (id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, labels BLOB NOT NULL,
                            checksum INTEGER NOT NULL);
       CREATE TABLE progress (series INTEGER PRIMARY KEY, stored_until INTEGER NOT NULL, newest_time INTEGER NOT NULL,
                              newest_bits INTEGER NOT NULL, checksum INTEGER NOT NULL);
       CREATE TABLE chunk (series INTEGER NOT NULL, t0 INTEGER NOT NULL, t1 INTEGER NOT NULL, blob BLOB NOT NULL,
                           PRIMARY KEY (series, t0)) WITHOUT ROWID;
       CREATE TABLE minute (series INTEGER NOT NULL, t0 INTEGER NOT NULL, t1 INTEGER NOT NULL, blob BLOB NOT NULL,
                            PRIMARY KEY (series, t0)) WITHOUT ROWID;
       CREATE TABLE hour (series INTEGER NOT NULL, t0 INTEGER NOT NULL, t1 INTEGER NOT NULL, blob BLOB NOT NULL,
                          PRIMARY KEY (series, t0)) WITHOUT ROWID;
       CREATE TABLE damaged (tier TEXT NOT NULL, series INTEGER NOT NULL, t0 INTEGER NOT NULL, t1 INTEGER NOT NULL,
                             blob BLOB NOT NULL, PRIMARY KEY (tier, series, t0)) WITHOUT ROWID;)",
    "CREATE TABLE size (series INTEGER PRIMARY KEY, bytes INTEGER NOT NULL)",
};

/// How many ids to jump over at a time where the list of series cannot be read: about a page of them.
constexpr std::int64_t kIdsPerPage = 64;
/// Minutes that are read back from raw points at once: bounds the memory.
constexpr std::size_t kMinutesAtOnce = 64;

std::uint32_t series_checksum(const SeriesInfo& series, std::string_view labels) {
  std::string head;
  put_fixed(head, series.id, 4);
  put_text(head, series.key.name);
  put_text(head, series.unit);
  return crc32c(labels, crc32c(head));
}

std::uint32_t progress_checksum(SeriesId series, const SeriesProgress& progress) {
  std::string bytes;
  put_fixed(bytes, series, 4);
  put_fixed(bytes, static_cast<std::uint64_t>(progress.stored_until), 8);
  put_fixed(bytes, static_cast<std::uint64_t>(progress.newest.time_ns), 8);
  put_fixed(bytes, std::bit_cast<std::uint64_t>(progress.newest.value), 8);
  return crc32c(bytes);
}

/// Nothing where the row is damaged.
std::optional<SeriesInfo> series_of(const Statement& row) {
  SeriesInfo series{.id = static_cast<SeriesId>(row.integer(0)), .key = {.name = row.text(1)}, .unit = row.text(2)};
  const auto labels = row.bytes(3);
  if (row.integer(4) != std::int64_t{series_checksum(series, labels)}) return std::nullopt;
  ByteReader reader(labels);
  while (reader.ok() && !reader.rest().empty()) {
    std::string label(reader.text());
    series.key.labels[std::move(label)] = reader.text();
  }
  return series;
}

std::optional<SeriesProgress> progress_of(const Statement& row, SeriesId series) {
  const SeriesProgress progress{
      .stored_until = row.integer(1),
      .newest = {row.integer(2), std::bit_cast<double>(static_cast<std::uint64_t>(row.integer(3)))}};
  if (row.integer(4) != std::int64_t{progress_checksum(series, progress)}) return std::nullopt;
  return progress;
}

}  // namespace

Result<std::unique_ptr<SeriesFile>> SeriesFile::open(const fs::path& path, bool write_ahead_log) {
  ASSAY_TRY(auto database, Database::open(path.string()));
  std::unique_ptr<SeriesFile> file(new SeriesFile(std::move(database)));
  // Page size and vacuum mode are for new files only; SQLite ignores them for others.
  ASSAY_CHECK(
      file->database_.execute("PRAGMA busy_timeout = 20000; PRAGMA page_size = 8192; "
                              "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA cell_size_check = ON; "
                              "PRAGMA cache_size = -32768"));
  // Upkeep checkpoints; by itself SQLite does only where nobody calls for upkeep.
  ASSAY_CHECK(file->database_.execute(write_ahead_log
                                          ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
                                            "PRAGMA wal_autocheckpoint = 16384; PRAGMA journal_size_limit = 67108864"
                                          : "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL; "
                                            // Spilling would shut readers out in the middle of a change.
                                            "PRAGMA cache_spill = OFF"));
  ASSAY_CHECK(file->migrate());
  ASSAY_CHECK(file->prepare());
  return file;
}

Result<void> SeriesFile::migrate() { return assay::migrate(database_, kMigrations, "the telemetry"); }

Result<void> SeriesFile::prepare() {
  ASSAY_TRY(auto chunk, RowTable::prepare(database_, "chunk", growth_));
  ASSAY_TRY(auto minute, RowTable::prepare(database_, "minute", growth_));
  ASSAY_TRY(auto hour, RowTable::prepare(database_, "hour", growth_));
  raw_.emplace(std::move(chunk));
  minutes_.emplace(std::move(minute));
  hours_.emplace(std::move(hour));
  ASSAY_TRY(auto series, database_.prepare("INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?)"));
  put_series_.emplace(std::move(series));
  ASSAY_TRY(auto progress, database_.prepare("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?)"));
  put_progress_.emplace(std::move(progress));
  ASSAY_TRY(auto grow, database_.prepare("INSERT INTO size VALUES (?1, max(?2, 0)) "
                                         "ON CONFLICT (series) DO UPDATE SET bytes = max(bytes + ?2, 0)"));
  grow_.emplace(std::move(grow));
  return {};
}

Result<void> SeriesFile::store(SeriesId series, std::span<const TimedValue> points, std::int64_t stored_until,
                               std::vector<std::string>& problems) {
  ASSAY_CHECK(raw_->merge(series, points, problems));
  std::vector<SeriesBucket> fresh;
  std::vector<std::int64_t> shared;
  std::vector<std::int64_t> hours;
  for (const auto& bucket : buckets_of(points, kMinuteNs)) {
    // A minute of which some points were there before is made again from all of them.
    if (bucket.start_ns <= stored_until) {
      shared.push_back(bucket.start_ns);
    } else {
      fresh.push_back(bucket);
    }
    const auto hour = floor_to(bucket.start_ns, kHourNs);
    if (hours.empty() || hours.back() != hour) hours.push_back(hour);
  }
  ASSAY_CHECK(renew_minutes(series, shared, problems));
  ASSAY_CHECK(minutes_->merge(series, fresh, problems));
  return renew_hours(series, hours, problems);
}

Result<void> SeriesFile::renew_minutes(SeriesId series, std::span<const std::int64_t> starts,
                                       std::vector<std::string>& problems) {
  while (!starts.empty()) {
    std::size_t run = 1;
    while (run < starts.size() && run < kMinutesAtOnce && starts[run] == starts[run - 1] + kMinuteNs) ++run;
    const TimeRange range{starts.front(), starts[run - 1] + kMinuteNs};
    const auto known = problems.size();
    ASSAY_TRY(const auto points, raw_->read(series, range, problems));
    // Made from what is left, and said so to whoever reads it later.
    if (problems.size() > known) ASSAY_CHECK(minutes_->rows().mark_incomplete(series, range));
    const auto buckets = buckets_of(points, kMinuteNs);
    if (buckets.size() < run) ASSAY_CHECK(minutes_->erase(series, range, problems));
    ASSAY_CHECK(minutes_->merge(series, buckets, problems));
    starts = starts.subspan(run);
  }
  return {};
}

Result<void> SeriesFile::renew_hours(SeriesId series, std::span<const std::int64_t> starts,
                                     std::vector<std::string>& problems) {
  std::vector<SeriesBucket> hours;
  for (const auto start : starts) {
    const TimeRange range{start, start + kHourNs};
    const auto known = problems.size();
    ASSAY_TRY(const auto minutes, minutes_->read(series, range, problems));
    if (problems.size() > known) ASSAY_CHECK(hours_->rows().mark_incomplete(series, range));
    BucketSum sum;
    for (const auto& minute : minutes) sum.add(minute);
    if (sum.empty()) {
      ASSAY_CHECK(hours_->erase(series, range, problems));
    } else {
      hours.push_back(sum.at(start));
    }
  }
  return hours_->merge(series, hours, problems);
}

Result<void> SeriesFile::erase(SeriesId series, TimeRange range, std::int64_t raw_floor,
                               std::vector<std::string>& problems) {
  ASSAY_CHECK(raw_->erase(series, range, problems));
  // Whole minutes go; those at the ends are made again, if all their points are still there.
  const TimeRange minutes{ceil_to(range.from_ns, kMinuteNs), floor_to(range.to_ns, kMinuteNs)};
  if (minutes.from_ns < minutes.to_ns) ASSAY_CHECK(minutes_->erase(series, minutes, problems));
  std::vector<std::int64_t> renewed;
  for (const auto edge : {range.from_ns, range.to_ns}) {
    const auto start = floor_to(edge, kMinuteNs);
    if (start >= raw_floor && edge < kEndOfTime && (renewed.empty() || renewed.back() != start)) {
      renewed.push_back(start);
    }
  }
  // One at a time: a run would take the minutes between for missing.
  for (const auto& start : renewed) ASSAY_CHECK(renew_minutes(series, {&start, 1}, problems));

  const TimeRange hours{ceil_to(range.from_ns, kHourNs), floor_to(range.to_ns, kHourNs)};
  if (hours.from_ns < hours.to_ns) ASSAY_CHECK(hours_->erase(series, hours, problems));
  renewed.clear();
  for (const auto edge : {range.from_ns, range.to_ns}) {
    const auto start = floor_to(edge, kHourNs);
    if (start >= raw_floor && edge < kEndOfTime && (renewed.empty() || renewed.back() != start)) {
      renewed.push_back(start);
    }
  }
  return renew_hours(series, renewed, problems);
}

Result<void> SeriesFile::forget(SeriesId series) {
  for (const std::string_view table : {"chunk", "minute", "hour", "damaged", "progress", "size"}) {
    ASSAY_CHECK(database_.execute(fmt::format("DELETE FROM {} WHERE series = {}", table, series)));
  }
  return database_.execute(fmt::format("DELETE FROM series WHERE id = {}", series));
}

Result<void> SeriesFile::put_series(const SeriesInfo& series) {
  std::string labels;
  for (const auto& [label, value] : series.key.labels) {
    put_text(labels, label);
    put_text(labels, value);
  }
  return put_series_->bind(1, std::int64_t{series.id})
      .bind(2, series.key.name)
      .bind(3, series.unit)
      .bind_bytes(4, labels)
      .bind(5, std::int64_t{series_checksum(series, labels)})
      .run();
}

Result<void> SeriesFile::put_progress(SeriesId series, const SeriesProgress& progress) {
  return put_progress_->bind(1, std::int64_t{series})
      .bind(2, progress.stored_until)
      .bind(3, progress.newest.time_ns)
      .bind(4, static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(progress.newest.value)))
      .bind(5, std::int64_t{progress_checksum(series, progress)})
      .run();
}

Result<void> SeriesFile::walk(const std::string& sql, const std::function<void(const Statement&)>& visit,
                              const std::function<void(std::string)>& on_damage) {
  ASSAY_TRY(const auto end, setting("next_series"));
  ASSAY_TRY(auto rows, database_.prepare(sql));
  const auto read_after = [&](std::int64_t id) {
    rows.reset();
    rows.bind(1, id);
    return rows.step();
  };
  std::int64_t after = -1;
  auto more = read_after(after);
  for (;;) {
    for (; more.ok() && *more; more = rows.step()) {
      after = rows.integer(0);
      visit(rows);
    }
    if (more.ok()) return {};
    if (more.error().kind != ErrorKind::bad_file) return more.error();
    on_damage(fmt::format("the list of series cannot be read from number {} on: {}", after + 1, more.error().message));
    std::int64_t unreadable = after;
    do {
      after = unreadable + kIdsPerPage;
      if (more = read_after(after); more.ok()) break;
      unreadable = after;
    } while (after < end);
    // A jump may have gone too far: rows that can be read begin somewhere between.
    while (after - unreadable > 1) {
      const auto middle = unreadable + (after - unreadable) / 2;
      (read_after(middle).ok() ? after : unreadable) = middle;
    }
    if (more = read_after(after); more.ok()) continue;
    if (more.error().kind != ErrorKind::bad_file) return more.error();
    return {};
  }
}

Result<void> SeriesFile::each_series(const std::function<void(const SeriesInfo&)>& visit,
                                     std::vector<std::string>& problems) {
  return walk(
      "SELECT id, name, unit, labels, checksum FROM series WHERE id > ? ORDER BY id",
      [&](const Statement& row) {
        if (const auto series = series_of(row)) {
          visit(*series);
        } else {
          problems.push_back(fmt::format("series {}: its name cannot be read", row.integer(0)));
        }
      },
      [&](std::string problem) { problems.push_back(std::move(problem)); });
}

Result<bool> SeriesFile::each_progress(
    const std::function<void(SeriesId, const std::optional<SeriesProgress>&)>& visit) {
  bool all = true;
  ASSAY_CHECK(walk(
      "SELECT series, stored_until, newest_time, newest_bits, checksum FROM progress WHERE series > ? ORDER BY series",
      [&](const Statement& row) {
        const auto id = static_cast<SeriesId>(row.integer(0));
        visit(id, progress_of(row, id));
      },
      [&](const std::string&) { all = false; }));
  return all;
}

Result<Transaction> SeriesFile::begin() {
  growth_.clear();
  return Transaction::begin(database_);
}

Result<SeriesGrowth> SeriesFile::save_growth() {
  for (const auto& [series, bytes] : growth_) {
    const auto saved = grow_->bind(1, std::int64_t{series}).bind(2, bytes).run();
    if (!saved && saved.error().kind != ErrorKind::bad_file) return saved.error();
  }
  return std::exchange(growth_, {});
}

Result<void> SeriesFile::each_size(const std::function<void(SeriesId, std::int64_t)>& visit) {
  return walk(
      "SELECT series, bytes FROM size WHERE series > ? ORDER BY series",
      [&](const Statement& row) { visit(static_cast<SeriesId>(row.integer(0)), row.integer(1)); },
      [](const std::string&) {});
}

Result<std::int64_t> SeriesFile::measure(SeriesId series) {
  std::int64_t bytes = 0;
  for (auto* rows : {&raw_->rows(), &minutes_->rows(), &hours_->rows()}) {
    const auto some = rows->bytes(series);
    if (some) bytes += *some;
    if (!some && some.error().kind != ErrorKind::bad_file) return some.error();
  }
  return bytes;
}

Result<void> SeriesFile::put_size(SeriesId series, std::int64_t bytes) {
  ASSAY_TRY(auto put, database_.prepare("INSERT OR REPLACE INTO size VALUES (?, ?)"));
  return put.bind(1, std::int64_t{series}).bind(2, bytes).run();
}

Result<std::int64_t> SeriesFile::setting(const std::string& name) {
  ASSAY_TRY(auto statement, database_.prepare("SELECT value FROM setting WHERE name = ?"));
  statement.bind(1, name);
  ASSAY_TRY(const bool found, statement.step());
  return found ? statement.integer(0) : 0;
}

Result<void> SeriesFile::put_setting(const std::string& name, std::int64_t value) {
  ASSAY_TRY(auto statement, database_.prepare("INSERT OR REPLACE INTO setting VALUES (?, ?)"));
  return statement.bind(1, name).bind(2, value).run();
}

}  // namespace assay
