#include "http/api_routes.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "http/api_check.h"
#include "leader/gpu_trends.h"
#include "leader/readable.h"

namespace assay {
namespace {

using In = ApiParameter::In;
const ApiParameter kNode{.name = "node", .in = In::path, .description = "The name of the node"};

json::object node_object(const NodeStatus& status) {
  json::object object = to_json(status.record);
  object["state"] = name_of(status.state);
  object["clock_skew_s"] = finite(status.clock_skew_s);
  object["samples"] = status.samples;
  object["series"] = status.series;
  json::array processes;
  for (const auto& process : status.processes.value_or(std::vector<GpuProcess>())) {
    processes.push_back(json::object{
        {"gpu", process.gpu},
        {"pid", process.pid},
        {"memory_bytes", process.memory_bytes ? json::value(*process.memory_bytes) : json::value(nullptr)}});
  }
  object["processes"] = std::move(processes);
  return object;
}

/// Behind the newest value of its node by more than this, a GPU no longer reports.
constexpr Nanos kGpuSilence = std::chrono::seconds(10);

/// The newest value of each series without labels but the node, and of each GPU: what a list of nodes shows. Nothing of
/// a node that is offline or of a GPU that fell silent: what was last known of it would look like health.
json::object newest_values(const Node& node, NodeState state) {
  struct Gpu {
    json::object values;
    std::int64_t newest_ns = 0;
  };
  json::object host;
  std::map<std::string, Gpu> gpus;
  std::int64_t newest_ns = 0;
  if (state != NodeState::offline) {
    node.for_each_value(0, [&](const LiveValue& live) {
      const SeriesKey& key = live.series.key;
      const auto gpu = key.labels.find("gpu");
      newest_ns = std::max(newest_ns, live.time_ns);
      if (key.labels.size() == 1) {
        host[key.name] = finite(live.value);
      } else if (key.labels.size() == 2 && gpu != key.labels.end()) {
        Gpu& known = gpus[gpu->second];
        known.values[key.name] = finite(live.value);
        known.newest_ns = std::max(known.newest_ns, live.time_ns);
      }
    });
  }
  json::object reporting;
  for (auto& [uuid, gpu] : gpus) {
    if (gpu.newest_ns + kGpuSilence.count() >= newest_ns) reporting[uuid] = std::move(gpu.values);
  }
  return {{"host", std::move(host)}, {"gpus", std::move(reporting)}};
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

Result<HttpResponse> list_nodes(Leader& leader, const HttpRequest& request) {
  const bool with_values = request.query_value("values") == "true";
  const auto after = request.query_value("after").value_or("");
  ASSAY_TRY(const auto limit, limit_of(request, NodeRegistry::kMaxNodes, NodeRegistry::kMaxNodes));
  json::array nodes;
  for (const auto& node : leader.nodes().all()) {
    if (!after.empty() && node->name() <= after) continue;
    if (nodes.size() == limit) break;
    const NodeStatus status = node->status(leader.clock().now());
    json::object object = node_object(status);
    if (with_values) object["values"] = newest_values(*node, status.state);
    nodes.push_back(std::move(object));
  }
  return json_response(json::object{{"nodes", std::move(nodes)}});
}

json::object trend_object(const GpuTrend& trend) {
  json::array weeks;
  for (const auto& week : trend.weeks) {
    weeks.push_back(json::object{{"start", iso8601(week.start)},
                                 {"hours", week.hours},
                                 {"temperature_c", finite(week.temperature_c)},
                                 {"uncertainty_c", finite(week.uncertainty_c)},
                                 {"throttled_minutes", finite(week.throttled_minutes)}});
  }
  return {{"verdict", name_of(trend.verdict)}, {"why", trend.why},
          {"power_w", finite(trend.power_w)},  {"change_c", finite(trend.change_c)},
          {"low_c", finite(trend.low_c)},      {"high_c", finite(trend.high_c)},
          {"weeks", std::move(weeks)}};
}

Result<HttpResponse> show_trend(Leader& leader, const HttpRequest& request) {
  ASSAY_TRY(const auto node, find_node(leader, request));
  ASSAY_TRY(const auto trends, gpu_trends(leader.series(), node->name(), leader.clock().wall()));
  json::object gpus;
  for (const auto& [gpu, trend] : trends) gpus[gpu] = trend_object(trend);
  return json_response(json::object{{"node", node->name()}, {"gpus", std::move(gpus)}});
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

Result<HttpResponse> list_events(Leader& leader, const HttpRequest& request) {
  const auto text = [&](std::string_view name) { return std::string(request.query_value(name).value_or("")); };
  EventQuery query{.node = text("node"), .kind = text("kind"), .about = text("about")};
  ASSAY_TRY(query.after, place_of(leader, text("before")));
  ASSAY_TRY(query.limit, limit_of(request, 100, 10'000));
  ASSAY_TRY(query.from, time_of(request, "from"));
  ASSAY_TRY(query.to, time_of(request, "to"));
  ASSAY_TRY(const auto page, leader.cluster().events().list(query));
  json::array list;
  for (const auto& event : page.events) {
    json::object values;
    for (const auto& [name, value] : event.values) values[name] = finite(value);
    list.push_back(json::object{{"id", event.id},
                                {"time", iso8601(event.time)},
                                {"node", event.node},
                                {"kind", event.kind},
                                {"about", event.about},
                                {"message", event.message},
                                {"values", std::move(values)}});
  }
  std::string next;
  if (page.next) next = fmt::format("{}.{}", page.next->time.time_since_epoch().count(), page.next->id);
  return json_response(json::object{{"events", std::move(list)}, {"next", next}});
}

Result<HttpResponse> set_draining(Leader& leader, const HttpRequest& request, const Principal& caller, bool draining) {
  ASSAY_TRY(auto body, body_object(request));
  const json::value value(std::move(body));
  JsonFields fields(value, "body");
  const std::string reason = fields.text_or("reason", "");
  ASSAY_CHECK(fields.finish());
  ASSAY_CHECK(leader.set_draining(request.capture("node"), draining, shortened(reason, 1024), caller.name));
  ASSAY_TRY(const auto node, find_node(leader, request));
  return json_response(node_object(node->status(leader.clock().now())));
}

Result<HttpResponse> send_command(Leader& leader, const HttpRequest& request, const Principal& caller) {
  ASSAY_TRY(auto body, body_object(request));
  const json::value value(std::move(body));
  JsonFields fields(value, "body");
  const std::string kind = fields.text("kind");
  const json::object arguments = fields.object_or_empty("arguments");
  const bool force = fields.boolean_or("force", false);
  ASSAY_CHECK(fields.finish());
  ASSAY_TRY(const auto node, find_node(leader, request));
  if (const auto record = node->record(); kind == "run" && record.draining && !force) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("{} is draining{}{}", record.name, record.drain_reason.empty() ? "" : ": ",
                                        record.drain_reason),
                 .hint = "It gets no new work; --force (\"force\": true) gives it some all the same."};
  }
  ASSAY_TRY(const auto command, leader.commands().create(request.capture("node"), kind, arguments, caller.name));
  return json_response(to_json(command));
}

void add_command_endpoints(ApiTable& table, Leader& leader) {
  table.add({.method = "POST",
             .path = "/api/v1/nodes/{node}/commands",
             .scope = Scope::manage,
             .summary = "Ask the agent of a node to do something",
             .parameters = {kNode,
                            {.name = "kind", .in = In::body, .description = "doctor, run or stop", .required = true},
                            {.name = "arguments",
                             .in = In::body,
                             .description = "run: {spec, name}; stop: {id of the run's command}",
                             .type = "object"},
                            {.name = "force",
                             .in = In::body,
                             .description = "true: run on a node that is draining, too",
                             .type = "boolean"}},
             .handle = [&leader](const HttpRequest& request, const Principal& caller) {
               return send_command(leader, request, caller);
             }});
  table.add({.path = "/api/v1/commands",
             .scope = Scope::run,
             .summary = "Commands to agents and what became of them, newest first; without their output",
             .fields = {{"commands", "array"}},
             .handle = [&leader](const HttpRequest&, const Principal&) -> Result<HttpResponse> {
               json::array list;
               for (const auto& command : leader.commands().list()) {
                 json::object object = to_json(command);
                 object.erase("output");  // a MiB each
                 list.push_back(std::move(object));
               }
               return json_response(json::object{{"commands", std::move(list)}});
             }});
  table.add({.path = "/api/v1/commands/{id}",
             .scope = Scope::run,
             .summary = "One command, with its output",
             .parameters = {{.name = "id", .in = In::path, .description = "The id of the command"}},
             .handle = [&leader](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto command, leader.commands().find(request.capture("id")));
               return json_response(to_json(command));
             }});
}

}  // namespace

void add_node_endpoints(ApiTable& table, Leader& leader) {
  table.add(
      {.path = "/api/v1/nodes",
       .summary = "Every node: state, inventory, what runs on its GPUs",
       .parameters = {{.name = "values", .description = "true: with the newest values", .type = "boolean"},
                      {.name = "after", .description = "After the node of this name: the next page"},
                      {.name = "limit", .description = "At most so many (all)", .type = "integer"}},
       .fields = {{"nodes", "array"}},
       .handle = [&leader](const HttpRequest& request, const Principal&) { return list_nodes(leader, request); }});
  table.add({.path = "/api/v1/nodes/{node}",
             .summary = "One node, with the newest values",
             .parameters = {kNode},
             .handle = [&leader](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto node, find_node(leader, request));
               const NodeStatus status = node->status(leader.clock().now());
               json::object object = node_object(status);
               object["values"] = newest_values(*node, status.state);
               return json_response(object);
             }});
  table.add(
      {.path = "/api/v1/nodes/{node}/trend",
       .summary = "How each GPU develops over weeks: temperature at equal power, minutes of throttling",
       .parameters = {kNode},
       .fields = {{"node", "string"}, {"gpus", "object"}},
       .handle = [&leader](const HttpRequest& request, const Principal&) { return show_trend(leader, request); }});
  for (const bool draining : {true, false}) {
    table.add({.method = "POST",
               .path = draining ? "/api/v1/nodes/{node}/drain" : "/api/v1/nodes/{node}/resume",
               .scope = Scope::manage,
               .summary = draining ? "Give the node no new work" : "Give the node work again",
               .parameters = {kNode, {.name = "reason", .in = In::body, .description = "For those who wonder"}},
               .handle = [&leader, draining](const HttpRequest& request, const Principal& caller) {
                 return set_draining(leader, request, caller, draining);
               }});
  }
  table.add({.method = "DELETE",
             .path = "/api/v1/nodes/{node}",
             .scope = Scope::manage,
             .summary = "Forget a node that is offline",
             .parameters = {kNode, {.name = "erase", .description = "true: and all its telemetry", .type = "boolean"}},
             .handle = [&leader](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_CHECK(leader.forget(request.capture("node"), request.query_value("erase") == "true"));
               return json_response(json::object{});
             }});
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
       .fields = {{"events", "array"}, {"next", "string"}},
       .handle = [&leader](const HttpRequest& request, const Principal&) { return list_events(leader, request); }});
  add_command_endpoints(table, leader);
}

}  // namespace assay
