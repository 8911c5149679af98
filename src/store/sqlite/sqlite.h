#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// One prepared SQL statement. Belongs to its Database and must go first. Not thread-safe.
class Statement {
 public:
  // Parameters count from 1, columns from 0, as in SQLite.
  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, std::int64_t number);
  Statement& bind(int parameter, double number);
  Statement& bind_bytes(int parameter, std::string_view bytes);
  /// Whatever a column of a row of another statement is.
  Statement& bind_column(int parameter, const Statement& row, int column);

  /// True while there is a row.
  Result<bool> step();
  /// For statements without rows: runs it and makes it ready for the next values.
  Result<void> run();
  void reset() { sqlite3_reset(statement_.get()); }

  std::string text(int column) const;
  /// Valid until the next step.
  std::string_view bytes(int column) const;
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  /// NaN for NULL, which is what SQLite makes of NaN.
  double real(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A SQLite connection. Not thread-safe. Errors: `bad_file` (damaged, not a database), `busy`, `denied` (read-only,
/// no access), else `io`.
class Database {
 public:
  static Result<Database> open(const std::string& path);

  Result<void> execute(const std::string& sql);
  Result<Statement> prepare(const std::string& sql);
  /// The single number a statement such as `PRAGMA user_version` gives.
  Result<std::int64_t> number(const std::string& sql);
  /// Copies the database into a new file, a slice at a time, as it is when this begins: other connections may go on
  /// writing where there is a write-ahead log, and nobody who syncs on the same disk waits for more than a slice. On
  /// the disk on return. Not inside a transaction of this connection.
  Result<void> back_up_to(const std::string& path);
  bool read_only() const { return sqlite3_db_readonly(connection_.get(), "main") == 1; }

 private:
  friend class WorkLimit;
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  explicit Database(sqlite3* connection) : connection_(connection) {}
  std::unique_ptr<sqlite3, Close> connection_;
};

/// While it lives, the statements of a connection do so much together and no more: the one that goes beyond ends with
/// an error, and `reached` says why. One at a time on a connection, which it must not outlive.
class WorkLimit {
 public:
  /// `steps`: instructions of SQLite's machine, ten to thirty million a second; counted in portions of `kPortion`.
  WorkLimit(Database& database, std::int64_t steps);
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;
  ~WorkLimit();

  bool reached() const { return left_ < 0; }
  static constexpr int kPortion = 1000;

 private:
  sqlite3* const connection_;
  std::int64_t left_;  ///< portions
};

/// Brings the tables of a database up to date: the first `user_version` of the statements were run in its life, the
/// others are now, all or none. `unsupported` if a newer version of assay wrote it. `what` names the content in
/// messages: "the telemetry".
Result<void> migrate(Database& database, std::span<const char* const> migrations, std::string_view what);

/// Undone when it goes away without `commit`.
class Transaction {
 public:
  /// Takes the right to write at once, so that nothing fails half-way.
  static Result<Transaction> begin(Database& database);
  Result<void> commit();

  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace assay
