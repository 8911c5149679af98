#include "http/api_routes.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>

#include "api/cluster_types.h"
#include "base/shortened.h"
#include "base/text.h"
#include "base/units.h"
#include "http/api_check.h"
#include "leader/command_desk.h"
#include "leader/gpu_trends.h"
#include "leader/leader.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/node_status.h"
#include "model/maintenance.h"
#include "store/cluster_store.h"
#include "store/event_log.h"
#include "store/series_store.h"
#include "telemetry/devices.h"

namespace assay {
namespace {

using In = ApiParameter::In;
const ApiParameter kNode{.name = "node", .in = In::path, .description = "The name of the node"};

NodeAnswer view_of(const NodeStatus& status) {
  NodeAnswer view{.record = status.record,
                  .state = status.state,
                  .clock_skew_s = status.clock_skew_s,
                  .clock_note = status.clock_note,
                  .samples = status.samples,
                  .series = status.series};
  for (const auto& process : status.processes.value_or(std::vector<GpuProcess>())) {
    view.processes.push_back({.gpu = process.gpu, .pid = process.pid, .memory_bytes = process.memory_bytes});
  }
  return view;
}

/// Behind the newest value of its node by more than this, a GPU no longer reports.
constexpr Nanos kGpuSilence = std::chrono::seconds(10);

/// The newest value of each series without labels but the node, and of each GPU: what a list of nodes shows. Nothing of
/// a node that is offline or of a GPU that fell silent: what was last known of it would look like health.
NodeValues newest_values(const Node& node, NodeState state) {
  struct Gpu {
    std::map<std::string, double> values;
    std::int64_t newest_ns = 0;
  };
  NodeValues newest;
  std::map<std::string, Gpu> gpus;
  std::int64_t newest_ns = 0;
  if (state != NodeState::offline) {
    node.for_each_value(0, [&](const LiveValue& live) {
      const SeriesKey& key = live.series.key;
      const auto gpu = key.labels.find("gpu");
      newest_ns = std::max(newest_ns, live.time_ns);
      if (key.labels.size() == 1) {
        newest.host[key.name] = live.value;
      } else if (key.labels.size() == 2 && gpu != key.labels.end()) {
        Gpu& known = gpus[gpu->second];
        known.values[key.name] = live.value;
        known.newest_ns = std::max(known.newest_ns, live.time_ns);
      }
    });
  }
  for (auto& [uuid, gpu] : gpus) {
    if (gpu.newest_ns + kGpuSilence.count() >= newest_ns) newest.gpus[uuid] = std::move(gpu.values);
  }
  return newest;
}

Result<std::shared_ptr<Node>> find_node(Leader& leader, const HttpRequest& request) {
  auto node = leader.nodes().find(request.capture("node"));
  if (node) return node;
  std::vector<std::string> names;
  for (const auto& known : leader.nodes().all()) names.push_back(known->name());
  Error error{.kind = ErrorKind::not_found, .message = fmt::format("there is no node '{}'", request.capture("node"))};
  if (const auto meant = nearest(request.capture("node"), names))
    error.hint = fmt::format("Did you mean '{}'?", *meant);
  return error;
}

NodeHistory history_of(const SeriesStore& series, const std::string& node) {
  const auto held = series.holding(node);
  const auto limits = series.limits();
  return {.series = held.series,
          .most_series = limits.max_per_owner.series,
          .bytes = held.bytes,
          .most_bytes = limits.max_per_owner.bytes};
}

/// Some megabytes with their values.
constexpr std::size_t kMostNodes = 1000;

Result<NodeList> list_nodes(Leader& leader, const HttpRequest& request) {
  const bool with_values = request.query_value("values") == "true";
  const auto after = request.query_value("after").value_or("");
  ASSAY_TRY(const auto limit, limit_of(request, kMostNodes, kMostNodes));
  NodeList list;
  for (const auto& node : leader.nodes().all()) {
    if (!after.empty() && node->name() <= after) continue;
    if (list.nodes.size() == limit) {
      list.next = list.nodes.back().record.name;
      break;
    }
    NodeAnswer& view = list.nodes.emplace_back(view_of(node->status(leader.clock().now())));
    if (with_values) view.values = newest_values(*node, view.state);
  }
  return list;
}

TrendView view_of(const GpuTrend& trend) {
  TrendView view{.verdict = std::string(name_of(trend.verdict)),
                 .why = trend.why,
                 .power_w = trend.power_w,
                 .change_c = trend.change_c,
                 .low_c = trend.low_c,
                 .high_c = trend.high_c};
  for (const auto& week : trend.weeks) {
    view.weeks.push_back({.start = week.start,
                          .hours = week.hours,
                          .temperature_c = week.temperature_c,
                          .uncertainty_c = week.uncertainty_c,
                          .throttled_minutes = week.throttled_minutes});
  }
  return view;
}

NodeTrends view_of(const std::string& node, const NodeGpuTrends& trends) {
  NodeTrends view{.node = node, .gpus = {}};
  for (const auto& [gpu, trend] : trends) view.gpus[gpu] = view_of(trend);
  return view;
}

Result<NodeTrends> show_trend(Leader& leader, const HttpRequest& request) {
  ASSAY_TRY(const auto node, find_node(leader, request));
  ASSAY_TRY(const auto trends, gpu_trends(leader.series(), node->name(), leader.clock().wall()));
  return view_of(node->name(), trends);
}

/// Of one page: each that is not known yet is hundreds of thousands of values to read.
constexpr std::size_t kMostTrendsOfAPage = 50;

Result<TrendList> list_trends(Leader& leader, TrendVerdicts& verdicts, const HttpRequest& request) {
  const auto after = request.query_value("after").value_or("");
  ASSAY_TRY(const auto limit, limit_of(request, kMostTrendsOfAPage / 2, kMostTrendsOfAPage));
  TrendList list;
  for (const auto& node : leader.nodes().all()) {
    if (!after.empty() && node->name() <= after) continue;
    if (list.nodes.size() == limit) {
      list.next = list.nodes.back().node;
      break;
    }
    ASSAY_TRY(const auto trends, verdicts.of(node->name()));
    list.nodes.push_back(view_of(node->name(), trends));
  }
  return list;
}

/// Where a page of events begins: after an event, or where the page before has ended (`TIME.ID`).
Result<std::optional<EventPlace>> place_of(Leader& leader, const std::string& before) {
  if (before.empty()) return std::optional<EventPlace>();
  const char* const end = before.data() + before.size();
  std::int64_t first = 0;
  EventPlace place;
  auto read = std::from_chars(before.data(), end, first);
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == '.') {
    place.time = WallTime(Nanos(first));
    read = std::from_chars(read.ptr + 1, end, place.id);
    if (read.ec == std::errc() && read.ptr == end) return std::optional(place);
  } else if (read.ec == std::errc() && read.ptr == end) {
    auto known = leader.cluster().events().place_of(first);
    if (known) return std::optional(*known);
    if (known.error().kind != ErrorKind::not_found) return std::move(known).error();
  }
  return Error{
      .kind = ErrorKind::usage,
      .message = fmt::format("'before={}' must be the 'next' of another answer, or the id of an event", before)};
}

Result<EventList> list_events(Leader& leader, const HttpRequest& request) {
  const auto text = [&](std::string_view name) { return std::string(request.query_value(name).value_or("")); };
  EventQuery query{.node = text("node"), .kind = text("kind"), .about = text("about")};
  ASSAY_TRY(query.after, place_of(leader, text("before")));
  ASSAY_TRY(query.limit, limit_of(request, 100, 10'000));
  ASSAY_TRY(query.from, time_of(request, "from"));
  ASSAY_TRY(query.to, time_of(request, "to"));
  ASSAY_TRY(auto page, leader.cluster().events().list(query));
  EventList answer{.events = std::move(page.events), .next = {}};
  if (page.next) answer.next = fmt::format("{}.{}", page.next->time.time_since_epoch().count(), page.next->id);
  return answer;
}

/// A length of time in a request; nothing where it is left out.
Result<std::optional<Nanos>> time_span_of(const std::string& key, const std::string& text) {
  constexpr Nanos kLongest = std::chrono::hours(24 * 365);
  if (text.empty()) return std::optional<Nanos>();
  const auto span = parse_duration(text);
  if (span && *span >= Nanos(0) && *span <= kLongest) return std::optional(*span);
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'{}' is '{}', which is no length of time up to a year", key, text),
               .hint = "For example 2h, or 90min."};
}

Result<std::optional<Maintenance>> maintenance_of(const DrainRequest& wanted, WallTime now) {
  ASSAY_TRY(const auto wait, time_span_of("in", wanted.in));
  ASSAY_TRY(const auto length, time_span_of("for", wanted.length));
  if (!wait && !length) return std::optional<Maintenance>();
  if (!length) {
    return Error{.kind = ErrorKind::usage,
                 .message = "a maintenance that is to come needs an end",
                 .hint = "Say how long it lasts with 'for', or drain the node when the time has come."};
  }
  const WallTime from = now + wait.value_or(Nanos(0));
  return std::optional(Maintenance{.from = from, .until = from + *length});
}

Result<NodeAnswer> set_draining(Leader& leader, const HttpRequest& request, const Principal& caller, bool draining,
                                const DrainRequest& wanted) {
  ASSAY_TRY(const auto maintenance, maintenance_of(wanted, leader.clock().wall()));
  if (maintenance && !draining) {
    return Error{.kind = ErrorKind::usage, .message = "'in' and 'for' are for nodes that are to be left alone"};
  }
  ASSAY_CHECK(
      leader.set_draining(request.capture("node"), draining, shortened(wanted.reason, 1024), caller.name, maintenance));
  ASSAY_TRY(const auto node, find_node(leader, request));
  return view_of(node->status(leader.clock().now()));
}

CommandView::State state_of(AgentCommand::State state) {
  switch (state) {
    case AgentCommand::State::waiting: return CommandView::State::waiting;
    case AgentCommand::State::running: return CommandView::State::running;
    case AgentCommand::State::done: return CommandView::State::done;
    case AgentCommand::State::failed: return CommandView::State::failed;
    case AgentCommand::State::refused: return CommandView::State::refused;
    case AgentCommand::State::expired: return CommandView::State::expired;
  }
  return CommandView::State::expired;
}

CommandView view_of(const AgentCommand& command) {
  return {.id = command.id,
          .node = command.node,
          .kind = std::string(name_of(command.kind)),
          .by = command.by,
          .created = command.created,
          .state = state_of(command.state),
          .message = command.message,
          .output = command.output,
          .exit_code = command.exit_code};
}

Result<CommandView> send_command(Leader& leader, const HttpRequest& request, const Principal& caller,
                                 const CommandRequest& wanted) {
  ASSAY_CHECK(find_node(leader, request));
  ASSAY_TRY(const auto command,
            leader.commands().create(request.capture("node"), wanted.kind, wanted.arguments, caller.name));
  return view_of(command);
}

void add_command_endpoints(ApiTable& table, Leader& leader) {
  table.add({.method = "POST",
             .path = "/api/v1/nodes/{node}/commands",
             .scope = Scope::manage,
             .summary = "Ask the agent of a node to do something",
             .parameters = {kNode},
             .handle = taking<CommandRequest>(
                 [&leader](const CommandRequest& wanted, const HttpRequest& request, const Principal& caller) {
                   return send_command(leader, request, caller, wanted);
                 })});
  table.add({.path = "/api/v1/commands",
             .scope = Scope::run,
             .summary = "Commands to agents and what became of them, newest first; without their output",
             .handle = answering([&leader](const HttpRequest&, const Principal&) -> Result<CommandList> {
               CommandList answer;
               for (const auto& command : leader.commands().list()) {
                 answer.commands.push_back(view_of(command));
                 answer.commands.back().output.reset();  // a MiB each
               }
               return answer;
             })});
  table.add({.path = "/api/v1/commands/{id}",
             .scope = Scope::run,
             .summary = "One command, with its output",
             .parameters = {{.name = "id", .in = In::path, .description = "The id of the command"}},
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<CommandView> {
               ASSAY_TRY(const auto command, leader.commands().find(request.capture("id")));
               return view_of(command);
             })});
}

}  // namespace

