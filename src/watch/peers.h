#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "watch/gpu_track.h"
#include "watch/rule_view.h"

namespace assay {

/// Means over the busy GPUs of a node; NaN where nothing is busy or known.
struct PeerFigures {
  std::string_view model;
  bool simulated = false;
  double temperature = 0;
  double clock = 0;
  double power = 0;
  double capped = 0;  ///< share of the time at the power limit
};

PeerFigures figures_of(const NodeView& node, std::span<const GpuTrack> gpus);

/// Nodes with the same model of GPU, to be compared with each other. Simulated ones are kept apart.
class Peers {
 public:
  void add(const PeerFigures& node);
  /// Once, after the last node was added.
  void finish();

  /// How much hotter, in °C, and how much lower in clock, as a share, a node is than its peers. 0 where there is
  /// nothing to compare, or where the difference is within their usual spread or explained by power.
  double temperature_beyond(const PeerFigures& node) const;
  double clock_behind(const PeerFigures& node) const;

  static constexpr std::size_t kFewest = 5;

 private:
  struct Figure {
    std::vector<double> values;
    double median = 0;
    double spread = 0;  ///< robust standard deviation
    void add(double value);
    void finish();
  };
  struct Group {
    Figure temperature, clock, power;
  };
  const Group* group_of(const PeerFigures& node) const;

  std::unordered_map<std::string, Group> groups_;
};

}  // namespace assay
