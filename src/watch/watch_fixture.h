#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "telemetry/telemetry_event.h"
#include "watch/watch.h"

namespace assay {

/// A small cluster that tests steer, and a watch that looks at it every five seconds.
class WatchTest : public testing::Test {
 protected:
  static constexpr double kGiB = 1 << 30;

  WatchTest() { add_node("gpu01", 8); }

  /// A node whose GPUs are free: idle, cool, no process.
  NodeView& add_node(const std::string& name, int gpus) {
    NodeView node{.name = name, .clock_skew_s = 0.001};
    node.memory_used_bytes = 100 * kGiB;
    node.memory_total_bytes = 1000 * kGiB;
    node.file_systems = {{.mount = "/", .used_bytes = 50 * kGiB, .available_bytes = 50 * kGiB}};
    for (int i = 0; i < gpus; ++i) {
      GpuView gpu{.uuid = name + "-GPU-" + std::to_string(i), .model = "H200", .index = i, .processes = 0};
      node.gpus.push_back(gpu);
      rest(node.gpus.back());
    }
    cluster_.nodes.push_back(node);
    return cluster_.nodes.back();
  }
  NodeView& node(std::size_t place = 0) { return cluster_.nodes[place]; }
  GpuView& gpu(std::size_t place = 3) { return cluster_.nodes[0].gpus[place]; }

  static void set(GpuView& gpu, GpuField field, double value) { gpu.value[static_cast<std::size_t>(field)] = value; }
  static void rest(GpuView& gpu) {
    set(gpu, GpuField::util, 0);
    set(gpu, GpuField::memory_used_bytes, 0.6 * kGiB);
    set(gpu, GpuField::memory_total_bytes, 140 * kGiB);
    set(gpu, GpuField::temperature_c, 32);
    set(gpu, GpuField::memory_temperature_c, 35);
    set(gpu, GpuField::power_w, 90);
    set(gpu, GpuField::power_limit_w, 700);
    set(gpu, GpuField::sm_clock_mhz, 345);
    set(gpu, GpuField::sm_clock_max_mhz, 1980);
    set(gpu, GpuField::throttle_thermal, 0);
    set(gpu, GpuField::throttle_power, 0);
    set(gpu, GpuField::throttle_hardware, 0);
    set(gpu, GpuField::row_remap_pending, 0);
    set(gpu, GpuField::row_remap_failed, 0);
    gpu.processes = 0;
  }
  static void work(GpuView& gpu) {
    set(gpu, GpuField::util, 0.95);
    set(gpu, GpuField::memory_used_bytes, 100 * kGiB);
    set(gpu, GpuField::temperature_c, 62);
    set(gpu, GpuField::memory_temperature_c, 70);
    set(gpu, GpuField::power_w, 600);
    set(gpu, GpuField::sm_clock_mhz, 1800);
    gpu.processes = 1;
  }
  void everything_works() {
    for (NodeView& one : cluster_.nodes) {
      for (GpuView& each : one.gpus) work(each);
    }
  }

  void look() {
    now_ += std::chrono::seconds(5);
    for (AlertChange& change : watch_.look(cluster_, now_)) changes_.push_back(std::move(change));
  }
  void look_for(Nanos time, const std::function<void()>& before_each = {}) {
    for (const WallTime end = now_ + time; now_ < end;) {
      if (before_each) before_each();
      look();
    }
  }
  TelemetryEvent event(const std::string& kind, const std::string& about, std::map<std::string, double> values = {}) {
    return {.time = now_, .kind = kind, .about = about, .message = kind + " happened", .values = std::move(values)};
  }

  /// `+overheating gpu01 gpu01-GPU-3` for each alert that was raised, with `-` for each that was resolved, since the
  /// last time.
  std::vector<std::string> changes() {
    std::vector<std::string> texts;
    for (const AlertChange& change : changes_) {
      const bool raised = change.kind == AlertChange::Kind::raised;
      EXPECT_EQ(change.alert.state, raised ? AlertState::open : AlertState::resolved);
      EXPECT_EQ(change.alert.resolved_at.has_value(), !raised);
      texts.push_back((raised ? "+" : "-") + change.alert.rule + " " + change.alert.node +
                      (change.alert.about.empty() ? "" : " " + change.alert.about));
    }
    changes_.clear();
    return texts;
  }

  ClusterView cluster_;
  Watch watch_{WatchRules()};
  WallTime now_{std::chrono::hours(24 * 20'000)};
  std::vector<AlertChange> changes_;
};

}  // namespace assay
