#include "leader_stores.h"

#include <fmt/format.h>

#include "backup/backup_source.h"
#include "store/cluster/sqlite_cluster_store.h"
#include "store/local/local_store.h"

namespace assay {

Result<LeaderData> LeaderData::open(const LeaderPlace& place, const SeriesStoreOptions& series,
                                    std::optional<Bytes> most_of_a_run) {
  LeaderData data;
  // Telemetry first: its lock keeps a second leader out.
  ASSAY_TRY(data.series_, open_series_store(place.series(), series));
  auto cluster = open_cluster_store(place.cluster());
  if (!cluster && cluster.error().kind == ErrorKind::bad_file && cluster.error().hint.empty()) {
    cluster.error().hint = "`assay repair` says what is damaged and what mending it costs.";
  }
  ASSAY_TRY(data.cluster_, std::move(cluster).within(fmt::format("opening '{}'", place.cluster().string())));
  ASSAY_TRY(data.runs_, open_local_store(place.data(), {.tidy = true, .most_of_a_run = most_of_a_run}));
  return data;
}

Result<void> LeaderData::backup_to(const LeaderPlace& place) {
  ASSAY_CHECK(make_folders(place.folder));
  ASSAY_CHECK(series_->backup_to(place.series()));
  return cluster_->backup_to(place.cluster());
}

BackupDesk::Options LeaderData::backup_options(const LeaderPlace& place) {
  const auto below_data = [&](const fs::path& path) { return path.lexically_relative(place.data()); };
  return {
      .data = place.data(),
      .open = {below_data(place.series()), below_data(place.cluster()), below_data(place.cluster().string() + "-wal")},
      .copy_open = [this](const fs::path& folder) { return backup_to(LeaderPlace(folder)); }};
}

Result<BackupSummary> back_up_stopped(const LeaderPlace& place, const fs::path& folder, WallTime now) {
  // Nobody writes meanwhile: files are as a leader that was killed leaves them, which the next one can read.
  ASSAY_TRY(const auto lock, lock_series_store(place.series()));
  const auto source = backup_source({.data = place.data()}, now);
  return receive_backup(*source, folder);
}

}  // namespace assay
