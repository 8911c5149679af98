#include <algorithm>

#include "store/series/embedded_series_store.h"

namespace assay {
namespace {

/// Without its settings nobody knows which changes of the log the tables have seen already; and a series whose progress
/// is lost must not look like one that has no chunks yet, or the log would be put on top of them.
Result<void> finish_series(Database& database, const std::vector<SalvagedTable>& tables) {
  const auto settings =
      std::find_if(tables.begin(), tables.end(), [](const SalvagedTable& table) { return table.name == "setting"; });
  if (settings == tables.end() || !settings->whole) {
    return Error{.kind = ErrorKind::bad_file, .message = "the settings of the telemetry cannot be read"};
  }
  // No row has this checksum: it counts as damaged, and the newest chunk of the series is asked instead.
  return database.execute(
      "INSERT INTO progress SELECT DISTINCT series, 0, 0, 0, -1 FROM chunk "
      "WHERE series NOT IN (SELECT series FROM progress)");
}

}  // namespace

Result<DatabaseRepair> repair_series_store(const fs::path& folder, bool mend) {
  return repair_database(folder / "series.db", mend, finish_series);
}

}  // namespace assay
