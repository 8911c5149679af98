#include "store/cluster/sqlite_cluster_store.h"

#include <utility>

#include "store/cluster/account_rows.h"
#include "store/cluster/alert_rows.h"
#include "store/cluster/connections.h"
#include "store/cluster/event_rows.h"
#include "store/cluster/job_rows.h"
#include "store/cluster/node_rows.h"
#include "store/cluster/notice_rows.h"
#include "store/cluster_store.h"

namespace assay {
namespace {

class SqliteClusterStore final : public ClusterStore {
 public:
  explicit SqliteClusterStore(std::unique_ptr<ClusterConnections> connections) : connections_(std::move(connections)) {}

  NodeTable& nodes() override { return nodes_; }
  AlertTable& alerts() override { return alerts_; }
  SilenceTable& silences() override { return silences_; }
  EventLog& events() override { return events_; }
  JobTable& jobs() override { return jobs_; }
  AccountTables& accounts() override { return *accounts_; }
  RefusalTable& refusals() override { return refusals_; }
  NoticeTable& notices() override { return notices_; }

  Result<void> backup_to(const fs::path& file) override {
    return connections_->read([&](Database& database) { return database.back_up_to(file.string()); });
  }

 private:
  std::unique_ptr<ClusterConnections> connections_;
  NodeRows nodes_{*connections_};
  AlertRows alerts_{*connections_};
  SilenceRows silences_{*connections_};
  EventRows events_{*connections_};
  JobRows jobs_{*connections_};
  std::unique_ptr<AccountTables> accounts_ = make_account_rows(*connections_);
  RefusalRows refusals_{*connections_};
  NoticeRows notices_{*connections_};
};

}  // namespace

Result<std::unique_ptr<ClusterStore>> open_cluster_store(const fs::path& file) {
  ASSAY_TRY(auto connections, ClusterConnections::open(file));
  return std::unique_ptr<ClusterStore>(std::make_unique<SqliteClusterStore>(std::move(connections)));
}

}  // namespace assay
