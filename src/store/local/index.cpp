#include "store/local/index.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/ids.h"
#include "base/log.h"
#include "store/local/index_rows.h"
#include "store/run_answers.h"

namespace assay {
namespace {

/// How long to wait for another process that is writing; making the index of 100,000 runs takes about this long.
constexpr const char* kPatience = "PRAGMA busy_timeout = 20000";
/// More readers at once are served, but not all of their connections are kept.
constexpr std::size_t kMostIdleReaders = 8;

Error damaged_index(std::string message) { return Error{.kind = ErrorKind::bad_file, .message = std::move(message)}; }

}  // namespace

Result<std::unique_ptr<Index>> Index::open(fs::path folder, Sharing sharing, Scan scan) {
  std::unique_ptr<Index> index(new Index(std::move(folder), sharing, std::move(scan)));
  ASSAY_CHECK(index->connect());
  return index;
}

std::optional<Index::FileIdentity> Index::identity() const {
  struct stat info{};
  if (::stat(file().c_str(), &info) != 0) return std::nullopt;
  return FileIdentity{info.st_dev, info.st_ino};
}

/// Ends with a usable index whatever the state of the file, if need be in memory.
Result<void> Index::connect() {
  idle_readers_.clear();
  if (::access(folder_.c_str(), W_OK) != 0) return connect_to_memory();
  auto connected = connect_to_file();
  if (!connected.ok() && connected.error().kind == ErrorKind::bad_file) {
    log_warning("The index '{}' cannot be used ({}); it is made again from the run folders.", file().string(),
                connected.error().text());
    connected = set_aside();
    if (connected.ok()) connected = connect_to_file();
  }
  if (connected.ok()) return {};
  if (connected.error().kind != ErrorKind::denied) {
    log_warning("The index '{}' cannot be used ({}); the run folders are read instead.", file().string(),
                connected.error().text());
  }
  return connect_to_memory();
}

Result<void> Index::connect_to_file() {
  database_.reset();
  ASSAY_TRY(auto database, Database::open(file().string()));
  if (database.read_only()) return Error{.kind = ErrorKind::denied, .message = "the file is read-only"};
  connected_to_ = identity();
  ASSAY_CHECK(database.execute(kPatience));
  ASSAY_CHECK(database.execute("PRAGMA synchronous = NORMAL"));
  // Another process may be using the file in the other mode just now: both are safe, the next opening changes it.
  auto mode =
      database.execute(sharing_ == Sharing::local ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
  if (!mode.ok() && mode.error().kind != ErrorKind::busy) return mode;
  database_ = std::make_unique<Database>(std::move(database));
  ASSAY_TRY(const auto version, database_->number("PRAGMA user_version"));
  if (version == 0) {
    ASSAY_CHECK(make_tables());
    // SQLite makes the file no sooner than it has something to write.
    connected_to_ = identity();
  } else if (version != kIndexVersion) {
    return damaged_index(fmt::format("it has version {}, this assay uses {}", version, kIndexVersion));
  }
  return {};
}

Result<void> Index::connect_to_memory() {
  connected_to_.reset();
  ASSAY_TRY(auto database, Database::open(":memory:"));
  database_ = std::make_unique<Database>(std::move(database));
  return make_tables();
}

/// Another process may have seen the same damage: whoever comes second finds a sound index and leaves it alone.
Result<void> Index::set_aside() {
  ASSAY_TRY(const auto lock, FileLock::acquire(folder_ / "index.lock"));
  const auto damaged = connected_to_;
  database_.reset();
  if (identity() != damaged) return {};
  const auto aside = folder_ / fmt::format("index.db.damaged-{}", new_id());
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    const auto from = file().string() + suffix;
    if (::rename(from.c_str(), (aside.string() + suffix).c_str()) != 0 && errno != ENOENT) {
      return system_error(errno, fmt::format("cannot move '{}' aside", from));
    }
  }
  return {};
}

/// Tables and rows appear in one step: no other process ever sees an index that is only half filled.
Result<void> Index::make_tables() {
  ASSAY_TRY(auto transaction, Transaction::begin(*database_));
  ASSAY_TRY(const auto version, database_->number("PRAGMA user_version"));
  if (version == kIndexVersion) return {};
  ASSAY_TRY(const auto tables, database_->number("SELECT count(*) FROM sqlite_schema"));
  if (tables != 0) return damaged_index("it is a database of something else");
  ASSAY_CHECK(database_->execute(kIndexTables));
  ASSAY_CHECK(database_->execute(fmt::format("PRAGMA user_version = {}", kIndexVersion)));
  ASSAY_TRY(auto writer, RowWriter::prepare(*database_));
  for (const auto& row : scan_()) ASSAY_CHECK(writer.put(row));
  return transaction.commit();
}

template <typename Operation>
auto Index::guarded(Operation operation) -> decltype(operation()) {
  const std::lock_guard hold(mutex_);
  if (connected_to_ && identity() != connected_to_) ASSAY_CHECK(connect());
  auto result = operation();
  if (result.ok() || result.error().kind != ErrorKind::bad_file || !connected_to_) return result;
  log_warning("The index '{}' is damaged ({}); it is made again from the run folders.", file().string(),
              result.error().text());
  ASSAY_CHECK(set_aside());
  ASSAY_CHECK(connect());
  return operation();
}

Result<void> Index::write(const std::function<Result<void>()>& operation) {
  return guarded([&]() -> Result<void> {
    std::optional<FileLock> only_writer;
    if (sharing_ == Sharing::network && connected_to_) {
      ASSAY_TRY(only_writer, FileLock::acquire(folder_ / "index.lock"));
    }
    ASSAY_TRY(auto transaction, Transaction::begin(*database_));
    ASSAY_CHECK(operation());
    return transaction.commit();
  });
}

Result<void> Index::put(const RunRow& row) {
  return write([&]() -> Result<void> {
    ASSAY_TRY(auto writer, RowWriter::prepare(*database_));
    return writer.put(row);
  });
}

Result<void> Index::forget(std::string_view id) {
  // Looking first keeps a reader who asks for what is not there from waiting for writers.
  const auto is_known = [&]() -> Result<bool> {
    ASSAY_TRY(auto statement, database_->prepare("SELECT 1 FROM runs WHERE id = ?"));
    return statement.bind(1, id).step();
  };
  ASSAY_TRY(const bool known, guarded(is_known));
  if (!known) return {};
  return write([&]() -> Result<void> {
    ASSAY_TRY(const auto change, database_->number(kCountChange));
    ASSAY_TRY(auto tombstone, database_->prepare("INSERT OR REPLACE INTO removed_runs(id, change) VALUES(?, ?)"));
    ASSAY_CHECK(tombstone.bind(1, id).bind(2, change).run());
    for (const char* sql :
         {"DELETE FROM run_metrics WHERE run = (SELECT key FROM runs WHERE id = ?)",
          "DELETE FROM run_tags WHERE run = (SELECT key FROM runs WHERE id = ?)",
          "DELETE FROM run_nodes WHERE run = (SELECT key FROM runs WHERE id = ?)", "DELETE FROM runs WHERE id = ?"}) {
      ASSAY_TRY(auto statement, database_->prepare(sql));
      ASSAY_CHECK(statement.bind(1, id).run());
    }
    return {};
  });
}

Result<std::unique_ptr<Database>> Index::take_reader() {
  if (sharing_ != Sharing::local || !connected_to_) return std::unique_ptr<Database>();
  if (!idle_readers_.empty()) {
    auto reader = std::move(idle_readers_.back());
    idle_readers_.pop_back();
    return reader;
  }
  ASSAY_TRY(auto reader, Database::open(file().string()));
  ASSAY_CHECK(reader.execute(kPatience));
  return std::make_unique<Database>(std::move(reader));
}

void Index::give_back(std::unique_ptr<Database> reader, const std::optional<FileIdentity>& read_from) {
  const std::lock_guard hold(mutex_);
  if (connected_to_ == read_from && idle_readers_.size() < kMostIdleReaders) idle_readers_.push_back(std::move(reader));
}

Result<RunPage> Index::list(const RunQuery& query) {
  std::optional<FileIdentity> read_from;
  auto reader = guarded([&] {
    read_from = connected_to_;
    return take_reader();
  });
  if (reader.ok() && *reader) {
    auto page = query_rows(**reader, query);
    if (page.ok() || page.error().kind == ErrorKind::usage) {
      give_back(std::move(*reader), read_from);
      return page;
    }
  }
  // What is damaged is mended there.
  return guarded([&] { return query_rows(*database_, query); });
}

Result<std::vector<std::string>> Index::running(std::string_view after, std::size_t most) {
  return guarded([&]() -> Result<std::vector<std::string>> {
    ASSAY_TRY(auto statement, database_->prepare("SELECT id FROM runs INDEXED BY runs_going_on WHERE state IN "
                                                 "('starting', 'running') AND id > ?1 ORDER BY id LIMIT ?2"));
    statement.bind(1, after).bind(2, static_cast<std::int64_t>(most));
    std::vector<std::string> ids;
    for (;;) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return ids;
      ids.push_back(statement.text(0));
    }
  });
}

