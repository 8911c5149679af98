#include "store/cluster/sqlite_cluster_store.h"

namespace assay {
namespace {

/// What is counted is counted again; the rest of the tables can lack any row.
Result<void> finish_cluster(Database& database, const std::vector<SalvagedTable>&) {
  return database.execute(
      "DELETE FROM event_count; INSERT INTO event_count SELECT node, count(*) FROM event GROUP BY node");
}

}  // namespace

Result<DatabaseRepair> repair_cluster_store(const fs::path& file, bool mend) {
  return repair_database(file, mend, finish_cluster);
}

}  // namespace assay
