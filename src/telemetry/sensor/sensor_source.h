#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "telemetry/metric_source.h"

namespace assay {

struct SensorOptions {
  std::string name = "nvml";                       ///< of the source
  std::vector<std::string> command;                ///< a program that calls `run_sensor` on `kSensorChannel`
  std::map<std::string, std::string> environment;  ///< added to ours
  /// After this long without an answer the sensor counts as hung: it is killed, or left behind where that fails.
  Nanos answer_limit = std::chrono::seconds(6);
  /// The same for its first answer: a driver without persistence mode takes seconds for each GPU. A reading fails
  /// after `answer_limit` all the same, and the next one goes on waiting.
  Nanos start_limit = std::chrono::seconds(60);
  /// Between the end of a sensor and the start of the next one; doubles up to the longest. Ten readings in a row
  /// bring it back to the first.
  Nanos first_pause = std::chrono::seconds(1);
  Nanos longest_pause = std::chrono::seconds(60);
};

/// A source in a process of its own, which may hang or crash without harm to us: a reading fails with `timeout` (no
/// answer), `crash` (it ended) or what the source itself says, and a later one starts the sensor again.
/// The sensor starts with the first reading. Destroying the source ends it; one that hangs in a driver even then is
/// left behind and goes when the driver lets go of it.
std::unique_ptr<MetricSource> make_sensor_source(SensorOptions options);

}  // namespace assay
