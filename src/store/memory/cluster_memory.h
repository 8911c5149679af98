#pragma once

#include <memory>
#include <optional>

#include "store/cluster_store.h"

namespace assay {

/// The tables of a cluster in memory: what is written is gone with it. Called by tests alone. Keeps the contract of
/// ClusterStore, except that there is nothing to back up.
class ClusterMemory final : public ClusterStore {
 public:
  ClusterMemory();
  ~ClusterMemory() override;

  NodeTable& nodes() override;
  AlertTable& alerts() override;
  SilenceTable& silences() override;
  EventLog& events() override;
  JobTable& jobs() override;
  /// `fail_writes` is not about these.
  AccountTables& accounts() override;
  RefusalTable& refusals() override;
  NoticeTable& notices() override;
  /// `unsupported`.
  Result<void> backup_to(const fs::path& file) override;

  /// What whoever writes is told from now on, as of a disk that is full; absent: all is well again.
  void fail_writes(std::optional<Error> error);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace assay
