#include "fleet/fleet_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "bytes/scaled.h"

namespace assay {
namespace {

bool is_of_gpu(const SeriesKey& key) { return key.name.starts_with("gpu.") && key.labels.contains("gpu"); }

/// The GPUs of the recording: those that were noted, then those that only series tell of.
std::vector<DeviceFacts> recorded_gpus(const Recording& recorded) {
  std::vector<DeviceFacts> gpus = recorded.devices;
  for (const auto& series : recorded.series) {
    if (!is_of_gpu(series.key)) continue;
    const std::string& id = series.key.labels.at("gpu");
    if (std::ranges::none_of(gpus, [&](const DeviceFacts& gpu) { return gpu.id == id; })) gpus.push_back({id, {}});
  }
  return gpus;
}

/// What only ever rises on a real GPU. Played from its middle on it would fall where the recording ends.
bool is_counter(std::string_view metric) {
  static constexpr std::array<std::string_view, 8> kCounters = {
      "gpu.energy_total_j",          "gpu.power_violation_seconds",   "gpu.thermal_violation_seconds",
      "gpu.ecc_corrected",           "gpu.ecc_uncorrected",           "gpu.pcie_replays",
      "gpu.remapped_rows_corrected", "gpu.remapped_rows_uncorrected",
  };
  return std::ranges::find(kCounters, metric) != kCounters.end();
}

/// Makes the recording of one node out of what was recorded of fewer or more GPUs.
class NodeRecordingMaker {
 public:
  NodeRecordingMaker(const Recording& recorded, std::vector<DeviceFacts> gpus)
      : recorded_(recorded), gpus_(std::move(gpus)) {}

  /// How many a node will have.
  std::size_t series(const FleetRecordingOptions& options) const {
    const auto of_host = std::ranges::count_if(recorded_.series, [](const auto& one) { return !is_of_gpu(one.key); });
    auto total = static_cast<std::size_t>(of_host);
    std::vector<std::size_t> of_gpus;
    of_gpus.reserve(gpus_.size());
    for (const auto& gpu : gpus_) of_gpus.push_back(series_of(gpu.id, options.metrics).size());
    for (std::size_t gpu = 0; gpu < options.gpus; ++gpu) total += of_gpus[gpu % gpus_.size()];
    return total;
  }

  Recording make(const FleetRecordingOptions& options) const {
    Recording node{.first_ns = recorded_.first_ns, .last_ns = recorded_.last_ns, .period_ns = recorded_.period_ns};
    for (const auto& series : recorded_.series) {
      if (!is_of_gpu(series.key)) node.series.push_back(series);
    }
    for (std::size_t gpu = 0; gpu < options.gpus; ++gpu) add_gpu(node, gpu, options.metrics);
    for (const auto& event : recorded_.events) {
      // What happened to a GPU happens to that one, not to its copies.
      if (is_kept(event.about, node.devices)) node.events.push_back(event);
    }
    return node;
  }

 private:
  bool is_kept(const std::string& about, const std::vector<DeviceFacts>& kept) const {
    const auto is_it = [&](const DeviceFacts& gpu) { return gpu.id == about; };
    return std::ranges::none_of(gpus_, is_it) || std::ranges::any_of(kept, is_it);
  }

  void add_gpu(Recording& node, std::size_t number, const std::optional<std::size_t>& metrics) const {
    const DeviceFacts& recorded = gpus_[number % gpus_.size()];
    DeviceFacts device = recorded;
    const bool is_copy = number >= gpus_.size();
    if (is_copy) {
      device.id += fmt::format("/{}", number);
      device.facts["pci_bus_id"] = fmt::format("{:08X}:{:02X}:00.0", 1 + number / 256, number % 256);
    }
    device.facts["index"] = std::to_string(number);
    for (const RecordedSeries* series : series_of(recorded.id, metrics)) {
      node.series.push_back(*series);
      RecordedSeries& copy = node.series.back();
      copy.key.labels["gpu"] = device.id;
      // All but the counters by the same part of the recording: memory must fit utilisation, power temperature.
      if (is_copy && !is_counter(copy.key.name)) shift(copy.values, number);
    }
    node.devices.push_back(std::move(device));
  }

  /// In the order of the recording; where there are too many, those that were recorded most often.
  std::vector<const RecordedSeries*> series_of(const std::string& gpu, const std::optional<std::size_t>& limit) const {
    std::vector<const RecordedSeries*> list;
    for (const auto& series : recorded_.series) {
      if (is_of_gpu(series.key) && series.key.labels.at("gpu") == gpu) list.push_back(&series);
    }
    if (!limit || list.size() <= *limit) return list;
    std::ranges::stable_sort(list, std::ranges::greater(), [](const auto* series) { return series->values.size(); });
    list.resize(*limit);
    std::ranges::sort(list);
    return list;
  }

