#pragma once

#include <memory>

#include "leader/leader.h"
#include "leader_place.h"
#include "store/series/embedded_series_store.h"

namespace assay {

/// What a leader keeps besides runs and tokens, open. The choice of stores is made here and nowhere else.
class LeaderData {
 public:
  /// `busy` if another process has it.
  static Result<LeaderData> open(const LeaderPlace& place, const SeriesStoreOptions& series = {});

  LeaderStores stores() { return {.cluster = *cluster_, .series = *series_, .runs = *runs_}; }
  /// A copy of everything in the same places below another folder, while whoever uses the stores goes on.
  Result<void> backup_to(const LeaderPlace& place);

 private:
  std::unique_ptr<ClusterStore> cluster_;
  std::unique_ptr<SeriesStore> series_;
  std::unique_ptr<RunStore> runs_;
};

/// Copies a data folder, with what its leader keeps, into a new or empty folder; see `copy_data_folder`.
Result<void> back_up(const fs::path& data, LeaderData& leader, const fs::path& folder);

}  // namespace assay
