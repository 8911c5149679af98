#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/supervised_thread.h"
#include "telemetry/lines/reading_lines.h"
#include "telemetry/metric_source.h"

namespace assay {

struct DeviceFacts;

struct LineSource {
  std::unique_ptr<MetricSource> source;
  std::map<std::string, std::string> labels = {};  ///< added to those of its samples
};

struct LineSamplerOptions {
  LineNode node;
  Nanos period = std::chrono::seconds(1);
  Nanos read_limit = std::chrono::milliseconds(500);  ///< for one source
  /// UUIDs of GPUs, or beginnings of them, whose samples are kept; those of a MIG instance's GPU belong to it. Absent:
  /// all.
  std::optional<std::vector<std::string>> gpus;
  /// Lines that wait to be taken; while there are more, readings are left out.
  std::size_t most_waiting = std::size_t{1} << 20;
};

/// Reads sources on a thread of its own, at once and then once a period, and keeps the lines. A source that gives
/// nothing in five readings is told as silent.
class LineSampler {
 public:
  LineSampler(std::vector<LineSource> sources, LineSamplerOptions options);
  LineSampler(const LineSampler&) = delete;
  LineSampler& operator=(const LineSampler&) = delete;
  /// Waits for a reading that is under way.
  ~LineSampler() = default;

  /// The lines that were not taken yet. Does not wait for a reading. Any thread.
  std::string take();
  /// Reads once more, ends the thread and gives the lines that are left; nothing the second time. Takes as long as a
  /// reading or two.
  std::string finish();

 private:
  struct Lane {
    LineSource from;
    int failures = 0;
    bool answered = false;
  };
  void run(const std::stop_token& stop);
  void read();
  void read_lane(Lane& lane, std::vector<Sample>& samples, std::string& lines);
  bool is_wanted(const SeriesKey& key) const;
  void learn_devices(const std::vector<DeviceFacts>& devices);

  const LineSamplerOptions options_;
  const SystemClock clock_;
  // Of whoever reads: the thread, then `finish`.
  std::vector<Lane> lanes_;
  ReadingLineWriter writer_;
  int readings_ = 0;
  std::vector<std::string> parents_;  ///< of the MIG instances among `gpus`

  std::mutex mutex_;
  std::string lines_;  ///< guarded by it
  std::optional<SupervisedThread> thread_;
};

}  // namespace assay
