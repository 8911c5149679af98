#include "telemetry/nvml/nvml_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "telemetry/nvml/gpu_history.h"
#include "telemetry/nvml/gpu_reader.h"
#include "telemetry/nvml/gpu_scan.h"
#include "telemetry/nvml/xid_events.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using nvml::Api;
using nvml::Depth;
using nvml::GpuHistory;
using nvml::GpuReader;

constexpr Nanos kLongestPause = std::chrono::minutes(10);

class NvmlSource final : public MetricSource {
 public:
  NvmlSource(Api api, const NvmlOptions& options)
      : api_(std::move(api)),
        options_(options),
        clock_(options.clock != nullptr ? *options.clock : system_clock_),
        pause_(options.lost_retry) {}
  NvmlSource(const NvmlSource&) = delete;
  NvmlSource& operator=(const NvmlSource&) = delete;
  ~NvmlSource() override { close(); }

  std::string_view name() const override { return "nvml"; }
  Result<Reading> read(SteadyTime) override { return read_at(due_depth()); }
  Result<Reading> read_everything(SteadyTime) override { return read_at(Depth::costly); }

 private:
  struct Gpu {
    GpuReader reader;
    bool lost = false;
  };

  Depth due_depth() const;
  Result<Reading> read_at(Depth depth);
  Result<void> ensure_open(std::vector<TelemetryEvent>& events);
  Result<void> open(std::vector<TelemetryEvent>& events);
  void close();
  void take_over(nvml::GpuScan scan, std::vector<TelemetryEvent>& events);
  void rescan_if_due(Depth depth, std::vector<TelemetryEvent>& events);
  void read_gpus(Depth depth, Reading& reading);
  void mark_lost(Gpu& gpu, nvml::Code code, std::vector<TelemetryEvent>& events);
  void try_later();
  TelemetryEvent event(std::string kind, std::string about, std::string message) const;

  Api api_;
  NvmlOptions options_;
  SystemClock system_clock_;
  const Clock& clock_;
  bool is_open_ = false;
  bool incomplete_ = false;              ///< some GPU is lost
  std::optional<SteadyTime> try_again_;  ///< to start NVML anew, while it does not open or some GPU is lost
  Nanos pause_;                          ///< until then
  std::string open_problem_;
  std::string driver_;
  std::vector<Gpu> gpus_;
  std::vector<DeviceFacts> devices_;
  bool devices_changed_ = false;
  std::unique_ptr<nvml::XidEvents> xids_;
  std::map<std::string, GpuHistory> histories_;
  std::map<std::string, bool> present_;  ///< of every GPU that was ever seen: whether it is there
  std::optional<SteadyTime> last_calm_, last_costly_;
};

Depth NvmlSource::due_depth() const {
  const SteadyTime now = clock_.now();
  if (!last_costly_ || now - *last_costly_ >= options_.costly_period) return Depth::costly;
  if (!last_calm_ || now - *last_calm_ >= options_.calm_period) return Depth::calm;
  return Depth::usual;
}

Result<Reading> NvmlSource::read_at(Depth depth) {
  Reading reading;
  ASSAY_CHECK(ensure_open(reading.events));
  rescan_if_due(depth, reading.events);
  const SteadyTime now = clock_.now();
  if (depth >= Depth::calm) last_calm_ = now;
  if (depth >= Depth::costly) last_costly_ = now;
  read_gpus(depth, reading);
  if (xids_) xids_->collect(clock_.wall(), reading.events);
  if (std::exchange(devices_changed_, false)) reading.devices = devices_;
  return reading;
}

Result<void> NvmlSource::ensure_open(std::vector<TelemetryEvent>& events) {
  const SteadyTime now = clock_.now();
  if (is_open_ && !(incomplete_ && now >= *try_again_)) return {};
  if (!is_open_ && try_again_ && now < *try_again_) {
    return Error{.kind = ErrorKind::no_device, .message = open_problem_};
  }
  // A GPU that was reset is seen again only by an NVML that was started after that.
  close();
  try_later();
  auto opened = open(events);
  if (!opened) open_problem_ = opened.error().text();
  return opened;
}

Result<void> NvmlSource::open(std::vector<TelemetryEvent>& events) {
  if (const nvml::Code code = api_.init(); code != nvml::kSuccess) {
    return Error{.kind = ErrorKind::no_device,
                 .message = "NVML: " + api_.describe(code),
                 .hint = "`nvidia-smi` should say the same."};
  }
  is_open_ = true;
  std::array<char, nvml::kTextSize> driver{};
  if (api_.driver_version != nullptr && api_.driver_version(driver.data(), driver.size()) == nvml::kSuccess) {
    driver.back() = '\0';
    driver_ = printable(driver.data());
  }
  auto scan = nvml::scan_gpus(api_);
  if (!scan || (scan->gpus.empty() && present_.empty())) {
    close();
    if (!scan) return std::move(scan).error();
    return Error{.kind = ErrorKind::no_device, .message = "NVML: the driver has no GPU"};
  }
  take_over(std::move(*scan), events);
  return {};
}

void NvmlSource::close() {
  xids_.reset();
  gpus_.clear();  // with them their GPM samples, which NVML would not know any more
  if (std::exchange(is_open_, false)) api_.shutdown();
}

