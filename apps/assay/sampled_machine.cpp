#include "sampled_machine.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "launch/job.h"
#include "run_services.h"
#include "telemetry/lines/line_sampler.h"
#include "telemetry/metric_source.h"
#include "telemetry/procfs/procfs_source.h"

namespace assay {
namespace {

class LineWatch final : public MachineWatch {
 public:
  LineWatch(std::vector<LineSource> sources, LineSamplerOptions options)
      : sampler_(std::move(sources), std::move(options)) {}
  std::string take() override { return sampler_.take(); }
  std::string finish() override { return sampler_.finish(); }

 private:
  LineSampler sampler_;
};

/// The UUIDs of the GPUs that the job may use; absent: whatever this process sees. Numbers, as some queues hand them
/// out, say nothing: the queue has then to hide the other GPUs.
std::optional<std::vector<std::string>> gpus_of(const Job& job) {
  if (job.devices) return job.devices;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible) return std::nullopt;
  std::vector<std::string> gpus;
  if (trim(visible).empty()) return gpus;
  for (const auto word : split(visible, ',')) {
    const auto name = trim(word);
    if (!name.starts_with("GPU-") && !name.starts_with("MIG-")) return std::nullopt;
    gpus.emplace_back(name);
  }
  return gpus;
}

}  // namespace

std::unique_ptr<MachineWatch> watch_machine(const WatchedPart& part) {
  auto gpus = gpus_of(part.job);
  std::vector<LineSource> sources;
  for (auto& source : machine_sources(!gpus || !gpus->empty())) sources.push_back({.source = std::move(source)});
  std::int64_t rank = part.part.number * part.job.ranks.per_node;
  for (const auto process : part.processes) {
    // As everywhere, rank 0 is the one without a label.
    std::map<std::string, std::string> labels;
    if (rank > 0) labels["rank"] = std::to_string(rank);
    sources.push_back({.source = make_process_tree_source(process), .labels = std::move(labels)});
    ++rank;
  }
  return std::make_unique<LineWatch>(
      std::move(sources),
      LineSamplerOptions{
          .node = {.number = part.part.number, .of = part.part.of, .host = part.host, .began = SystemClock().wall()},
          .period = std::max<Nanos>(part.job.reading_period, std::chrono::milliseconds(10)),
          .gpus = std::move(gpus)});
}

}  // namespace assay
