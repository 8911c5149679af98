#include "leader_stores.h"

#include "backup/data_folder_copy.h"
#include "store/cluster/sqlite_cluster_store.h"
#include "store/local/local_store.h"

namespace assay {

Result<LeaderData> LeaderData::open(const LeaderPlace& place, const SeriesStoreOptions& series) {
  LeaderData data;
  // Telemetry first: its lock keeps a second leader out.
  ASSAY_TRY(data.series_, open_series_store(place.series(), series));
  ASSAY_TRY(data.cluster_, open_cluster_store(place.cluster()));
  ASSAY_TRY(data.runs_, open_local_store(place.data(), {.tidy = true}));
  return data;
}

Result<void> LeaderData::backup_to(const LeaderPlace& place) {
  ASSAY_CHECK(make_folders(place.folder));
  ASSAY_CHECK(series_->backup_to(place.series()));
  return cluster_->backup_to(place.cluster());
}

Result<void> back_up(const fs::path& data, LeaderData& leader, const fs::path& folder) {
  const LeaderPlace place(data);
  return copy_data_folder(data,
                          {.files = {place.tokens().lexically_relative(data), place.tls().lexically_relative(data)},
                           .copy_open = [&](const fs::path& copy) { return leader.backup_to(LeaderPlace(copy)); }},
                          folder);
}

}  // namespace assay