void add_node_endpoints(ApiTable& table, Leader& leader) {
  table.add({.path = "/api/v1/nodes",
             .summary = "Every node: state, inventory, what runs on its GPUs",
             .parameters = {{.name = "values", .description = "true: with the newest values", .type = "boolean"},
                            {.name = "after", .description = "After the node of this name: the next page"},
                            {.name = "limit", .description = "At most so many (1,000)", .type = "integer"}},
             .handle = answering(
                 [&leader](const HttpRequest& request, const Principal&) { return list_nodes(leader, request); })});
  table.add({.path = "/api/v1/nodes/{node}",
             .summary = "One node, with the newest values",
             .parameters = {kNode},
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<NodeAnswer> {
               ASSAY_TRY(const auto node, find_node(leader, request));
               NodeAnswer view = view_of(node->status(leader.clock().now()));
               view.values = newest_values(*node, view.state);
               view.history = history_of(leader.series(), node->name());
               return view;
             })});
  table.add({.path = "/api/v1/nodes/{node}/trend",
             .summary = "How each GPU develops over weeks: temperature at equal power, minutes of throttling",
             .parameters = {kNode},
             .handle = answering(
                 [&leader](const HttpRequest& request, const Principal&) { return show_trend(leader, request); })});
  table.add(
      {.path = "/api/v1/trends",
       .summary = "How the GPUs of all nodes develop over weeks, as of this hour: the verdicts, without the weeks",
       .parameters = {{.name = "after", .description = "The 'next' of the page before"},
                      {.name = "limit", .description = "At most so many nodes (25)", .type = "integer"}},
       .handle = answering(
           [&leader, verdicts = std::make_shared<TrendVerdicts>(leader.series(), leader.clock())](
               const HttpRequest& request, const Principal&) { return list_trends(leader, *verdicts, request); })});
  for (const bool draining : {true, false}) {
    table.add({.method = "POST",
               .path = draining ? "/api/v1/nodes/{node}/drain" : "/api/v1/nodes/{node}/resume",
               .scope = Scope::manage,
               .summary = draining ? "Give the node no new work" : "Give the node work again",
               .parameters = {kNode},
               .handle = taking<DrainRequest>([&leader, draining](const DrainRequest& wanted,
                                                                  const HttpRequest& request, const Principal& caller) {
                 return set_draining(leader, request, caller, draining, wanted);
               })});
  }
  table.add({.method = "DELETE",
             .path = "/api/v1/nodes/{node}",
             .scope = Scope::manage,
             .summary = "Forget a node that is offline",
             .parameters = {kNode, {.name = "erase", .description = "true: and all its telemetry", .type = "boolean"}},
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<Done> {
               ASSAY_CHECK(leader.forget(request.capture("node"), request.query_value("erase") == "true"));
               return Done{};
             })});
  table.add({.method = "DELETE",
             .path = "/api/v1/nodes/{node}/refusals",
             .scope = Scope::manage,
             .summary = "What was refused of the node was looked at: it is no problem of the leader's any more",
             .parameters = {kNode},
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<Done> {
               ASSAY_CHECK(leader.dismiss_refusals(request.capture("node")));
               return Done{};
             })});
  table.add(
      {.path = "/api/v1/events",
       .summary = "What happened, newest first: faults, throttling, nodes and inventory that come, go and change. "
                  "Each answer looks at a bounded number of events: where there is a 'next', there may be more",
       .parameters = {{.name = "node", .description = "Of this node only"},
                      {.name = "kind", .description = "Of this kind only: xid, ecc, throttle, inventory, …"},
                      {.name = "about", .description = "About this GPU or source only"},
                      {.name = "from", .description = "Not before this time (ISO 8601)"},
                      {.name = "to", .description = "Before this time (ISO 8601)"},
                      {.name = "before", .description = "The 'next' of the page before, or the id of its last event"},
                      {.name = "limit", .description = "At most so many (100)", .type = "integer"}},
       .handle = answering(
           [&leader](const HttpRequest& request, const Principal&) { return list_events(leader, request); })});
  add_command_endpoints(table, leader);
}

}  // namespace assay
