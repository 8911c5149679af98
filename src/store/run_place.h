#pragma once

#include <optional>
#include <string>

#include "store/run_query.h"

namespace assay {

/// A place in a list of runs: behind a run that need not be there any more. It holds what the list is ordered by, so
/// that a page goes on where the one before ended, whatever was added or removed meanwhile.
struct RunPlace {
  std::string order;                ///< of the list: `-created`
  std::optional<std::string> text;  ///< what the run is sorted by, where that is text …
  std::optional<double> number;     ///< … and where it is none; absent for runs without the metric, which come last
  double created = 0;               ///< Unix seconds: of runs that are alike the newer comes first
  std::string tie;                  ///< tells runs of the same moment apart: what it is is the store's business
};

RunPlace place_of(const RunRow& row, const RunQuery& query, std::string tie);
/// Whether one run comes before another in a list in that order, both of the same list.
bool precedes(const RunPlace& place, const RunPlace& other, bool descending);

/// As `RunPage::next`: letters and digits alone.
std::string write_place(const RunPlace& place);
/// Reads `query.after`. `usage` for what is no place, or one in a list of another order.
Result<RunPlace> read_place(const RunQuery& query);

}  // namespace assay
