#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cluster_view.h"

namespace assay {

/// The cluster as the live stream tells it: a snapshot, then what is new. One thread.
class TopModel {
 public:
  /// What the stream does not say: the GPUs of each node, from GET /api/v1/nodes.
  void set_nodes(const NodeList& list);
  void set_open_alerts(const AlertList& list);
  /// Takes the data of a `snapshot` or `delta` event. `snapshot`: forgets what was known of series.
  Result<void> apply(std::string_view data, bool snapshot);

  /// Since the last call of `set_nodes` a node has come, or one has other GPUs.
  bool nodes_are_stale() const { return stale_; }
  /// By name.
  std::vector<NodeLine> lines() const;
  std::size_t open_alerts() const { return alerts_.size(); }
  struct AlertLine {
    AlertSeverity severity = AlertSeverity::info;
    std::string what;
    std::int64_t since_ms = 0;
  };
  /// The gravest first, of those the newest; what is for information only is left to `assay alerts`.
  std::vector<AlertLine> alert_lines() const;
  std::int64_t time_ms() const { return time_ms_; }

 private:
  struct Place {
    std::string node;
    std::string gpu;  ///< empty: of the host
    std::string metric;
  };
  struct OpenAlert {
    std::string node;
    AlertSeverity severity = AlertSeverity::info;
    std::string what;
    WallTime since;
  };
  void take_alert(const Alert& alert);
  void take_series(const LiveSeries& series);
  void take_node(const LiveNode& node);
  void take_value(const Place& place, std::int64_t time_ms, double value);

  std::map<std::string, NodeLine> nodes_;
  std::unordered_map<std::uint64_t, Place> places_;
  std::map<std::string, OpenAlert> alerts_;
  std::int64_t time_ms_ = 0;
  bool stale_ = true;
};

}  // namespace assay
