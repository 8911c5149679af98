// How fast telemetry is stored and read back: a cluster of N nodes with 8 GPUs and 40 metrics each, one reading a
// second, handed over node by node as the leader gets it. Then a day of 1,000 series, for the queries of a dashboard.
//
//   bench_series_store [--nodes 100] [--seconds 1100] [--folder DIR]

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/files.h"
#include "store/series/series_store.h"

namespace {

using namespace assay;

constexpr std::int64_t kStart = 1'767'225'600 * kSecondNs;
constexpr int kGpus = 8;
constexpr int kMetrics = 40;
constexpr double kGoalRate = 320'000;
constexpr double kGoalMemory = 1e9;
constexpr double kGoalDayMs = 5;
constexpr double kGoalFleetMs = 150;

/// A small generator: the benchmark must not measure its own dice.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

/// One sensor: a slow wave, a random walk and noise, at the resolution that drivers report.
class Sensor {
 public:
  Sensor(int kind, std::uint64_t seed) : kind_(kind % 5), dice_(seed), phase_(dice_.between(0, 3599)) {}

  double read(std::int64_t second) {
    walk_ = std::clamp<std::int64_t>(walk_ + dice_.between(-1, 1), -20, 20);
    const auto wave = std::sin(static_cast<double>((second + phase_) % 3600) * (2 * M_PI / 3600));
    switch (kind_) {
      case 0: return std::round(60 + 12 * wave + static_cast<double>(walk_) / 8);  // °C
      case 1:
        return std::round(4200 + 1500 * wave + static_cast<double>(walk_ * 10 + dice_.between(-80, 80))) / 10;      // W
      case 2: return static_cast<double>(std::clamp<std::int64_t>(88 + walk_ / 2 + dice_.between(-4, 4), 0, 100));  // %
      case 3: {
        const std::int64_t steps_down = std::abs(walk_) / 3;
        return static_cast<double>(1'980 - 15 * steps_down);  // MHz
      }
      default: return static_cast<double>((40'000 + walk_ * 7) * 2'097'152);  // bytes
    }
  }

 private:
  int kind_;
  Dice dice_;
  std::int64_t phase_;
  std::int64_t walk_ = 0;
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_bytes() {
  const auto text = read_file("/proc/self/statm").value_or("0 0");
  return std::strtod(text.substr(text.find(' ')).c_str(), nullptr) * 4096;
}

double folder_bytes(const fs::path& folder, std::string_view prefix) {
  double bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(prefix)) bytes += static_cast<double>(entry.file_size());
  }
  return bytes;
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    fmt::print(stderr, "{}\n", result.error().text());
    std::exit(1);
  }
  return std::move(result).value();
}

void must(const Result<void>& result) {
  if (result.ok()) return;
  fmt::print(stderr, "{}\n", result.error().text());
  std::exit(1);
}

struct Fleet {
  std::vector<SeriesId> ids;
  std::vector<Sensor> sensors;
};

Fleet make_fleet(SeriesStore& store, int nodes, int gpus, int metrics) {
  Fleet fleet;
  for (int node = 0; node < nodes; ++node) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      for (int metric = 0; metric < metrics; ++metric) {
        const SeriesKey key{
            fmt::format("gpu.metric_{}", metric),
            {{"node", fmt::format("node{:04}", node)}, {"gpu", fmt::format("GPU-{:04}-{}", node, gpu)}}};
        fleet.ids.push_back(must(store.intern(key, "1")));
        fleet.sensors.emplace_back(metric, fleet.ids.size());
      }
    }
  }
  return fleet;
}

/// The CPU time that storing took, without that of making the data.
double ingest(SeriesStore& store, Fleet& fleet, std::int64_t from_second, std::int64_t seconds, std::size_t batch) {
  double used = 0;
  std::vector<SeriesSample> samples(fleet.ids.size());
  for (std::int64_t second = from_second; second < from_second + seconds; ++second) {
    const auto time = kStart + second * kSecondNs;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i] = {fleet.ids[i], time, fleet.sensors[i].read(second)};
    }
    const auto before = cpu_seconds();
    for (std::size_t at = 0; at < samples.size(); at += batch) {
      must(store.append(std::span(samples).subspan(at, std::min(batch, samples.size() - at))));
    }
    must(store.maintain(WallTime(Nanos(time))));
    used += cpu_seconds() - before;
  }
  return used;
}

