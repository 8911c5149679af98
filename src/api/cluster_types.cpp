#include "api/cluster_types.h"

namespace assay {
namespace {

using NodeFacts = std::map<std::string, std::string>;

}  // namespace

template <>
const ApiEnum<NodeState>& api_enum() {
  static const auto words = named_enum<NodeState>(
      "NodeState", "online; late: a heartbeat is overdue; offline; draining: online, but gets no new work.",
      {NodeState::online, NodeState::late, NodeState::offline, NodeState::draining});
  return words;
}

template <>
const ApiType<NodeRecord::Device>& api_type() {
  using Device = NodeRecord::Device;
  static const auto type = ApiType<Device>("Device", "A GPU of a node.")
                               .field("id", &Device::id, "Its UUID")
                               .added("facts", &Device::facts, "name, driver, index, …");
  return type;
}

template <>
const ApiType<NodeRecord>& api_type() {
  static const auto type =
      ApiType<NodeRecord>("NodeRecord", "What is kept of a node for as long as it is known.")
          .row<std::int64_t>("schema", "The version of this form")
          .row<std::string>("name", "What it is known by")
          .row<WallTime>("first_seen", "When it joined")
          .row<WallTime>("last_seen", "When it was last heard of")
          .row<bool>("simulated", "Whether `assay fleet-sim` made it up")
          .row<bool>("draining", "Whether it is to get no new work")
          .row<std::string>("drain_reason", "Why; may be empty")
          .row<WallTime>("maintenance_from", "When its next maintenance begins, or that of now began", false)
          .row<WallTime>("maintenance_until", "When it is over, and the node gets work again", false)
          .row<std::string>("version", "Of its agent")
          .row<NodeFacts>("facts", "host, os, kernel, cpu, …")
          .row<std::vector<NodeRecord::Device>>("devices", "Its GPUs")
          .row<std::vector<std::string>>("allow", "Commands that its agent executes")
          .row<std::vector<std::string>>("sources", "Of metrics")
          .row<std::int64_t>("period_ms", "Between two readings")
          .by_hand([](const NodeRecord& record) { return to_json(record); }, node_record_from_json);
  return type;
}

template <>
const ApiType<GpuUse>& api_type() {
  static const auto type = ApiType<GpuUse>("GpuUse", "A process that uses a GPU.")
                               .field("gpu", &GpuUse::gpu, "The UUID of the GPU")
                               .field("pid", &GpuUse::pid, "Of the process, on the node")
                               .field("memory_bytes", &GpuUse::memory_bytes, "Null where the driver does not say");
  return type;
}

template <>
const ApiType<NodeValues>& api_type() {
  static const auto type = ApiType<NodeValues>("NodeValues", "The newest values of a node.")
                               .field("host", &NodeValues::host, "By metric")
                               .field("gpus", &NodeValues::gpus, "By the UUID of a GPU, then by metric");
  return type;
}

template <>
const ApiType<NodeHistory>& api_type() {
  static const auto type =
      ApiType<NodeHistory>("NodeHistory", "What is stored of a node's telemetry, and the most that may be.")
          .field("series", &NodeHistory::series, "How many series")
          .field("most_series", &NodeHistory::most_series, "`series_per_node` of the leader")
          .field("bytes", &NodeHistory::bytes, "What they take, but for the newest values")
          .field("most_bytes", &NodeHistory::most_bytes, "`bytes_per_node` of the leader: beyond it nothing is taken");
  return type;
}

template <>
const ApiType<NodeAnswer>& api_type() {
  static const auto type =
      ApiType<NodeAnswer>("NodeView", "A node as the leader sees it.")
          .all_of(&NodeAnswer::record)
          .field("state", &NodeAnswer::state, "Whether it is heard of")
          .added("clock_skew_s", &NodeAnswer::clock_skew_s, "Its clock less the leader's, in seconds; null: not known")
          .added("clock_note", &NodeAnswer::clock_note,
                 "What is done about a clock that is wrong: `2 h 00 min ahead, times corrected`; empty: nothing")
          .added("samples", &NodeAnswer::samples, "Values that came from it since the leader started")
          .added("series", &NodeAnswer::series, "How many series it has")
          .added("processes", &NodeAnswer::processes, "What runs on its GPUs")
          .optional("values", &NodeAnswer::values, "The newest values, where they were asked for")
          .optional("history", &NodeAnswer::history, "What is stored of it, of one node alone");
  return type;
}

template <>
const ApiType<NodeList>& api_type() {
  static const auto type = ApiType<NodeList>("NodeList", "Nodes of the cluster.")
                               .field("nodes", &NodeList::nodes, "By name")
                               .added("next", &NodeList::next, "For `after`: there are more; empty: that is all");
  return type;
}

template <>
const ApiType<DrainRequest>& api_type() {
  static const auto type =
      ApiType<DrainRequest>("DrainRequest", "A node that gets no new work, or work again.")
          .optional("reason", &DrainRequest::reason, "For those who wonder")
          .optional("in", &DrainRequest::in,
                    "When it begins, from now: 8h. Runs that would not have ended by then are not begun there")
          .optional("for", &DrainRequest::length, "How long it lasts: 2h; then the node gets work again by itself");
  return type;
}

template <>
const ApiType<TrendWeek>& api_type() {
  static const auto type =
      ApiType<TrendWeek>("TrendWeek", "A week of a GPU.")
          .field("start", &TrendWeek::start, "When it began")
          .field("hours", &TrendWeek::hours, "With temperature and power")
          .field("temperature_c", &TrendWeek::temperature_c, "At the trend's common power, in °C; null: not known")
          .field("uncertainty_c", &TrendWeek::uncertainty_c, "The standard error of that")
          .field("throttled_minutes", &TrendWeek::throttled_minutes, "Slowed by heat or the hardware");
  return type;
}

template <>
const ApiType<TrendView>& api_type() {
  static const auto type =
      ApiType<TrendView>("TrendView", "How a GPU's temperature at equal power develops over weeks.")
          .field("verdict", &TrendView::verdict, "too little data, steady, hotter or cooler")
          .field("why", &TrendView::why, "One sentence")
          .field("power_w", &TrendView::power_w, "The common power, in W; null: not known")
          .field("change_c", &TrendView::change_c, "From the first to the last week, in °C; null: not known")
          .field("low_c", &TrendView::low_c, "Where its 95 % interval begins")
          .field("high_c", &TrendView::high_c, "Where its 95 % interval ends")
          .field("weeks", &TrendView::weeks, "Oldest first");
  return type;
}

template <>
const ApiType<NodeTrends>& api_type() {
  static const auto type = ApiType<NodeTrends>("NodeTrends", "How the GPUs of a node develop.")
                               .field("node", &NodeTrends::node, "The name of the node")
                               .field("gpus", &NodeTrends::gpus, "By UUID");
  return type;
}

template <>
const ApiType<TrendList>& api_type() {
  static const auto type = ApiType<TrendList>("TrendList", "How the GPUs of many nodes develop.")
                               .field("nodes", &TrendList::nodes, "By name; their GPUs without the weeks")
                               .field("next", &TrendList::next, "`after` of the next page; empty: there is none");
  return type;
}

template <>
const ApiType<ClusterEvent>& api_type() {
  static const auto type = ApiType<ClusterEvent>("EventView", "Something that happened on the cluster.")
                               .field("id", &ClusterEvent::id, "In the order of arrival")
                               .field("time", &ClusterEvent::time, "When it happened")
                               .field("node", &ClusterEvent::node, "Where")
                               .field("kind", &ClusterEvent::kind, "xid, ecc, throttle, inventory, node_offline, …")
                               .field("about", &ClusterEvent::about, "A GPU's UUID, a source's name; may be empty")
                               .field("message", &ClusterEvent::message, "For people")
                               .field("values", &ClusterEvent::values, "Numbers that belong to it, by name");
  return type;
}

template <>
const ApiType<EventList>& api_type() {
  static const auto type = ApiType<EventList>("EventList", "What happened.")
                               .field("events", &EventList::events, "Newest first")
                               .field("next", &EventList::next, "For `before`: there may be more; empty: that is all");
  return type;
}

std::string_view name_of(CommandView::State state) {
  switch (state) {
    case CommandView::State::waiting: return "waiting";
    case CommandView::State::running: return "running";
    case CommandView::State::done: return "done";
    case CommandView::State::failed: return "failed";
    case CommandView::State::refused: return "refused";
    case CommandView::State::expired: return "expired";
  }
  return "";
}

template <>
const ApiEnum<CommandView::State>& api_enum() {
  using enum CommandView::State;
  static const auto words =
      named_enum<CommandView::State>("CommandState", "What became of a command; expired: the leader gave it up.",
                                     {waiting, running, done, failed, refused, expired});
  return words;
}

template <>
const ApiType<CommandView>& api_type() {
  static const auto type = ApiType<CommandView>("CommandView", "Something that an agent was asked to do.")
                               .field("id", &CommandView::id, "What it is known by")
                               .field("node", &CommandView::node, "Whose agent")
                               .field("kind", &CommandView::kind, "doctor, run or stop")
                               .field("by", &CommandView::by, "The name of the token that asked")
                               .field("created", &CommandView::created, "When it was asked for")
                               .field("state", &CommandView::state, "What became of it")
                               .field("message", &CommandView::message, "What the agent says about it")
                               .optional("output", &CommandView::output, "What it printed; lists are without")
                               .field("exit_code", &CommandView::exit_code, "Null unless it has ended by itself");
  return type;
}

template <>
const ApiType<CommandList>& api_type() {
  static const auto type = ApiType<CommandList>("CommandList", "Commands to agents.")
                               .field("commands", &CommandList::commands, "Newest first");
  return type;
}

template <>
const ApiType<CommandRequest>& api_type() {
  static const auto type = ApiType<CommandRequest>("CommandRequest", "What an agent is to do.")
                               .field("kind", &CommandRequest::kind, "doctor; runs are asked for as runs")
                               .optional("arguments", &CommandRequest::arguments, "Of the command: doctor takes none");
  return type;
}

template <>
const ApiType<LeaderStatus::NodeCounts>& api_type() {
  using Counts = LeaderStatus::NodeCounts;
  static const auto type = ApiType<Counts>("NodeCounts", "How many nodes are in each state.")
                               .field("online", &Counts::online, "Heard of")
                               .field("late", &Counts::late, "Overdue")
                               .field("offline", &Counts::offline, "Silent")
                               .field("draining", &Counts::draining, "Heard of, but without new work");
  return type;
}

template <>
const ApiEnum<ProblemKind>& api_enum() {
  using enum ProblemKind;
  static const auto words = named_enum<ProblemKind>(
      "ProblemKind",
      "storage: something could not be read or written; damage: of what was stored; refused: a node sent what was not "
      "stored; clock: of the leader's machine; limit: nodes have to wait; outlet: an alert did not get out; "
      "certificate; fault: a part has failed.",
      {storage, damage, refused, clock, limit, outlet, certificate, fault});
  return words;
}

template <>
const ApiType<LeaderProblem>& api_type() {
  static const auto type = ApiType<LeaderProblem>("LeaderProblem", "Something that is wrong with the leader itself.")
                               .field("kind", &LeaderProblem::kind, "What it is about")
                               .field("level", &LeaderProblem::level, "How grave it is")
                               .field("about", &LeaderProblem::about, "What was tried, or the node it is about")
                               .field("text", &LeaderProblem::text, "For people")
                               .field("since", &LeaderProblem::since, "When it began");
  return type;
}

template <>
const ApiType<LeaderStatus>& api_type() {
  static const auto type =
      ApiType<LeaderStatus>("LeaderStatus", "How the leader itself is doing.")
          .field("version", &LeaderStatus::version, "Of assay")
          .field("uptime_s", &LeaderStatus::uptime_s, "Seconds since it started")
          .field("nodes", &LeaderStatus::nodes, "By state")
          .field("samples", &LeaderStatus::samples, "Values taken in since it started")
          .field("samples_refused", &LeaderStatus::samples_refused, "Values not taken, since it started")
          .field("batches", &LeaderStatus::batches, "Batches taken in since it started")
          .field("series", &LeaderStatus::series, "How many series it keeps")
          .field("head_points", &LeaderStatus::head_points, "Points that wait in memory to be written")
          .field("head_bytes", &LeaderStatus::head_bytes, "How much memory those take")
          .field("live_clients", &LeaderStatus::live_clients, "Who watch a live stream")
          .field("problems", &LeaderStatus::problems, "What is wrong with it; empty: nothing");
  return type;
}

template <>
const ApiType<LiveNode>& api_type() {
  static const auto type = ApiType<LiveNode>("LiveNode", "A node whose state changed.")
                               .field("name", &LiveNode::name, "What it is known by")
                               .field("state", &LiveNode::state, "Whether it is heard of")
                               .added("simulated", &LiveNode::simulated, "Whether `assay fleet-sim` made it up")
                               .added("gpus", &LiveNode::gpus, "How many GPUs it has");
  return type;
}

template <>
const ApiType<LiveSeries>& api_type() {
  static const auto type = ApiType<LiveSeries>("LiveSeries", "A series that values are told of by its number.")
                               .field("id", &LiveSeries::id, "The number, good for this stream")
                               .field("node", &LiveSeries::node, "Of which node")
                               .field("name", &LiveSeries::name, "The metric")
                               .field("labels", &LiveSeries::labels, "node, gpu, …")
                               .added("unit", &LiveSeries::unit, "Of its values");
  return type;
}

template <>
const ApiType<LiveEvent>& api_type() {
  static const auto type =
      ApiType<LiveEvent>("LiveEvent", "The data of an event of the live stream: `snapshot` or `delta`.")
          .field("time_ms", &LiveEvent::time_ms, "The leader's clock, in milliseconds since 1970")
          .added("nodes", &LiveEvent::nodes, "That are new or in another state")
          .added("series", &LiveEvent::series, "That are told of for the first time")
          .added("values", &LiveEvent::values, "The number of the series, milliseconds since 1970, the value")
          .added("alerts", &LiveEvent::alerts, "That were raised, changed or resolved");
  return type;
}

}  // namespace assay
