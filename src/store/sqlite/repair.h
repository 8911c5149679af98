#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/sqlite/sqlite.h"

namespace assay {

/// What could be read of a table of a damaged database.
struct SalvagedTable {
  std::string name;
  std::int64_t rows = 0;  ///< that were kept
  bool whole = true;      ///< else some could not be read, nobody knows how many
};

/// What a look at a database file has found, and what was done about it.
struct DatabaseRepair {
  std::vector<std::string> problems;    ///< the first of them in words; empty: the file is sound, or there is none
  fs::path aside;                       ///< where the damaged file is now; empty: nothing was changed
  std::vector<SalvagedTable> salvaged;  ///< what is in the new file; none: there is no new file, its user begins one
};

/// Puts a new database in order before it is used. `bad_file`: it is of no use without what was lost.
using FinishSalvage = std::function<Result<void>(Database& database, const std::vector<SalvagedTable>& tables)>;

/// Reads every page of a database that no process has open. If it is damaged and `mend`, the file is kept beside it as
/// `NAME.damaged-ID`, and every row that can still be read goes into a new one with the owner and mode of the old.
Result<DatabaseRepair> repair_database(const fs::path& file, bool mend, const FinishSalvage& finish = {});

}  // namespace assay
