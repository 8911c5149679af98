#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "telemetry/procfs/kept_counter.h"
#include "telemetry/reading_builder.h"

namespace assay {

/// The ports in /sys/class/infiniband: RDMA traffic, which the network interfaces do not count, and errors.
class InfinibandPorts {
 public:
  /// `root` is that folder; the ports are those that are there now.
  explicit InfinibandPorts(const std::filesystem::path& root);
  void read(SteadyTime now, ReadingBuilder& builder);

 private:
  struct Port {
    std::string device;
    std::string number;
    KeptFile state;
    KeptNumber received, sent;
    CounterRate receive_rate, send_rate;
    std::vector<std::pair<std::string, KeptNumber>> errors;  ///< by kind
  };

  std::vector<Port> ports_;
};

}  // namespace assay
