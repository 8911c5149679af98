#include "store/sqlite/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

namespace assay {
namespace {

Error sqlite_error(sqlite3* connection) {
  // Without memory there is not even a connection to ask.
  const int code = connection ? sqlite3_extended_errcode(connection) : SQLITE_NOMEM;
  Error error{.kind = ErrorKind::io,
              .message = fmt::format("SQLite: {}", connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code))};
  switch (code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: error.kind = ErrorKind::bad_file; break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: error.kind = ErrorKind::busy; break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: error.kind = ErrorKind::denied; break;
    case SQLITE_CANTOPEN: {
      const int why = sqlite3_system_errno(connection);
      if (why == EACCES || why == EPERM || why == EROFS) error.kind = ErrorKind::denied;
      break;
    }
    case SQLITE_FULL: error.hint = "Free some space, or choose another folder with --data DIR."; break;
    default: break;
  }
  return error;
}

Result<void> sync_copy(int file) {
  if (::fdatasync(file) != 0) return system_error(errno, "cannot sync the copy");
  return {};
}

/// Slice by slice; each is on the disk before the next.
Result<void> copy_pages(sqlite3* from, sqlite3* to, int file) {
  constexpr int kPagesPerStep = 1024;
  auto* backup = sqlite3_backup_init(to, "main", from, "main");
  if (!backup) return sqlite_error(to);
  int code = SQLITE_OK;
  Result<void> synced;
  while (code == SQLITE_OK && synced.ok()) {
    code = sqlite3_backup_step(backup, kPagesPerStep);
    synced = sync_copy(file);
  }
  // What finish returns is what step returned; the copy's connection has the words.
  sqlite3_backup_finish(backup);
  if (!synced) return synced;
  if (code != SQLITE_DONE) return sqlite_error(to);
  return sync_copy(file);
}

}  // namespace

Statement& Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter, text.data() ? text.data() : "", text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(int parameter, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), parameter, number);
  return *this;
}

Statement& Statement::bind(int parameter, double number) {
  sqlite3_bind_double(statement_.get(), parameter, number);
  return *this;
}

Statement& Statement::bind_bytes(int parameter, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), parameter, bytes.data() ? bytes.data() : "", bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind_column(int parameter, const Statement& row, int column) {
  sqlite3_bind_value(statement_.get(), parameter, sqlite3_column_value(row.statement_.get(), column));
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  auto error = sqlite_error(sqlite3_db_handle(statement_.get()));
  sqlite3_reset(statement_.get());
  return error;
}

Result<void> Statement::run() {
  ASSAY_CHECK(step());
  reset();
  return {};
}

std::string Statement::text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text ? std::string(reinterpret_cast<const char*>(text), size) : std::string();
}

std::string_view Statement::bytes(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

double Statement::real(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nan("");
  return sqlite3_column_double(statement_.get(), column);
}

Result<Database> Database::open(const std::string& path) {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(connection);
  if (code != SQLITE_OK) return sqlite_error(connection);
  return database;
}

Result<void> Database::execute(const std::string& sql) {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return sqlite_error(connection_.get());
  }
  return {};
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_.get(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr) !=
      SQLITE_OK) {
    return sqlite_error(connection_.get());
  }
  return Statement(statement);
}

Result<std::int64_t> Database::number(const std::string& sql) {
  ASSAY_TRY(auto statement, prepare(sql));
  ASSAY_TRY(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

Result<void> Database::back_up_to(const std::string& path) {
  ASSAY_TRY(auto copy, open(path));
  ASSAY_CHECK(copy.execute("PRAGMA journal_mode = OFF"));
  // We sync ourselves, a slice at a time: all of it at the end would keep everybody waiting who syncs on the same disk.
  ASSAY_CHECK(copy.execute("PRAGMA synchronous = OFF"));
  ASSAY_TRY(const auto written, open_file(path, O_RDONLY));
  // Reading something holds the state still: without it every change by others starts the copy again.
  ASSAY_CHECK(execute("BEGIN"));
  auto pinned = number("SELECT count(*) FROM sqlite_schema");
  auto outcome = pinned.ok() ? copy_pages(connection_.get(), copy.connection_.get(), written.get())
                             : Result<void>(std::move(pinned).error());
  const auto ended = execute("ROLLBACK");
  return outcome.ok() ? ended : outcome;
}

Result<Transaction> Transaction::begin(Database& database) {
  ASSAY_CHECK(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Result<void> Transaction::commit() {
  auto result = database_->execute("COMMIT");
  if (result.ok()) database_ = nullptr;
  return result;
}

Transaction::~Transaction() {
  if (!database_) return;
  // Fails only where SQLite has rolled back by itself.
  [[maybe_unused]] const auto undone = database_->execute("ROLLBACK");
}

WorkLimit::WorkLimit(Database& database, std::int64_t steps)
    : connection_(database.connection_.get()), left_(steps / kPortion) {
  const auto count = [](void* left) { return --*static_cast<std::int64_t*>(left) < 0 ? 1 : 0; };
  sqlite3_progress_handler(connection_, kPortion, count, &left_);
}

WorkLimit::~WorkLimit() { sqlite3_progress_handler(connection_, 0, nullptr, nullptr); }

Result<void> migrate(Database& database, std::span<const char* const> migrations, std::string_view what) {
  const auto newest = static_cast<std::int64_t>(migrations.size());
  ASSAY_TRY(auto version, database.number("PRAGMA user_version"));
  if (version == newest) return {};
  if (version < 0 || version > newest) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = fmt::format("{} was written by a newer version of assay (format {}, known {})", what,
                                        version, newest),
                 .hint = "Update assay, or use another data folder."};
  }
  ASSAY_TRY(auto transaction, Transaction::begin(database));
  for (; version < newest; ++version) {
    ASSAY_CHECK(database.execute(migrations[static_cast<std::size_t>(version)]));
  }
  ASSAY_CHECK(database.execute(fmt::format("PRAGMA user_version = {}", newest)));
  return transaction.commit();
}

}  // namespace assay
