#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "leader/intake_budget.h"
#include "model/node_record.h"
#include "model/node_state.h"
#include "telemetry/devices.h"

namespace assay {

/// What is known of a node now. Plain values: a copy for whoever asks.
struct NodeStatus {
  NodeRecord record;
  NodeState state = NodeState::offline;
  double clock_skew_s = 0;                           ///< its clock less ours; NaN: not known
  std::string clock_note;                            ///< "2 h 00 min ahead, times corrected"; empty: it is right
  std::optional<std::vector<GpuProcess>> processes;  ///< absent: nobody looked
  std::uint64_t samples = 0;                         ///< since the leader started
  std::size_t series = 0;
  IntakeTotals intake;
  std::map<std::pair<std::string, int>, std::uint64_t>
      xids;                 ///< by GPU and number: how often, since the leader started
  Nanos behind_own_time{};  ///< what is added to our time to have that of its values

  /// The time by which its values have theirs, when our clock shows `now`.
  WallTime own_time(WallTime now) const { return now + behind_own_time; }
};

}  // namespace assay
