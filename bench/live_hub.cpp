// What it costs a leader to tell its live clients what is new: 100 of them who watch a cluster of 200 nodes with 8 GPUs
// each, beside one who does.
//
//   bench_live_hub [CLIENTS [NODES]]
//
// Every node has 8 x 31 + 20 series and a reading of all of them each second; five ticks a second tell of a fifth of
// the nodes each. CPU time of the ticks alone: what the sockets cost is bench_http_server's. Rounds alternate between
// many and one, since shared machines drift. Promise: many cost at most twice as much as one.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "leader/live_hub.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "net/response_stream.h"
#include "protocol/batch.h"
#include "protocol/hello.h"
#include "store/memory/cluster_memory.h"

namespace {

using namespace assay;

constexpr int kGpus = 8;
constexpr int kGpuMetrics = 31;
constexpr int kHostMetrics = 20;
constexpr int kTicks = 5;  // a second
constexpr int kRounds = 7;
constexpr double kGoal = 2;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Cluster {
 public:
  explicit Cluster(int nodes) : registry_(NodeRegistry::load(table_.nodes(), clock_).value()) {
    SeriesId id = 0;
    for (int number = 0; number < nodes; ++number) {
      auto node = registry_->find_or_make(fmt::format("gpu{:04}", number)).value();
      node->say_hello({.stream = "s"}, {.at = clock_.now(), .wall = clock_.wall()});
      std::vector<std::optional<SeriesInfo>> series;
      for (int metric = 0; metric < kHostMetrics; ++metric) {
        series.push_back(
            SeriesInfo{.id = ++id, .key = {.name = fmt::format("host.metric_{}", metric)}, .unit = "ratio"});
      }
      for (int gpu = 0; gpu < kGpus; ++gpu) {
        for (int metric = 0; metric < kGpuMetrics; ++metric) {
          SeriesKey key{.name = fmt::format("gpu.metric_{}", metric)};
          key.labels["gpu"] = fmt::format("GPU-6a1f4c1e-{:04}-0000-0000-{:012}", gpu, number);
          series.push_back(SeriesInfo{.id = ++id, .key = std::move(key), .unit = "W"});
        }
      }
      node->name_series("s", series);
      nodes_.push_back(std::move(node));
    }
  }
  /// A reading of every node whose turn it is.
  void read(int tick) {
    clock_.advance(std::chrono::milliseconds(1000 / kTicks));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (static_cast<int>(i % kTicks) != tick % kTicks) continue;
      Batch batch{.stream = "s", .sequence = ++sequence_};
      const auto count = static_cast<std::uint32_t>(nodes_[i]->series_count());
      for (std::uint32_t series = 0; series < count; ++series) {
        batch.samples.push_back({.series = series,
                                 .time_ns = clock_.wall().time_since_epoch().count(),
                                 .value = static_cast<double>((sequence_ * 31 + series * 7) % 5000) / 10});
      }
      nodes_[i]->heard({.at = clock_.now(), .wall = clock_.wall()}, std::nullopt);
      nodes_[i]->remember(batch);
    }
  }
  const NodeRegistry& registry() const { return *registry_; }
  const ManualClock& clock() const { return clock_; }

 private:
  ManualClock clock_;
  ClusterMemory table_;
  std::unique_ptr<NodeRegistry> registry_;
  std::vector<std::shared_ptr<Node>> nodes_;
  std::uint64_t sequence_ = 0;
};

/// Who watches the cluster, and takes at once what there is.
class Watchers {
 public:
  Watchers(const Cluster& cluster, int clients) : hub_(cluster.registry(), cluster.clock()) {
    for (int i = 0; i < clients; ++i) {
      streams_.push_back(hub_.subscribe({}, {.name = fmt::format("viewer{}", i / 10)}).value());
    }
  }
  double tick() {
    const double before = cpu_seconds();
    hub_.tick();
    const double used = cpu_seconds() - before;
    bytes_ = 0;
    for (const auto& stream : streams_) {
      std::vector<ResponseStream::Piece> pieces;
      stream.stream()->take(pieces);
      for (const auto& piece : pieces) bytes_ += piece->size();
    }
    return used;
  }
  std::size_t bytes() const { return bytes_; }  ///< of the last tick
  std::size_t clients() const { return hub_.clients(); }

 private:
  LiveHub hub_;
  std::vector<EventStream> streams_;
  std::size_t bytes_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int clients = argc > 1 ? std::max(1, std::atoi(argv[1])) : 100;
  const int nodes = argc > 2 ? std::max(kTicks, std::atoi(argv[2])) : 200;
  Cluster cluster(nodes);
  for (int tick = 0; tick < kTicks; ++tick) cluster.read(tick);
  Watchers one(cluster, 1), many(cluster, clients);
  // Until everybody has heard of everything.
  for (int tick = 0; tick < 20 * kTicks; ++tick) {
    cluster.read(tick);
    one.tick();
    many.tick();
  }
  std::vector<double> of_one, of_many;
  for (int round = 0; round < kRounds; ++round) {
    double one_s = 0, many_s = 0;
    for (int tick = 0; tick < kTicks; ++tick) {
      cluster.read(tick);
      one_s += one.tick();
      many_s += many.tick();
    }
    of_one.push_back(one_s);
    of_many.push_back(many_s);
  }
  const double ratio = median(of_many) / median(of_one);
  fmt::print("live hub: {} nodes x {} GPUs, {} series, {} bytes a tick and client\n", nodes, kGpus,
             nodes * (kGpus * kGpuMetrics + kHostMetrics), one.bytes());
  fmt::print("  one client     {:8.1f} % of a core\n", 100 * median(of_one));
  fmt::print("  {:4} clients   {:8.1f} % of a core, {:.2f} times as much   goal {:.0f}\n", many.clients(),
             100 * median(of_many), ratio, kGoal);
  return many.clients() == static_cast<std::size_t>(clients) && one.bytes() * many.clients() == many.bytes() &&
                 ratio <= kGoal
             ? 0
             : 1;
}
