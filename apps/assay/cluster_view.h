#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_types.h"
#include "model/maintenance.h"
#include "report/text/style.h"

namespace assay {

// What the API says of the cluster, as terminals show it.

struct GpuLine {
  std::string uuid;
  std::string index;
  std::string model;
  std::map<std::string, double> values;  ///< by metric
  std::int64_t newest_ms = 0;            ///< of its values

  /// NaN if it is not known.
  double value(const std::string& metric) const;
  /// It no longer reports, though its node does: what was last known of it would look like health.
  bool silent() const { return values.empty(); }
};

struct NodeLine {
  std::string name;
  NodeState state = NodeState::offline;
  bool simulated = false;
  WallTime last_seen;
  std::string drain_reason;
  bool draining = false;
  std::optional<Maintenance> maintenance;
  std::map<std::string, double> host;  ///< by metric
  std::vector<GpuLine> gpus;
  std::size_t alerts = 0;

  bool offline() const { return state == NodeState::offline; }
  /// "online, simulated", "offline, drained: new board", "online, maintenance from …: new fans".
  std::string state_text() const;
  /// Drops the values of GPUs that went silent, and all of a node that is offline: nothing old is shown as new.
  void drop_old_values();
  double host_value(const std::string& metric) const;
  /// Over the GPUs that have a value; NaN without any.
  double mean(const std::string& metric) const;
  double sum(const std::string& metric) const;
  double highest(const std::string& metric) const;
  /// "8 × NVIDIA H200".
  std::string gpu_text() const;
};

/// What stands in it was said by agents; here it is fit for a terminal.
NodeLine line_of(const NodeAnswer& node);

/// A GPU is silent when its node has newer values by more than this.
inline constexpr std::int64_t kGpuSilenceMs = 10'000;

Colour colour_of(AlertSeverity severity);
Colour colour_of(NodeState state);
/// Green when busy, dim when idle.
Colour colour_of_use(double ratio);
Colour colour_of_temperature(double celsius);
/// "87 %", "-" for NaN; and the like by unit.
std::string value_or_dash(double value, std::string_view unit);

/// A bar of `width` columns, filled by the ratio.
std::string bar(double ratio, std::size_t width, const TerminalStyle& style);

}  // namespace assay