Result<std::set<std::string>> Index::ids() {
  return guarded([&]() -> Result<std::set<std::string>> {
    ASSAY_TRY(auto statement, database_->prepare("SELECT id FROM runs"));
    std::set<std::string> all;
    for (;;) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return all;
      all.insert(statement.text(0));
    }
  });
}

Result<std::vector<RunChange>> Index::changes(std::uint64_t since, std::size_t limit) {
  return guarded([&]() -> Result<std::vector<RunChange>> {
    ASSAY_TRY(auto statement,
              database_->prepare("SELECT change, id, 0 FROM runs WHERE change > ?1 UNION ALL "
                                 "SELECT change, id, 1 FROM removed_runs WHERE change > ?1 ORDER BY change LIMIT ?2"));
    statement.bind(1, static_cast<std::int64_t>(std::min<std::uint64_t>(since, INT64_MAX)));
    statement.bind(2, static_cast<std::int64_t>(limit));
    std::vector<RunChange> changes;
    for (;;) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return changes;
      changes.push_back({.sequence = static_cast<std::uint64_t>(statement.integer(0)),
                         .run = statement.text(1),
                         .removed = statement.integer(2) != 0});
    }
  });
}

Result<std::uint64_t> Index::newest_change() {
  return guarded([&]() -> Result<std::uint64_t> {
    ASSAY_TRY(const auto newest, database_->number("SELECT newest FROM changes"));
    return static_cast<std::uint64_t>(newest);
  });
}

Result<void> Index::replace(const std::vector<RunRow>& rows,
                            const std::function<bool(const std::string&)>& still_there) {
  std::set<std::string, std::less<>> known;
  for (const auto& row : rows) known.insert(row.id);
  std::vector<std::string> gone;
  auto written = write([&]() -> Result<void> {
    gone.clear();
    ASSAY_TRY(auto all, database_->prepare("SELECT id FROM runs"));
    for (;;) {
      ASSAY_TRY(const bool more, all.step());
      if (!more) break;
      if (auto id = all.text(0); !known.contains(id) && !still_there(id)) gone.push_back(std::move(id));
    }
    ASSAY_TRY(auto writer, RowWriter::prepare(*database_));
    for (const auto& row : rows) ASSAY_CHECK(writer.put(row));
    return {};
  });
  ASSAY_CHECK(std::move(written));
  for (const auto& id : gone) ASSAY_CHECK(forget(id));
  return {};
}

}  // namespace assay
