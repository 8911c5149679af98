#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace assay {

/// Since boot.
struct Traffic {
  double in = 0;            ///< bytes into the machine
  double out = 0;           ///< bytes out of it
  double errors = 0;        ///< packets that were damaged, both ways; of interfaces
  double drops = 0;         ///< packets that there was no room for, both ways; of interfaces
  double busy_seconds = 0;  ///< with at least one request under way; of disks
};

using DeviceCounters = std::map<std::string, Traffic, std::less<>>;

/// Turns per-device counters into one rate over all devices.
class TrafficRate {
 public:
  /// Bytes per second since the last call; nothing the first time or if no time has passed. Only devices that were
  /// there both times count, and those whose counters went backwards (reset by the driver) count as idle.
  std::optional<Traffic> update(DeviceCounters counters, SteadyTime now);

 private:
  DeviceCounters last_;
  std::optional<SteadyTime> last_time_;
};

/// The same for each device alone: `in` and `out` per second, errors and drops as they are, `busy_seconds` per second.
class DeviceRates {
 public:
  DeviceCounters update(DeviceCounters counters, SteadyTime now);

 private:
  DeviceCounters last_;
  std::optional<SteadyTime> last_time_;
};

/// The physical disks in the text of /proc/diskstats; `blocks` is /sys/block.
class DiskFilter {
 public:
  explicit DiskFilter(std::filesystem::path blocks) : blocks_(std::move(blocks)) {}
  DeviceCounters counters(std::string_view diskstats);

 private:
  bool is_physical(const std::string& name);

  std::filesystem::path blocks_;
  std::map<std::string, bool, std::less<>> known_;
};

/// The physical interfaces in the text of /proc/net/dev, or all but loopback where none is physical, as in a
/// container; `interfaces` is /sys/class/net.
class InterfaceFilter {
 public:
  explicit InterfaceFilter(std::filesystem::path interfaces) : interfaces_(std::move(interfaces)) {}
  DeviceCounters counters(std::string_view net_dev);

 private:
  bool is_physical(const std::string& name);

  std::filesystem::path interfaces_;
  std::map<std::string, bool, std::less<>> known_;
};

}  // namespace assay
