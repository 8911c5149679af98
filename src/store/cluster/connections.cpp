#include "store/cluster/connections.h"

#include "store/cluster/cluster_schema.h"

namespace assay {
namespace {

Result<Database> connect(const fs::path& file) {
  ASSAY_TRY(auto database, Database::open(file.string()));
  ASSAY_CHECK(database.execute("PRAGMA busy_timeout = 20000"));
  return database;
}

}  // namespace

Result<std::unique_ptr<ClusterConnections>> ClusterConnections::open(const fs::path& file) {
  ASSAY_CHECK(make_folders(file.parent_path()));
  ASSAY_TRY(auto writer, connect(file));
  ASSAY_TRY(const auto kind, file_system_of(file));
  // Shared memory between hosts is not safe, and without WAL SQLite does not need it.
  if (!kind.network) ASSAY_CHECK(writer.execute("PRAGMA journal_mode = WAL"));
  ASSAY_CHECK(writer.execute("PRAGMA synchronous = FULL"));
  ASSAY_CHECK(update_cluster_tables(writer));
  return std::unique_ptr<ClusterConnections>(new ClusterConnections(file, std::move(writer)));
}

Result<std::unique_ptr<Database>> ClusterConnections::take_reader() {
  {
    const std::lock_guard lock(idle_mutex_);
    if (!idle_.empty()) {
      auto database = std::move(idle_.back());
      idle_.pop_back();
      return database;
    }
  }
  ASSAY_TRY(auto database, connect(file_));
  ASSAY_CHECK(database.execute("PRAGMA query_only = 1"));
  return std::make_unique<Database>(std::move(database));
}

void ClusterConnections::give_back(std::unique_ptr<Database> database) {
  const std::lock_guard lock(idle_mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(database));
}

}  // namespace assay
