#pragma once

#include "store/alert_table.h"
#include "store/cluster/connections.h"

namespace assay {

class AlertRows final : public AlertTable {
 public:
  explicit AlertRows(ClusterConnections& connections) : connections_(connections) {}

  Result<std::vector<Stored<AlertRecord>>> open() override;
  Result<AlertPage> resolved(const AlertPageQuery& query) override;
  Result<Stored<AlertRecord>> find(std::string_view id) override;
  Result<void> put(std::span<Stored<AlertRecord>> alerts) override;
  Result<bool> forget_resolved(WallTime time, std::size_t most) override;

 private:
  ClusterConnections& connections_;
};

class SilenceRows final : public SilenceTable {
 public:
  explicit SilenceRows(ClusterConnections& connections) : connections_(connections) {}

  Result<std::vector<Silence>> list() override;
  Result<void> add(const Silence& silence) override;
  Result<void> remove(std::string_view id) override;

 private:
  ClusterConnections& connections_;
};

}  // namespace assay
