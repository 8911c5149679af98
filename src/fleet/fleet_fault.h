#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// Something that goes wrong with one node of a simulated fleet.
struct FleetFault {
  enum class Kind {
    hot,        ///< a GPU's temperature climbs, until it is slowed down
    slow,       ///< a GPU's clocks fall, for no reason that it gives
    dead,       ///< a GPU falls off the bus
    leak,       ///< a GPU's memory in use creeps up
    capped,     ///< a GPU is at its power limit
    idle,       ///< a GPU does nothing with its memory taken
    ecc,        ///< a GPU has a memory error that could not be corrected
    remap,      ///< a row of a GPU's memory waits to be remapped
    node_dead,  ///< the node neither reads nor talks
    flapping,   ///< the link goes away and comes back; what was read meanwhile is sent later
    skew,       ///< the node's clock is ahead
  };
  Kind kind = Kind::hot;
  std::size_t node = 0;            ///< from 0, where users count from 1
  std::optional<std::size_t> gpu;  ///< every GPU of the node if absent; never set for faults of the whole node
  Nanos from{};                    ///< since the start of the fleet
  std::optional<Nanos> until;      ///< to the end if absent
  bool operator==(const FleetFault&) const = default;

  bool active_at(Nanos since_start) const { return since_start >= from && (!until || since_start < *until); }
};

std::string_view name_of(FleetFault::Kind kind);
/// Whether it befalls a GPU rather than the node.
bool is_of_gpu(FleetFault::Kind kind);

/// Reads `KIND:nodeN[:gpuM][@START[-END]]`: `hot:node3:gpu0@30s`, `flapping:node1@10s-2min`. Errors (kind usage) name
/// every mistake in it with its rule. Called by tests, one fault at a time.
Result<FleetFault> parse_fleet_fault(std::string_view text, std::size_t nodes, std::size_t gpus);
/// Several of them; the error lists the mistakes of all.
Result<std::vector<FleetFault>> parse_fleet_faults(std::span<const std::string> texts, std::size_t nodes,
                                                   std::size_t gpus);

}  // namespace assay
