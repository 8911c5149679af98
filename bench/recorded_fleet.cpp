#include "recorded_fleet.h"

#include <fmt/format.h>

#include <cstdlib>

namespace assay::bench {

void fail(std::string_view message) {
  fmt::print(stderr, "{}\n", message);
  std::exit(2);
}

RecordedFleet::RecordedFleet(const Options& options) {
  const auto recorded = must(options.recording.empty() ? built_in_recording() : load_recording(options.recording));
  recording_ = must(FleetRecording::make(recorded, {.gpus = options.gpus, .metrics = options.metrics}));
  for (std::size_t node = 0; node < options.nodes; ++node) {
    replays_.emplace_back(recording_, node, std::span<const FleetFault>(), Nanos::zero());
  }
  series_per_node_ = names(0).size();
}

std::vector<SeriesName> RecordedFleet::names(std::size_t node) const {
  auto names = replays_[node].names();
  for (auto& name : names) name.key.labels["node"] = fmt::format("node{:04}", node);
  return names;
}

const std::vector<BatchSample>& RecordedFleet::read(std::size_t node, std::int64_t second, std::int64_t time_ns) {
  batch_.samples.clear();
  batch_.events.clear();
  replays_[node].read(std::chrono::seconds(second), WallTime(Nanos(time_ns)), batch_);
  return batch_.samples;
}

}  // namespace assay::bench