  static void shift(std::vector<double>& values, std::size_t number) {
    // Multiples of the golden ratio spread evenly, however many there are.
    const double turns = static_cast<double>(number) * 0.6180339887498949;
    const auto places = static_cast<std::ptrdiff_t>((turns - std::floor(turns)) * static_cast<double>(values.size()));
    std::rotate(values.begin(), values.begin() + places, values.end());
  }

  const Recording& recorded_;
  std::vector<DeviceFacts> gpus_;
};

/// The coarsest steps in which all values can be written: sensors have steps, and so must what they are made into.
double scale_of(const std::vector<double>& values) {
  for (const double scale : kScales) {
    if (std::ranges::all_of(values, [&](double value) { return scales_exactly(value, scale); })) return scale;
  }
  return 0;
}

/// As replay_source.h has it: for a bit more than the usual time to the next point, and at its own time only where
/// points are rare.
std::int64_t window_of(const RecordedSeries& series, const Recording& recording) {
  const std::int64_t length = recording.last_ns - recording.first_ns + recording.period_ns;
  const std::int64_t apart = length / static_cast<std::int64_t>(series.times_ns.size());
  return apart > 2 * recording.period_ns ? 0 : recording.period_ns + recording.period_ns / 2;
}

/// When the GPU of this series of temperatures was hottest: in the middle of those times, since at their edges other
/// values may be on their way to something else.
std::int64_t hottest_time(const RecordedSeries& temperatures) {
  const double highest = std::ranges::max(temperatures.values);
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < temperatures.values.size(); ++i) {
    if (temperatures.values[i] == highest) times.push_back(temperatures.times_ns[i]);
  }
  // A recording from outside may have no number at all.
  return times.empty() ? temperatures.times_ns.back() : times[times.size() / 2];
}

double value_at(const RecordedSeries& series, std::int64_t time) {
  const auto past = std::ranges::upper_bound(series.times_ns, time) - series.times_ns.begin();
  return series.values[static_cast<std::size_t>(std::max<std::ptrdiff_t>(past, 1)) - 1];
}

}  // namespace

Result<std::shared_ptr<const FleetRecording>> FleetRecording::make(const Recording& recorded,
                                                                   const FleetRecordingOptions& options) {
  auto gpus = recorded_gpus(recorded);
  if (gpus.empty()) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = "the recording has no GPU in it",
                 .hint = "Record a machine with GPUs, or leave out --recording."};
  }
  const NodeRecordingMaker maker(recorded, std::move(gpus));
  if (const std::size_t series = maker.series(options); series > kMostSeriesOfNode) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("{} GPUs make {} series on each node; at most {} are possible", options.gpus,
                                        series, kMostSeriesOfNode),
                 .hint = "Take fewer --gpus or fewer --metrics."};
  }
  return std::shared_ptr<const FleetRecording>(new FleetRecording(std::make_shared<Recording>(maker.make(options))));
}

FleetRecording::FleetRecording(std::shared_ptr<const Recording> recording)
    : recording_(std::move(recording)),
      memory_bytes_(recording_->devices.size(), std::numeric_limits<double>::infinity()),
      hottest_c_(recording_->devices.size(), std::numeric_limits<double>::quiet_NaN()) {
  std::map<std::string, std::size_t> gpus;
  for (const auto& device : recording_->devices) gpus.emplace(device.id, gpus.size());
  std::vector<std::int64_t> load_times(gpus.size(), recording_->last_ns);
  for (const auto& series : recording_->series) {
    Track track{.series = &series, .timeline = timeline_of(series), .scale = scale_of(series.values)};
    if (is_of_gpu(series.key)) track.gpu = gpus.at(series.key.labels.at("gpu"));
    if (track.gpu && series.key.name == "gpu.memory_total_bytes") memory_bytes_[*track.gpu] = series.values.back();
    if (track.gpu && series.key.name == "gpu.temperature_c") {
      load_times[*track.gpu] = hottest_time(series);
      hottest_c_[*track.gpu] = std::ranges::max(series.values);
    }
    tracks_.push_back(track);
  }
  for (Track& track : tracks_) {
    if (!track.gpu || is_counter(track.series->key.name)) continue;
    track.under_load = value_at(*track.series, load_times[*track.gpu]);
  }
}

std::size_t FleetRecording::timeline_of(const RecordedSeries& series) {
  const std::int64_t window = window_of(series, *recording_);
  for (std::size_t i = 0; i < timelines_.size(); ++i) {
    if (timelines_[i].window_ns == window && *timelines_[i].times_ns == series.times_ns) return i;
  }
  timelines_.push_back({.times_ns = &series.times_ns, .window_ns = window});
  return timelines_.size() - 1;
}

}  // namespace assay
