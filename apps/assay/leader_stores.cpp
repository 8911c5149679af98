#include "leader_stores.h"

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

}  // namespace assay
