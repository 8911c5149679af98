// How fast telemetry is stored and read back, and how small it is: a cluster whose GPUs do what an H200 was recorded to
// do, handed over node by node and second by second, as the leader gets it. Then a day of 1,000 series, for the queries
// of a dashboard. The recording is four minutes long and played again and again, which compresses better than life
// does: the size that counts is that of one pass. Where VictoriaMetrics is installed, the same data and questions go to
// it as well (--peer no: not).
//
//   bench_series_store [--nodes 100] [--seconds 600] [--recording FILE] [--folder DIR] [--peer yes]

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "bytes/point_chunk.h"
#include "net/url_text.h"
#include "recorded_fleet.h"
#include "store/bucket_answer.h"
#include "store/series/embedded_series_store.h"
#include "victoria.h"

namespace {

using namespace assay;
using namespace assay::bench;

constexpr double kGoalRate = 320'000;
constexpr double kGoalMemory = 1e9;
constexpr double kGoalBytes = 1;
constexpr double kGoalDayMs = 5;
constexpr double kGoalFleetMs = 150;
constexpr std::int64_t kDay = 86'400;

struct Options {
  std::size_t nodes = 100;
  std::int64_t seconds = 600;
  std::string recording;
  std::optional<fs::path> folder;
  bool peer = true;
};

/// What is on the disk for good: the store must be closed, so that SQLite's own log is in it.
double stored_bytes(const fs::path& folder) { return static_cast<double>(fs::file_size(folder / "series.db")); }

bool report(std::string_view what, double value, std::string_view unit, double goal, bool less_is_better) {
  const bool met = less_is_better ? value <= goal : value >= goal;
  fmt::print("  {:<36}{:>12.2f} {:<8} goal {:>10.1f}   {}\n", what, value, unit, goal, met ? "met" : "MISSED");
  return met;
}
void note(std::string_view what, double value, std::string_view unit) {
  fmt::print("  {:<36}{:>12.2f} {}\n", what, value, unit);
}

/// A grid of whole seconds that ends about now: stores refuse what is too old, or from the future.
std::int64_t start_ns(std::int64_t seconds) {
  const auto now = SystemClock().wall().time_since_epoch().count();
  return (now / kHourNs - seconds / 3600 - 2) * kHourNs;
}

struct Ids {
  std::vector<std::vector<SeriesId>> of_node;
};

Ids intern_all(SeriesStore& store, const RecordedFleet& fleet) {
  Ids ids;
  for (std::size_t node = 0; node < fleet.nodes(); ++node) {
    auto& numbers = ids.of_node.emplace_back();
    for (const auto& name : fleet.names(node)) numbers.push_back(must(store.intern(name.key, name.unit)));
  }
  return ids;
}

struct Ingested {
  double cpu = 0;  ///< seconds, of storing alone
  double samples = 0;
};

Ingested ingest(SeriesStore& store, RecordedFleet& fleet, const Ids& ids, std::int64_t from_ns, std::int64_t seconds) {
  Ingested ingested;
  std::vector<std::vector<SeriesSample>> batches(fleet.nodes());
  for (std::int64_t second = 0; second < seconds; ++second) {
    const std::int64_t time = from_ns + second * kSecondNs;
    for (std::size_t node = 0; node < fleet.nodes(); ++node) {
      batches[node].clear();
      for (const auto& sample : fleet.read(node, second, time)) {
        batches[node].push_back({ids.of_node[node][sample.series], sample.time_ns, sample.value});
      }
      ingested.samples += static_cast<double>(batches[node].size());
    }
    timespec before{}, after{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (const auto& batch : batches) must(store.append(batch));
    must(store.maintain(WallTime(Nanos(time))));
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    ingested.cpu +=
        static_cast<double>(after.tv_sec - before.tv_sec) + static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
  }
  return ingested;
}

/// Chunks of what was recorded, each value once: nothing repeats.
bool measure_one_pass(const Options& options) {
  const auto recording = must(options.recording.empty() ? built_in_recording() : load_recording(options.recording));
  double bytes = 0, samples = 0, varying_bytes = 0, varying_samples = 0;
  for (const auto& series : recording.series) {
    // What is read once in a minute does not fill a chunk in so short a time.
    if (series.values.size() < 100) continue;
    std::vector<SeriesPoint> points;
    for (std::size_t i = 0; i < std::min(series.values.size(), kChunkPoints); ++i) {
      points.push_back({.time_ns = series.times_ns[i], .value = series.values[i]});
    }
    std::string chunk;
    encode_chunk(points, chunk);
    bytes += static_cast<double>(chunk.size());
    samples += static_cast<double>(points.size());
    const bool varies =
        std::any_of(points.begin(), points.end(), [&](const auto& p) { return p.value != points[0].value; });
    if (varies) varying_bytes += static_cast<double>(chunk.size());
    if (varies) varying_samples += static_cast<double>(points.size());
  }
  fmt::print("one pass of the recording, {:.0f} samples, chunks alone\n", samples);
  const bool met = report("all series", bytes / samples, "B/sample", kGoalBytes, true);
  note("those that are not constant", varying_bytes / varying_samples, "B/sample");
  return met;
}

bool measure_ingest(const fs::path& folder, const Options& options) {
  RecordedFleet fleet({.nodes = options.nodes, .recording = options.recording});
  const double before = resident_bytes_of(::getpid());
  auto store = must(open_series_store(folder));
  const Ids ids = intern_all(*store, fleet);
  const std::int64_t from = start_ns(options.seconds);
  const Ingested ingested = ingest(*store, fleet, ids, from, options.seconds);
  const auto series = static_cast<double>(fleet.nodes() * fleet.series_per_node());
  const double memory = resident_bytes_of(::getpid()) - before;
  fmt::print("ingest: {:.0f} series of {} nodes, {} s at 1 Hz, {:.1f} M samples\n", series, fleet.nodes(),
             options.seconds, ingested.samples / 1e6);
  bool met = report("samples per second of CPU", ingested.samples / ingested.cpu, "1/s", kGoalRate, false);
  note("of one core at 320,000 samples/s", 100 * kGoalRate * ingested.cpu / ingested.samples, "%");
  met &= report("memory at 320,000 series", memory / series * 320'000 / 1e6, "MB", kGoalMemory / 1e6, true);
  must(store->flush());
  store.reset();
  note("on disk, of so short a time", stored_bytes(folder) / ingested.samples, "B/sample");
  return met;
}

void measure_peer_ingest(const fs::path& folder, const Options& options) {
  const auto victoria = Victoria::start(folder);
  if (!victoria) {
    fmt::print("peer: VictoriaMetrics is not installed here\n");
    return;
  }
  RecordedFleet fleet({.nodes = options.nodes, .recording = options.recording});
  std::vector<std::vector<std::string>> labels;
  for (std::size_t node = 0; node < fleet.nodes(); ++node) labels.push_back(victoria->encode_labels(fleet.names(node)));
  const std::int64_t from = start_ns(options.seconds);
  const double before = victoria->cpu_seconds();
  double samples = 0;
  for (std::int64_t second = 0; second < options.seconds; ++second) {
    for (std::size_t node = 0; node < fleet.nodes(); ++node) {
      const auto& read = fleet.read(node, second, from + second * kSecondNs);
      samples += static_cast<double>(read.size());
      victoria->write(labels[node], read);
    }
  }
  const double cpu = victoria->cpu_seconds() - before;
  const double memory = victoria->resident_bytes();
  victoria->flush();
  fmt::print("peer: VictoriaMetrics, the same data by remote write, HTTP included\n");
  note("samples per second of CPU", samples / cpu, "1/s");
  note("of one core at 320,000 samples/s", 100 * kGoalRate * cpu / samples, "%");
  note("resident", memory / 1e6, "MB");
  note("on disk", victoria->folder_bytes() / samples, "B/sample");
}

/// CPU time: on a shared machine the clock on the wall measures the neighbours.
double median_ms(int rounds, const std::function<double()>& cpu_used, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const double start = cpu_used();
    work();
    times.push_back((cpu_used() - start) * 1e3);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double fine_own_cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// 5 nodes × 8 GPUs × 25 metrics.
RecordedFleet thousand_series(const Options& options) {
  return RecordedFleet({.nodes = 5, .gpus = 8, .metrics = 25, .recording = options.recording});
}

bool measure_queries(const fs::path& folder, const Options& options) {
  auto written = must(open_series_store(folder));
  RecordedFleet fleet = thousand_series(options);
  const std::int64_t from = start_ns(kDay);
  const Ingested ingested = ingest(*written, fleet, intern_all(*written, fleet), from, kDay);
  must(written->flush());
  written.reset();
  fmt::print("queries: a day of {} series\n", fleet.nodes() * fleet.series_per_node());
  bool met =
      report("on disk, roll-ups included", stored_bytes(folder) / ingested.samples, "B/sample", kGoalBytes, true);
  const auto store = must(open_series_store(folder));
  const Ids ids = intern_all(*store, fleet);
  const TimeRange day{from, from + kDay * kSecondNs};
  std::size_t next = 0;
  met &= report("24 h of one series, raw",
                median_ms(50, fine_own_cpu,
                          [&] {
                            const auto& of_node = ids.of_node[next % ids.of_node.size()];
                            const auto points = must(store->points(of_node[next * 7 % of_node.size()], day, 100'000));
                            if (points.points.size() < kDay / 2) fail("points are missing");
                            ++next;
                          }),
                "ms", kGoalDayMs, true);
  met &= report("1,000 series × 24 h → 500 buckets",
                median_ms(9, fine_own_cpu,
                          [&] {
                            const auto answer = must(store->query({.range = day}));
                            if (answer.rows.size() != fleet.nodes() * fleet.series_per_node()) fail("rows are missing");
                          }),
                "ms", kGoalFleetMs, true);
  return met;
}

void measure_peer_queries(const fs::path& folder, const Options& options) {
  const auto victoria = Victoria::start(folder);
  if (!victoria) return;
  RecordedFleet fleet = thousand_series(options);
  std::vector<std::vector<std::string>> labels;
  for (std::size_t node = 0; node < fleet.nodes(); ++node) labels.push_back(victoria->encode_labels(fleet.names(node)));
  const std::int64_t from = start_ns(kDay);
  double samples = 0;
  for (std::int64_t second = 0; second < kDay; ++second) {
    for (std::size_t node = 0; node < fleet.nodes(); ++node) {
      const auto& read = fleet.read(node, second, from + second * kSecondNs);
      samples += static_cast<double>(read.size());
      victoria->write(labels[node], read);
    }
  }
  victoria->flush();
  const std::int64_t start = from / kSecondNs;
  const auto cpu = [&] { return victoria->cpu_seconds(); };
  std::string one;
  for (const auto& name : fleet.names(0)) {
    if (name.key.name == "gpu.util") one = name.key.labels.at("gpu");
  }
  fmt::print("peer: VictoriaMetrics, the same day (CPU counted in hundredths of a second)\n");
  note("on disk", victoria->folder_bytes() / samples, "B/sample");
  note("24 h of one series, raw",
       median_ms(9, cpu,
                 [&] {
                   victoria->get(fmt::format("/api/v1/export?match[]={}&start={}&end={}",
                                             percent_encode(fmt::format("gpu_util{{gpu=\"{}\"}}", one)), start,
                                             start + kDay));
                 }),
       "ms");
  note("1,000 series × 24 h → 480 buckets",
       median_ms(5, cpu,
                 [&] {
                   victoria->get(fmt::format("/api/v1/query_range?query={}&start={}&end={}&step=180&nocache=1",
                                             percent_encode("avg_over_time({__name__=~\"gpu_.+\"}[180s])"), start,
                                             start + kDay - 1));
                 }),
       "ms, the mean alone");
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--nodes") options.nodes = static_cast<std::size_t>(std::atoi(argv[i + 1]));
    if (option == "--seconds") options.seconds = std::atoll(argv[i + 1]);
    if (option == "--recording") options.recording = argv[i + 1];
    if (option == "--folder") options.folder = argv[i + 1];
    if (option == "--peer") options.peer = std::string_view(argv[i + 1]) == "yes";
  }
  const TemporaryFolder temporary;
  const auto place = options.folder.value_or(temporary.path());
  const bool small = measure_one_pass(options);
  const bool fast = measure_ingest(place / "ingest", options);
  if (options.peer) measure_peer_ingest(place / "victoria-ingest", options);
  const bool quick = measure_queries(place / "queries", options);
  if (options.peer) measure_peer_queries(place / "victoria-queries", options);
  return small && fast && quick ? 0 : 1;
}
