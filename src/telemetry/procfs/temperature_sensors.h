#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "telemetry/procfs/kept_counter.h"
#include "telemetry/reading_builder.h"

namespace assay {

/// The sensors of temperature in /sys/class/hwmon: CPU packages, disks, boards.
class TemperatureSensors {
 public:
  /// `root` is that folder; the sensors are those that are there now.
  explicit TemperatureSensors(const std::filesystem::path& root);
  void read(ReadingBuilder& builder);

 private:
  struct Sensor {
    std::string chip;
    std::string name;
    KeptNumber input;
  };

  std::vector<Sensor> sensors_;
};

}  // namespace assay
