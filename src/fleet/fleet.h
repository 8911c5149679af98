#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "fleet/fleet_counts.h"
#include "fleet/fleet_fault.h"
#include "fleet/fleet_recording.h"
#include "net/tls_trust.h"
#include "net/url.h"

namespace assay {

class FleetTime;

inline constexpr std::size_t kMostSimulatedNodes = 10'000;

struct FleetOptions {
  std::size_t nodes = 1;
  std::string prefix = "sim";  ///< of the nodes' names: sim001, sim002, …
  Url leader;
  TlsTrust trust;
  std::string join_secret;
  Nanos period = std::chrono::seconds(1);  ///< within the limits of telemetry/sampler.h
  std::optional<Nanos> duration;           ///< until stopped if absent
  Nanos drain = std::chrono::seconds(10);  ///< after the end, for what was not acknowledged yet
  std::uint64_t seed = 1;
  std::vector<FleetFault> faults;
};

/// How the fleet is doing, once a second.
struct FleetStatus {
  Nanos elapsed{};
  std::size_t nodes = 0;
  std::size_t connected = 0;
  FleetCounts total;   ///< since the start
  FleetCounts recent;  ///< since the status before
  Nanos recent_time{};
  Nanos behind{};  ///< age of the oldest batch that is not acknowledged
};

struct FleetSummary {
  std::size_t nodes = 0;
  std::size_t series_per_node = 0;
  Nanos elapsed{};
  FleetCounts counts;
  std::uint64_t undelivered = 0;  ///< samples that still waited at the end
  bool stopped = false;           ///< from outside
  double cpu_seconds = 0;         ///< of the thread that simulated

  std::uint64_t lost() const { return counts.given_up + counts.overflowed + undelivered; }
  /// Whether everything that should have been read was read and acknowledged.
  bool complete() const { return lost() == 0 && counts.skipped_readings == 0; }
};
json::object to_json(const FleetSummary& summary);

struct FleetHooks {
  std::function<void(const FleetStatus&)> on_second;  ///< may be empty
  /// Each byte that can be read from it is a request: the first ends the fleet as its duration would, the second at
  /// once. −1: none comes.
  int stop_fd = -1;
  FleetTime* time =
      nullptr;  ///< the time in which the fleet lives (fleet_time.h), not started yet; null: the machine's
};

/// Simulates nodes that send what was recorded to a real leader (docs/reference/agent-protocol.md), on this thread,
/// until `duration` is over or somebody stops it. Errors: `usage` (options), `unsupported` (too few open files are
/// allowed), and whatever keeps the first node from joining: `unreachable`, `denied`, `timeout`. Whatever happens to
/// nodes later is counted in the summary.
Result<FleetSummary> simulate_fleet(const FleetOptions& options, std::shared_ptr<const FleetRecording> recording,
                                    const FleetHooks& hooks = {});

}  // namespace assay
