#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "store/sqlite/sqlite.h"
#include "store/stored.h"

// How the tables of the cluster write down what SQLite has no type for, and how they change a row.

namespace assay {

inline std::int64_t stored_time(WallTime time) { return time.time_since_epoch().count(); }
inline WallTime wall_time(std::int64_t ns) { return WallTime(Nanos(ns)); }

inline void bind_time(Statement& statement, int parameter, std::optional<WallTime> time) {
  if (time) {
    statement.bind(parameter, stored_time(*time));
  } else {
    statement.bind(parameter, std::nan(""));  // SQLite makes NULL of it
  }
}
inline std::optional<WallTime> time_in(const Statement& statement, int column) {
  if (std::isnan(statement.real(column))) return std::nullopt;
  return wall_time(statement.integer(column));
}

/// {"xid": 79}; what is not finite is null.
std::string text_of_values(const std::map<std::string, double>& values);
/// Reads it back; null is NaN, and what is no such object is empty.
std::map<std::string, double> values_in(std::string_view text);

/// A table whose rows carry a revision. The first column is their name.
struct RevisedTable {
  std::string_view name;
  std::span<const std::string_view> columns;
};
/// Makes a row (expected revision 0) or changes one that still has the expected revision. Parameters are the columns in
/// order, then the expected revision; a row, with the new revision, comes back where that was so.
Result<Statement> prepare_put(Database& database, const RevisedTable& table, Revision expected);
/// Runs what `prepare_put` made, with its columns bound. `busy` names the row.
Result<Revision> run_put(Statement& statement, const RevisedTable& table, Revision expected, std::string_view row);

/// "name, version, …, revision" to select.
std::string selected(const RevisedTable& table);

Error no_such_row(std::string_view what, std::string_view name);

}  // namespace assay
