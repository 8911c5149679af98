#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/maintenance.h"

namespace assay {

/// What is kept of a node for as long as it is known.
struct NodeRecord {
  std::string name;
  WallTime first_seen;
  WallTime last_seen;
  bool simulated = false;  ///< by `assay fleet-sim`
  bool draining = false;
  std::string drain_reason;
  std::optional<Maintenance> maintenance;    ///< the next one, or that of now
  std::string version;                       ///< of its agent
  std::map<std::string, std::string> facts;  ///< host, os, kernel, cpu, …
  struct Device {
    std::string id;                            ///< a GPU's UUID
    std::map<std::string, std::string> facts;  ///< name, driver, index, …
    bool operator==(const Device&) const = default;
  };
  std::vector<Device> devices;
  std::vector<std::string> allow;    ///< commands that its agent executes
  std::vector<std::string> sources;  ///< of metrics
  std::int64_t period_ms = 1000;     ///< between two readings
  bool operator==(const NodeRecord&) const = default;
};

json::object to_json(const NodeRecord& record);
Result<NodeRecord> node_record_from_json(const json::value& value);

}  // namespace assay
