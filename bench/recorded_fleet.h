#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fleet/fleet_recording.h"
#include "fleet/node_replay.h"

namespace assay::bench {

/// Nodes that play what was recorded on an H200, each GPU in a character of its own: the data of every benchmark here,
/// since constants and made-up curves compress as nothing real does.
class RecordedFleet {
 public:
  struct Options {
    std::size_t nodes = 100;
    std::size_t gpus = 10;     ///< 31 recorded series have a value every second: with the host's, 322 for each node
    std::size_t metrics = 31;  ///< of each GPU, the most frequent ones
    std::string recording;     ///< a file; empty: the one in the program
  };
  explicit RecordedFleet(const Options& options);

  std::size_t nodes() const { return replays_.size(); }
  /// Every series of a node, in the order of their numbers, with the label `node`.
  std::vector<SeriesName> names(std::size_t node) const;
  std::size_t series_per_node() const { return series_per_node_; }
  /// What the node reads at that second; numbers as in `names`.
  const std::vector<BatchSample>& read(std::size_t node, std::int64_t second, std::int64_t time_ns);

 private:
  std::shared_ptr<const FleetRecording> recording_;
  std::vector<NodeReplay> replays_;
  std::size_t series_per_node_ = 0;
  Batch batch_;
};

[[noreturn]] void fail(std::string_view message);

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) fail(result.error().text());
  return std::move(result).value();
}
inline void must(const Result<void>& result) {
  if (!result.ok()) fail(result.error().text());
}

}  // namespace assay::bench
