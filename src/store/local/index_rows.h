#pragma once

#include <string_view>

#include "base/result.h"
#include "store/run_query.h"
#include "store/sqlite/sqlite.h"

namespace assay {

/// Raise it with every change of the tables: an index of another version is made again.
constexpr int kIndexVersion = 2;
extern const char* const kIndexTables;

/// Writes rows into the index's tables, all with the same prepared statements. Goes before its Database.
class RowWriter {
 public:
  static Result<RowWriter> prepare(Database& database);
  /// Inserts or replaces.
  Result<void> put(const RunRow& row);

 private:
  RowWriter(Statement count_change, Statement put_run, Statement drop_metrics, Statement drop_tags,
            Statement put_metric, Statement put_tag)
      : count_change_(std::move(count_change)),
        put_run_(std::move(put_run)),
        drop_metrics_(std::move(drop_metrics)),
        drop_tags_(std::move(drop_tags)),
        put_metric_(std::move(put_metric)),
        put_tag_(std::move(put_tag)) {}
  Statement count_change_, put_run_, drop_metrics_, drop_tags_, put_metric_, put_tag_;
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