/// Makes the GPUs of a scan ours, and events of those that have come or gone since the last one.
void NvmlSource::take_over(nvml::GpuScan scan, std::vector<TelemetryEvent>& events) {
  xids_.reset();
  gpus_.clear();
  std::vector<DeviceFacts> devices;
  std::map<std::string, bool> now_present;
  for (auto& found : scan.gpus) {
    const std::string uuid = found.handle.uuid;
    gpus_.push_back({.reader = GpuReader(api_, std::move(found.handle)), .lost = false});
    devices.push_back(gpus_.back().reader.facts(found.index, driver_));
    if (found.link_group) devices.back().facts[kLinkGroupFact] = std::to_string(*found.link_group);
    now_present[uuid] = true;
    const auto before = present_.find(uuid);
    const bool is_news = before == present_.end() ? !present_.empty() : !before->second;
    if (is_news) events.push_back(event("gpu_found", uuid, "the GPU is there again, or new"));
    histories_.try_emplace(uuid, uuid);
  }
  for (const auto& [uuid, present] : present_) {
    if (now_present.contains(uuid)) continue;
    if (present) events.push_back(event("gpu_lost", uuid, "the driver does not list the GPU any more"));
    // An instance goes because somebody wanted it to; nobody waits for it.
    if (!uuid.starts_with("MIG-")) now_present[uuid] = false;
  }
  present_ = std::move(now_present);
  incomplete_ = scan.unreadable > 0 ||
                std::any_of(present_.begin(), present_.end(), [](const auto& entry) { return !entry.second; });
  if (!incomplete_) pause_ = options_.lost_retry;
  if (devices != devices_) {
    devices_ = std::move(devices);
    devices_changed_ = true;
  }
  std::vector<nvml::GpuHandle> handles;
  handles.reserve(gpus_.size());
  for (const auto& gpu : gpus_) handles.push_back(gpu.reader.handle());
  xids_ = nvml::XidEvents::make(api_, std::move(handles));
}

/// MIG instances come and go without any GPU being lost.
void NvmlSource::rescan_if_due(Depth depth, std::vector<TelemetryEvent>& events) {
  if (depth < Depth::costly || !last_costly_) return;
  auto scan = nvml::scan_gpus(api_);
  if (!scan || scan->unreadable > 0) return;
  const bool same = std::equal(
      gpus_.begin(), gpus_.end(), scan->gpus.begin(), scan->gpus.end(),
      [](const Gpu& ours, const nvml::FoundGpu& found) { return ours.reader.handle().uuid == found.handle.uuid; });
  if (!same) take_over(std::move(*scan), events);
}

void NvmlSource::read_gpus(Depth depth, Reading& reading) {
  const SteadyTime now = clock_.now();
  std::vector<GpuProcess> processes;
  for (auto& gpu : gpus_) {
    if (gpu.lost) continue;
    const auto outcome = gpu.reader.read(depth, now, reading);
    const std::string& uuid = gpu.reader.handle().uuid;
    histories_.at(uuid).note(outcome.condition, now, clock_.wall(), reading.events);
    if (outcome.lost != nvml::kSuccess) {
      mark_lost(gpu, outcome.lost, reading.events);
    } else if (depth >= Depth::calm) {
      gpu.reader.read_processes(processes);
    }
  }
  if (depth >= Depth::calm) reading.processes = std::move(processes);
}

void NvmlSource::mark_lost(Gpu& gpu, nvml::Code code, std::vector<TelemetryEvent>& events) {
  gpu.lost = true;
  incomplete_ = true;
  try_later();
  const std::string& uuid = gpu.reader.handle().uuid;
  present_[uuid] = false;
  auto lost = event("gpu_lost", uuid, api_.describe(code));
  lost.values["nvml_code"] = code;
  events.push_back(std::move(lost));
}

/// Starting NVML takes a tenth of a second: what does not come back soon is looked for less and less often.
void NvmlSource::try_later() {
  try_again_ = clock_.now() + pause_;
  pause_ = std::min(2 * pause_, std::max(kLongestPause, options_.lost_retry));
}

TelemetryEvent NvmlSource::event(std::string kind, std::string about, std::string message) const {
  return {.time = clock_.wall(),
          .kind = std::move(kind),
          .about = std::move(about),
          .message = std::move(message),
          .values = {}};
}

/// Waits for a driver to be installed.
class LaterNvmlSource final : public MetricSource {
 public:
  LaterNvmlSource(std::string library, const NvmlOptions& options) : library_(std::move(library)), options_(options) {}

  std::string_view name() const override { return "nvml"; }
  Result<Reading> read(SteadyTime deadline) override {
    ASSAY_CHECK(ensure_loaded());
    return source_->read(deadline);
  }
  Result<Reading> read_everything(SteadyTime deadline) override {
    ASSAY_CHECK(ensure_loaded());
    return source_->read_everything(deadline);
  }

 private:
  Result<void> ensure_loaded() {
    if (source_) return {};
    ASSAY_TRY(auto api, nvml::load(library_));
    source_ = make_nvml_source(std::move(api), options_);
    return {};
  }

  std::string library_;
  NvmlOptions options_;
  std::unique_ptr<MetricSource> source_;
};

}  // namespace

std::unique_ptr<MetricSource> make_nvml_source(const std::string& library, const NvmlOptions& options) {
  return std::make_unique<LaterNvmlSource>(library, options);
}

std::unique_ptr<MetricSource> make_nvml_source(nvml::Api api, const NvmlOptions& options) {
  return std::make_unique<NvmlSource>(std::move(api), options);
}

}  // namespace assay
