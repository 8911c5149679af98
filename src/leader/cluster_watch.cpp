#include "leader/cluster_watch.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/node_status.h"
#include "model/node_state.h"
#include "model/series.h"
#include "telemetry/devices.h"

namespace assay {
namespace {

/// Of the host: what feeds which field of the view.
void put_host_value(NodeView& view, double& available, const SeriesKey& key, double value) {
  if (key.name == "host.memory_used_bytes") {
    view.memory_used_bytes = value;
  } else if (key.name == "host.memory_available_bytes") {
    available = value;
  } else if (key.name == "host.filesystem_used_bytes" || key.name == "host.filesystem_available_bytes") {
    const auto mount = key.labels.find("mount");
    if (mount == key.labels.end()) return;
    auto found = std::find_if(view.file_systems.begin(), view.file_systems.end(),
                              [&](const FileSystemView& known) { return known.mount == mount->second; });
    if (found == view.file_systems.end()) {
      found = view.file_systems.insert(view.file_systems.end(), FileSystemView{.mount = mount->second});
    }
    (key.name == "host.filesystem_used_bytes" ? found->used_bytes : found->available_bytes) = value;
  }
}

std::vector<GpuView> gpus_of(const NodeStatus& status) {
  std::vector<GpuView> gpus;
  for (const auto& device : status.record.devices) {
    GpuView gpu{.uuid = device.id};
    if (const auto name = device.facts.find("name"); name != device.facts.end()) gpu.model = name->second;
    if (const auto index = device.facts.find("index"); index != device.facts.end()) {
      std::from_chars(index->second.data(), index->second.data() + index->second.size(), gpu.index);
    }
    gpus.push_back(std::move(gpu));
  }
  if (!status.processes) return gpus;
  for (auto& gpu : gpus) {
    gpu.processes = static_cast<int>(std::count_if(status.processes->begin(), status.processes->end(),
                                                   [&](const GpuProcess& process) { return process.gpu == gpu.uuid; }));
  }
  return gpus;
}

}  // namespace

ClusterView view_of(const NodeRegistry& registry, const Clock& clock) {
  const SteadyTime now = clock.now();
  ClusterView cluster;
  for (const auto& node : registry.all()) {
    const NodeStatus status = node->status(now);
    NodeView view{.name = status.record.name,
                  .state = status.state,
                  .last_seen = status.record.last_seen,
                  .clock_skew_s = status.clock_skew_s,
                  .simulated = status.record.simulated,
                  .draining = status.record.draining,
                  .drain_reason = status.record.drain_reason,
                  .gpus = gpus_of(status)};
    std::map<std::string_view, GpuView*> by_id;
    for (auto& gpu : view.gpus) by_id[gpu.uuid] = &gpu;
    // By the clock that the values were read with.
    const std::int64_t oldest = (status.own_time(clock.wall()) - kStaleAfter).time_since_epoch().count();
    double available = std::numeric_limits<double>::quiet_NaN();
    node->for_each_value(0, [&](const LiveValue& live) {
      if (live.time_ns < oldest) return;
      const SeriesKey& key = live.series.key;
      if (!live.gpu_field) {
        if (key.name.starts_with("host.")) put_host_value(view, available, key, live.value);
        return;
      }
      const auto label = key.labels.find("gpu");
      const auto gpu = label == key.labels.end() ? by_id.end() : by_id.find(label->second);
      if (gpu != by_id.end()) gpu->second->put(*live.gpu_field, live.value);
    });
    view.memory_total_bytes = view.memory_used_bytes + available;
    cluster.nodes.push_back(std::move(view));
  }
  return cluster;
}

}  // namespace assay
