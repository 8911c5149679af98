#pragma once

#include <string_view>

#include "base/result.h"
#include "store/run_query.h"
#include "store/sqlite/sqlite.h"

namespace assay {

/// Raise it with every change of the tables: an index of another version is made again.
constexpr int kIndexVersion = 4;
extern const char* const kIndexTables;

/// Writes rows into the index's tables, all with the same prepared statements. Goes before its Database.
class RowWriter {
 public:
  static Result<RowWriter> prepare(Database& database);
  /// Inserts or replaces.
  Result<void> put(const RunRow& row);

 private:
  struct Statements {
    Statement count_change, put_run, drop_metrics, drop_tags, drop_nodes, put_metric, put_tag, put_node;
  };
  explicit RowWriter(Statements statements) : statements_(std::move(statements)) {}
  Statements statements_;
};

/// The number of the change that is being made: higher than all before, those of an index that was made anew included.
extern const char* const kCountChange;

/// About a second: two million runs by a metric, ten by a text (WorkLimit).
constexpr std::int64_t kMostWorkOfAPage = 40'000'000;

/// Answers a query from the index's tables. A page takes about `most_work` at most and ends where that is done; what is
/// not counted by then has no `total`. `usage`: a field that does not exist, or a page in an order that cannot end in
/// the middle and would take more. A query without a limit takes what it takes.
Result<RunPage> query_rows(Database& database, const RunQuery& query, std::int64_t most_work = kMostWorkOfAPage);

}  // namespace assay
