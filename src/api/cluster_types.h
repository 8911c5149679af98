#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "api/api_type.h"
#include "model/alert.h"
#include "model/leader_status.h"
#include "model/node_record.h"
#include "model/node_state.h"
#include "store/event_log.h"

namespace assay {

// What the API says of a cluster: nodes, telemetry, events, alerts, commands, the leader itself; and what it is asked
// to do about them.

/// A process that uses a GPU.
struct GpuUse {
  std::string gpu;
  std::int64_t pid = 0;
  std::optional<std::int64_t> memory_bytes;
};
/// Newest values by metric. Nothing of what no longer reports: what was last known of it would look like health.
struct NodeValues {
  std::map<std::string, double> host;
  std::map<std::string, std::map<std::string, double>> gpus;  ///< by UUID
};
/// What a node has in the store of telemetry, and may have.
struct NodeHistory {
  std::uint64_t series = 0;
  std::uint64_t most_series = 0;
  std::uint64_t bytes = 0;
  std::uint64_t most_bytes = 0;
};
struct NodeAnswer {
  NodeRecord record;
  NodeState state = NodeState::offline;
  double clock_skew_s = 0;
  std::string clock_note;
  std::uint64_t samples = 0;
  std::uint64_t series = 0;
  std::vector<GpuUse> processes;
  std::optional<NodeValues> values;
  std::optional<NodeHistory> history;
};
struct NodeList {
  std::vector<NodeAnswer> nodes;
  std::string next;  ///< empty: that is all
};
struct DrainRequest {
  std::string reason;
  std::string in;      ///< `8h`; empty: now
  std::string length;  ///< `2h`; empty: until it is given work again
};

/// A week of a GPU.
struct TrendWeek {
  WallTime start;
  std::uint64_t hours = 0;
  double temperature_c = 0;
  double uncertainty_c = 0;
  double throttled_minutes = 0;
};
struct TrendView {
  std::string verdict;
  std::string why;
  double power_w = 0;
  double change_c = 0;
  double low_c = 0;
  double high_c = 0;
  std::vector<TrendWeek> weeks;
};
struct NodeTrends {
  std::string node;
  std::map<std::string, TrendView> gpus;  ///< by UUID
};

/// Of many nodes; without the weeks.
struct TrendList {
  std::vector<NodeTrends> nodes;
  std::string next;  ///< empty: there are no more
};

struct EventList {
  std::vector<ClusterEvent> events;
  std::string next;
};

/// Something that an agent was asked to do.
struct CommandView {
  std::string id;
  std::string node;
  std::string kind;
  std::string by;
  WallTime created;
  enum class State { waiting, running, done, failed, refused, expired } state = State::waiting;
  std::string message;
  std::optional<std::string> output;  ///< lists are without
  std::optional<int> exit_code;

  bool is_over() const { return state != State::waiting && state != State::running; }
};
std::string_view name_of(CommandView::State state);
struct CommandList {
  std::vector<CommandView> commands;
};
struct CommandRequest {
  std::string kind;
  json::object arguments;
};

struct AlertList {
  std::vector<AlertRecord> alerts;
  std::string next;
};
struct AlertNote {
  std::string note;
};
struct SilenceList {
  std::vector<Silence> silences;
};
struct SilenceRequest {
  std::string rule;
  std::string node;
  std::string about;
  bool everything = false;
  std::string length;
  std::string reason;
};

/// What a live stream tells: everything in a snapshot, in a delta what is new. The leader writes it as text, for speed.
struct LiveNode {
  std::string name;
  NodeState state = NodeState::offline;
  bool simulated = false;
  std::uint64_t gpus = 0;
};
struct LiveSeries {
  std::uint64_t id = 0;
  std::string node;
  std::string name;
  std::map<std::string, std::string> labels;
  std::string unit;
};
struct LiveEvent {
  std::int64_t time_ms = 0;
  std::vector<LiveNode> nodes;
  std::vector<LiveSeries> series;
  std::vector<std::tuple<std::uint64_t, std::int64_t, double>> values;
  std::vector<AlertRecord> alerts;
};

template <>
const ApiEnum<NodeState>& api_enum();
template <>
const ApiEnum<AlertSeverity>& api_enum();
template <>
const ApiEnum<AlertState>& api_enum();
template <>
const ApiEnum<CommandView::State>& api_enum();

template <>
const ApiType<NodeRecord::Device>& api_type();
template <>
const ApiType<NodeRecord>& api_type();
template <>
const ApiType<GpuUse>& api_type();
template <>
const ApiType<NodeValues>& api_type();
template <>
const ApiType<NodeHistory>& api_type();
template <>
const ApiType<NodeAnswer>& api_type();
template <>
const ApiType<NodeList>& api_type();
template <>
const ApiType<DrainRequest>& api_type();
template <>
const ApiType<TrendWeek>& api_type();
template <>
const ApiType<TrendView>& api_type();
template <>
const ApiType<NodeTrends>& api_type();
template <>
const ApiType<TrendList>& api_type();
template <>
const ApiType<ClusterEvent>& api_type();
template <>
const ApiType<EventList>& api_type();
template <>
const ApiType<CommandView>& api_type();
template <>
const ApiType<CommandList>& api_type();
template <>
const ApiType<CommandRequest>& api_type();
template <>
const ApiType<Alert>& api_type();
template <>
const ApiType<AlertRecord>& api_type();
template <>
const ApiType<AlertList>& api_type();
template <>
const ApiType<AlertNote>& api_type();
template <>
const ApiType<Silence>& api_type();
template <>
const ApiType<SilenceList>& api_type();
template <>
const ApiType<SilenceRequest>& api_type();
template <>
const ApiType<LiveNode>& api_type();
template <>
const ApiType<LiveSeries>& api_type();
template <>
const ApiType<LiveEvent>& api_type();
template <>
const ApiType<LeaderStatus::NodeCounts>& api_type();
template <>
const ApiEnum<ProblemKind>& api_enum();
template <>
const ApiType<LeaderProblem>& api_type();
template <>
const ApiType<LeaderStatus>& api_type();

}  // namespace assay
