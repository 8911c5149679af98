#pragma once

#include <cstdint>
#include <string>

#include "telemetry/replay/recording.h"

namespace assay {

/// For tests: a minute of one GPU and its host at 1 Hz, with a counter, a series that is rare and an event.
inline Recording small_recording(std::size_t gpus = 1) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Recording recording{.first_ns = kSecond, .last_ns = 60 * kSecond, .period_ns = kSecond};
  const auto add = [&](const std::string& name, std::map<std::string, std::string> labels, int every, auto value) {
    RecordedSeries series{.key = {.name = name, .labels = std::move(labels)}, .unit = "x"};
    for (int i = 0; i < 60; i += every) {
      series.times_ns.push_back((i + 1) * kSecond);
      series.values.push_back(value(i));
    }
    recording.series.push_back(std::move(series));
  };
  add("host.cpu_util", {}, 1, [](int i) { return i / 100.0; });
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const std::string id = "GPU-" + std::to_string(gpu);
    recording.devices.push_back({id, {{"name", "NVIDIA H200"}, {"serial", "123"}}});
    add("gpu.energy_total_j", {{"gpu", id}}, 20, [](int i) { return 1000.0 + i; });
    add("gpu.power_w", {{"gpu", id}}, 1, [](int i) { return 400 + i * 37 % 60 * 3.5; });
    add("gpu.temperature_c", {{"gpu", id}}, 1, [](int i) { return 60.0 + i % 7; });
    add("gpu.sm_clock_mhz", {{"gpu", id}}, 1, [](int i) { return 1500.0 - i; });
    add("gpu.memory_used_bytes", {{"gpu", id}}, 1, [](int) { return 1e9; });
    add("gpu.memory_total_bytes", {{"gpu", id}}, 1, [](int) { return 150e9; });
  }
  recording.events.push_back({WallTime(Nanos(30 * kSecond)), "xid", "GPU-0", "XID 31", {{"xid", 31}}});
  return recording;
}

}  // namespace assay
