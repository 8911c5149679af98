#include "telemetry/codec/reading_codec.h"

#include <algorithm>
#include <bit>

#include "telemetry/devices.h"
#include "telemetry/sample.h"
#include "telemetry/telemetry_event.h"

namespace assay {
namespace {

template <typename Map>
std::size_t put_count(std::string& out, const Map& entries, std::size_t limit) {
  const std::size_t count = std::min(entries.size(), limit);
  put_varint(out, count);
  return count;
}

}  // namespace

double BoundedReader::number() { return std::bit_cast<double>(bytes_.fixed(8)); }

std::string BoundedReader::text() {
  const std::string_view text = bytes_.text();
  if (text.size() > kMaxText) fail();
  return ok() ? std::string(text) : std::string();
}

std::size_t BoundedReader::count(std::size_t limit) {
  const std::uint64_t count = bytes_.varint();
  if (count > limit || count > bytes_.rest().size()) fail();
  return ok() ? static_cast<std::size_t>(count) : 0;
}

void put_number(std::string& out, double number) { put_fixed(out, std::bit_cast<std::uint64_t>(number), 8); }
void put_integer(std::string& out, std::int64_t number) { put_varint(out, zigzag(static_cast<std::uint64_t>(number))); }
void put_short_text(std::string& out, std::string_view text) { put_text(out, text.substr(0, kMaxText)); }

void put_series(std::string& out, const SeriesKey& key, std::string_view unit) {
  put_short_text(out, key.name);
  put_short_text(out, unit);
  std::size_t left = put_count(out, key.labels, kMaxLabels);
  for (const auto& [name, value] : key.labels) {
    if (left-- == 0) break;
    put_short_text(out, name);
    put_short_text(out, value);
  }
}

Sample take_series(BoundedReader& in) {
  Sample sample;
  sample.key.name = in.text();
  sample.unit = in.text();
  for (std::size_t left = in.count(kMaxLabels); left > 0; --left) {
    std::string name = in.text();
    sample.key.labels[std::move(name)] = in.text();
  }
  return sample;
}

void put_event(std::string& out, const TelemetryEvent& event) {
  put_integer(out, event.time.time_since_epoch().count());
  put_short_text(out, event.kind);
  put_short_text(out, event.about);
  put_short_text(out, event.message);
  std::size_t left = put_count(out, event.values, kMaxLabels);
  for (const auto& [name, value] : event.values) {
    if (left-- == 0) break;
    put_short_text(out, name);
    put_number(out, value);
  }
}

TelemetryEvent take_event(BoundedReader& in) {
  TelemetryEvent event;
  event.time = WallTime(Nanos(in.integer()));
  event.kind = in.text();
  event.about = in.text();
  event.message = in.text();
  for (std::size_t left = in.count(kMaxLabels); left > 0; --left) {
    std::string name = in.text();
    event.values[std::move(name)] = in.number();
  }
  return event;
}

void put_devices(std::string& out, const std::vector<DeviceFacts>& devices) {
  const std::size_t count = put_count(out, devices, kMaxDevices);
  for (std::size_t i = 0; i < count; ++i) {
    put_short_text(out, devices[i].id);
    std::size_t left = put_count(out, devices[i].facts, kMaxFacts);
    for (const auto& [name, value] : devices[i].facts) {
      if (left-- == 0) break;
      put_short_text(out, name);
      put_short_text(out, value);
    }
  }
}

std::vector<DeviceFacts> take_devices(BoundedReader& in) {
  std::vector<DeviceFacts> devices(in.count(kMaxDevices));
  for (auto& device : devices) {
    device.id = in.text();
    for (std::size_t left = in.count(kMaxFacts); left > 0; --left) {
      std::string name = in.text();
      device.facts[std::move(name)] = in.text();
    }
  }
  return devices;
}

void put_processes(std::string& out, const std::vector<GpuProcess>& processes) {
  const std::size_t count = put_count(out, processes, kMaxGpuProcesses);
  for (std::size_t i = 0; i < count; ++i) {
    put_short_text(out, processes[i].gpu);
    put_integer(out, processes[i].pid);
    put_integer(out, processes[i].memory_bytes.value_or(-1));
  }
}

std::vector<GpuProcess> take_processes(BoundedReader& in) {
  std::vector<GpuProcess> processes(in.count(kMaxGpuProcesses));
  for (auto& process : processes) {
    process.gpu = in.text();
    process.pid = in.integer();
    const std::int64_t memory = in.integer();
    if (memory >= 0) process.memory_bytes = memory;
  }
  return processes;
}

}  // namespace assay