/// CPU time: on a shared machine the clock on the wall measures the neighbours.
double median_ms(int rounds, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto start = cpu_seconds();
    work();
    times.push_back((cpu_seconds() - start) * 1e3);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

bool report(std::string_view what, double value, std::string_view unit, double goal, bool less_is_better) {
  const bool met = less_is_better ? value <= goal : value >= goal;
  fmt::print("  {:<34}{:>12.1f} {:<14} goal {:>10.1f}   {}\n", what, value, unit, goal, met ? "met" : "MISSED");
  return met;
}

bool measure_ingest(const fs::path& folder, int nodes, std::int64_t seconds) {
  const double before = resident_bytes();
  auto store = must(SeriesStore::open(folder));
  auto fleet = make_fleet(store, nodes, kGpus, kMetrics);
  const auto series = static_cast<double>(fleet.ids.size());
  const double cpu = ingest(store, fleet, 0, seconds, kGpus * kMetrics);
  const double samples = series * static_cast<double>(seconds);
  const double memory = resident_bytes() - before - static_cast<double>(fleet.sensors.size() * sizeof(Sensor));
  fmt::print("ingest: {} series, {} s at 1 Hz, {:.1f} M samples\n", fleet.ids.size(), seconds, samples / 1e6);
  bool met = report("samples per second of CPU", samples / cpu, "1/s", kGoalRate, false);
  fmt::print("  {:<34}{:>12.1f} %\n", "of one core at 320,000 samples/s", 100 * kGoalRate * cpu / samples);
  met &= report("memory at 320,000 series", memory / series * 320'000 / 1e6, "MB", kGoalMemory / 1e6, true);
  fmt::print("  {:<34}{:>12.1f} MB, {} files\n", "head log", folder_bytes(folder, "head-") / 1e6,
             store.stats().log_files);
  must(store.flush());
  must(store.maintain(WallTime(Nanos(kStart + seconds * kSecondNs))));
  fmt::print("  {:<34}{:>12.2f} bytes, roll-ups included\n", "on disk per sample",
             folder_bytes(folder, "series.db") / samples);
  return met;
}

bool measure_queries(const fs::path& folder) {
  auto store = must(SeriesStore::open(folder));
  auto fleet = make_fleet(store, 25, 8, 5);
  constexpr std::int64_t kDay = 86'400;
  ingest(store, fleet, 0, kDay, 1000);
  fmt::print("queries: a day of {} series\n", fleet.ids.size());
  fmt::print("  {:<34}{:>12.2f} bytes, roll-ups included\n", "on disk per sample",
             folder_bytes(folder, "series.db") / static_cast<double>(fleet.ids.size() * kDay));
  const TimeRange day{kStart, kStart + kDay * kSecondNs};
  std::size_t next = 0;
  bool met = report("24 h of one series, raw",
                    median_ms(50,
                              [&] {
                                const auto id = fleet.ids[++next * 7 % fleet.ids.size()];
                                const auto points = must(store.points(id, day, 100'000));
                                ASSAY_ASSERT(points.points.size() == kDay);
                              }),
                    "ms", kGoalDayMs, true);
  met &= report("1,000 series × 24 h → 500 buckets",
                median_ms(9,
                          [&] {
                            const auto answer = must(store.query({.range = day}));
                            ASSAY_ASSERT(answer.rows.size() == fleet.ids.size());
                          }),
                "ms", kGoalFleetMs, true);
  return met;
}

}  // namespace

int main(int argc, char** argv) {
  int nodes = 100;
  std::int64_t seconds = 1100;
  std::optional<fs::path> folder;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--nodes") nodes = std::atoi(argv[i + 1]);
    if (option == "--seconds") seconds = std::atoll(argv[i + 1]);
    if (option == "--folder") folder = argv[i + 1];
  }
  const TemporaryFolder temporary;
  const auto place = folder.value_or(temporary.path());
  const bool fast = measure_ingest(place / "ingest", nodes, seconds);
  const bool quick = measure_queries(place / "queries");
  return fast && quick ? 0 : 1;
}
