#pragma once

#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/units.h"

namespace assay {

struct GpuOffer {
  std::string uuid;
  std::string model;
  Bytes memory{};
  int link_group = 0;  ///< GPUs with the same number are linked with each other
  auto operator<=>(const GpuOffer&) const = default;
};

/// A node that takes jobs.
struct NodeOffer {
  std::string name;
  std::vector<GpuOffer> gpus;      ///< at most `kMostGpusOfNode`; none: it takes jobs that need none
  double speed = 1;                ///< of its GPUs beside others: a job of 100 s takes 50 s where this is 2; > 0
  std::string rack;                ///< nodes that talk to each other fastest
  std::vector<std::string> holds;  ///< data that need not be fetched
  std::string closed;  ///< why it takes no further job ("is draining"); what runs there goes on; empty: it does
  /// No job may run then: the next maintenance.
  std::optional<std::pair<WallTime, WallTime>> maintenance;
};

/// The free GPUs of a node are the bits of one word.
inline constexpr std::size_t kMostGpusOfNode = 64;

/// GPUs of one node that a job gets.
struct NodeShare {
  std::string node;
  std::vector<std::string> gpus;  ///< UUIDs, in the order of the node's offer
  bool operator==(const NodeShare&) const = default;
};

/// Where a job runs: all of it at once or not at all.
struct JobPlacement {
  std::string job;
  std::vector<NodeShare> shares;
  bool operator==(const JobPlacement&) const = default;
};

}  // namespace assay
