#pragma once

#include <memory>
#include <optional>

#include "backup/backup_desk.h"
#include "base/units.h"
#include "leader/leader.h"
#include "leader_place.h"
#include "store/cluster_store.h"
#include "store/run_store.h"
#include "store/series/embedded_series_store.h"

namespace assay {

/// What a leader keeps besides runs and tokens, open. The choice of stores is made here and nowhere else.
class LeaderData {
 public:
  /// `busy` if another process has it.
  static Result<LeaderData> open(const LeaderPlace& place, const SeriesStoreOptions& series = {},
                                 std::optional<Bytes> most_of_a_run = {});

  LeaderStores stores() { return {.cluster = *cluster_, .series = *series_, .runs = *runs_}; }
  /// For backups while the stores are in use; this must outlive them.
  BackupDesk::Options backup_options(const LeaderPlace& place);

 private:
  /// A copy of everything in the same places below another folder, while whoever uses the stores goes on.
  Result<void> backup_to(const LeaderPlace& place);

  std::unique_ptr<ClusterStore> cluster_;
  std::unique_ptr<SeriesStore> series_;
  std::unique_ptr<RunStore> runs_;
};

/// Copies a data folder whose leader does not run into a new folder, and changes nothing in it. `busy` if the leader
/// does.
Result<BackupSummary> back_up_stopped(const LeaderPlace& place, const fs::path& folder, WallTime now);

}  // namespace assay
