#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <memory>

#include "base/text.h"
#include "base/units.h"
#include "cluster_view.h"
#include "commands.h"
#include "doctor_view.h"
#include "leader_place.h"
#include "net/url.h"
#include "report/sparkline.h"
#include "report/table.h"

namespace assay {
namespace {

struct NodesOptions {
  std::string node;
  std::string reason;
  std::string spec;
  std::string name;
  std::string id;
  bool erase = false;
  bool wait = true;
  LeaderClient::Options leader;
};

std::string path_of(const std::string& node, std::string_view rest = "") {
  return fmt::format("/api/v1/nodes/{}{}", percent_encode(node), rest);
}

Result<std::map<std::string, std::size_t>> alerts_by_node(LeaderClient& client) {
  ASSAY_TRY(const auto value, client.get("/api/v1/alerts"));
  JsonFields fields(value, "alerts");
  std::map<std::string, std::size_t> counts;
  for (const auto& entry : fields.array_or_empty("alerts")) {
    JsonFields alert(entry, "alert");
    if (alert.text_or("severity", "") != "info") ++counts[alert.text_or("node", "")];
  }
  return counts;
}

Table table_of(const std::vector<NodeLine>& lines) {
  Table table({{"Node"},
               {"State"},
               {"GPUs", Align::left, true},
               {"Use", Align::right},
               {"Memory", Align::right},
               {"Hottest", Align::right},
               {"Power", Align::right},
               {"CPU", Align::right},
               {"RAM", Align::right},
               {"Alerts", Align::right}});
  for (const auto& line : lines) {
    const bool here = line.state != "offline";
    const auto value = [&](double number, std::string_view unit) { return here ? value_or_dash(number, unit) : "-"; };
    const double use = line.mean("gpu.util");
    const double memory = line.sum("gpu.memory_used_bytes") / line.sum("gpu.memory_total_bytes");
    const double hottest = line.highest("gpu.temperature_c");
    const double ram = line.host_value("host.memory_used_bytes");
    const double share = ram / (ram + line.host_value("host.memory_available_bytes"));
    table.add({Cell(line.name, Colour::bold),
               Cell(line.simulated ? line.state + ", simulated" : line.state, colour_of_state(line.state)),
               line.gpu_text(), Cell(value(use, "ratio"), colour_of_use(use)), value(memory, "ratio"),
               Cell(value(hottest, "°C"), colour_of_temperature(hottest)), value(line.sum("gpu.power_w"), "W"),
               value(line.host_value("host.cpu_util"), "ratio"), value(share, "ratio"),
               Cell(line.alerts > 0 ? std::to_string(line.alerts) : "", Colour::red)});
  }
  return table;
}

int list_nodes(const Context& context, LeaderClient& client) {
  const auto value = client.get("/api/v1/nodes?values=true");
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  auto alerts = alerts_by_node(client);
  if (!alerts) return context.fail(alerts.error());
  const auto status = client.get("/api/v1/status");
  if (!status) return context.fail(status.error());
  std::vector<NodeLine> lines;
  JsonFields fields(*value, "nodes");
  std::map<std::string, int> states;
  for (const auto& entry : fields.array_or_empty("nodes")) {
    auto line = node_line_from(entry);
    if (!line) return context.fail(line.error());
    line->alerts = (*alerts)[line->name];
    ++states[line->state];
    lines.push_back(std::move(*line));
  }
  const TerminalStyle style = context.out_style();
  if (lines.empty()) {
    print("No node has joined yet.\n  assay token create --role agent --out join.token\n  assay agent --leader " +
          client.url() + " --token-file join.token\n");
    return 0;
  }
  print(table_of(lines).render(style, 0));
  std::string summary;
  for (const auto& [state, count] : states)
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, state);
  print(style.paint(Colour::dim, summary + "\n"));
  JsonFields own(*status, "status");
  for (const auto& problem : own.array_or_empty("problems")) {
    if (problem.is_string())
      print_error(fmt::format("{} {}\n", style.paint(Colour::red, "leader:"), printable(problem.as_string())));
  }
  return 0;
}

std::string facts_text(const json::value& value) {
  JsonFields fields(value, "node");
  std::string text;
  for (const auto& [name, fact] : fields.text_map_or_empty("facts")) {
    text += fmt::format("  {:<14} {}\n", printable(name), printable(fact));
  }
  return text;
}

int show_node(const Context& context, LeaderClient& client, const std::string& node) {
  const auto value = client.get(path_of(node));
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  const auto line = node_line_from(*value);
  if (!line) return context.fail(line.error());
  const TerminalStyle style = context.out_style();
  print(fmt::format("{}  {}{}\n", style.paint(Colour::bold, line->name),
                    style.paint(colour_of_state(line->state), line->state),
                    line->simulated ? style.paint(Colour::yellow, "  simulated") : ""));
  if (!line->drain_reason.empty()) print(fmt::format("  draining       {}\n", line->drain_reason));
  print(fmt::format("  last seen      {}\n", line->last_seen));
  print(facts_text(*value));
  if (line->gpus.empty()) return 0;
  Table table({{"GPU"},
               {"Model"},
               {"Use"},
               {"", Align::right},
               {"Memory", Align::right},
               {"Temp.", Align::right},
               {"Power", Align::right},
               {"SM clock", Align::right},
               {"UUID", Align::left, true}});
  for (const auto& gpu : line->gpus) {
    const double use = gpu.value("gpu.util");
    const double hot = gpu.value("gpu.temperature_c");
    table.add({gpu.index, Cell(gpu.model, Colour::bold), Cell(bar(use, 10, style), colour_of_use(use)),
               value_or_dash(use, "ratio"), value_or_dash(gpu.value("gpu.memory_used_bytes"), "B"),
               Cell(value_or_dash(hot, "°C"), colour_of_temperature(hot)), value_or_dash(gpu.value("gpu.power_w"), "W"),
               value_or_dash(gpu.value("gpu.sm_clock_mhz"), "MHz"), Cell(gpu.uuid, Colour::dim)});
  }
  print("\n" + table.render(style));
  return 0;
}

int show_trend(const Context& context, LeaderClient& client, const std::string& node) {
  const auto value = client.get(path_of(node, "/trend"));
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  const TerminalStyle style = context.out_style();
  Table table({{"GPU", Align::left, true},
               {"Verdict"},
               {"At", Align::right},
               {"Change", Align::right},
               {"Weekly temperature"},
               {"Throttled, last week", Align::right}});
  std::string reasons;
  JsonFields fields(*value, "trend");
  for (const auto& [gpu, entry] : fields.object_or_empty("gpus")) {
    JsonFields trend(entry, "trend");
    std::vector<double> weeks;
    double throttled = std::nan("");
    for (const auto& week : trend.array_or_empty("weeks")) {
      JsonFields of_week(week, "week");
      weeks.push_back(of_week.number("temperature_c"));
      throttled = of_week.number("throttled_minutes");
    }
    const std::string verdict = trend.text("verdict");
    const Colour colour = verdict == "hotter" ? Colour::red : verdict == "steady" ? Colour::green : Colour::dim;
    table.add({printable(gpu), Cell(verdict, colour), value_or_dash(trend.number("power_w"), "W"),
               value_or_dash(trend.number("change_c"), "°C"), sparkline(weeks, 24, style),
               value_or_dash(throttled, "min")});
    reasons += fmt::format("  {}: {}\n", printable(gpu), printable(trend.text("why")));
  }
  print(table.empty() ? "There is no telemetry of its GPUs.\n"
                      : table.render(style, 0) + style.paint(Colour::dim, reasons));
  return 0;
}

/// What a command printed; what a doctor found reads better as a table.
void print_output(const Context& context, const std::string& output) {
  if (const auto value = parse_json(output); value && value->is_object()) {
    const auto* result = value->as_object().if_contains("result");
    const auto* findings =
        result != nullptr && result->is_object() ? result->as_object().if_contains("findings") : nullptr;
    if (findings != nullptr && findings->is_array()) {
      print_findings(context, findings->as_array());
      return;
    }
  }
  if (!output.empty()) print(printable(output) + "\n");
}

/// Waits until the agent has reported. A doctor takes seconds; a run as long as it takes.
int follow_command(const Context& context, LeaderClient& client, const std::string& id, bool wait) {
  std::string last;
  while (true) {
    const auto value = client.get("/api/v1/commands/" + id);
    if (!value) return context.fail(value.error());
    JsonFields fields(*value, "command");
    const std::string state = fields.text("state");
    const bool over = state != "waiting" && state != "running";
    if (!context.json && !context.quiet && state != last) print_error(fmt::format("{}: {}\n", id, state));
    last = state;
    if (!over && wait) {
      ::usleep(300'000);
      continue;
    }
    if (context.json)
      return context.answer(state == "failed" || state == "refused" ? 1 : 0, value->as_object(), nullptr);
    print_output(context, fields.text_or("output", ""));
    if (const std::string message = fields.text_or("message", ""); !message.empty())
      print_error(printable(message) + "\n");
    return state == "done" || !over ? 0 : 1;
  }
}

int send_command(const Context& context, LeaderClient& client, const NodesOptions& options, const std::string& kind) {
  json::object arguments;
  if (kind == "run") {
    const auto spec = read_file(options.spec, std::size_t{1} << 20);
    if (!spec) return context.fail(spec.error());
    arguments = {{"spec", *spec}, {"name", options.name}};
  } else if (kind == "stop") {
    arguments = {{"id", options.id}};
  }
  const auto value =
      client.send("POST", path_of(options.node, "/commands"), {{"kind", kind}, {"arguments", arguments}});
  if (!value) return context.fail(value.error());
  JsonFields fields(*value, "command");
  return follow_command(context, client, fields.text("id"), options.wait);
}

struct NodeCommands {
  CLI::App *list, *show, *trend, *drain, *resume, *forget, *doctor, *run, *stop;
};

NodeCommands add_node_commands(CLI::App& command, NodesOptions& options) {
  const auto add = [&](const char* name, const char* help) {
    auto* made = command.add_subcommand(name, help);
    made->add_option("NODE", options.node, "The name of the node")->required();
    return made;
  };
  NodeCommands made{.list = command.add_subcommand("list", "All nodes (this is what `assay nodes` alone does)"),
                    .show = add("show", "One node in detail"),
                    .trend = add("trend", "How its GPUs develop over weeks"),
                    .drain = add("drain", "Give it no new work"),
                    .resume = add("resume", "Give it work again"),
                    .forget = add("forget", "Forget a node that is offline"),
                    .doctor = add("doctor", "Ask its agent whether the machine is ready"),
                    .run = add("run", "Run a specification on it, by its agent (started with --allow run)"),
                    .stop = add("stop", "Stop such a run")};
  made.drain->add_option("--reason", options.reason, "For those who wonder")->type_name("TEXT");
  made.forget->add_flag("--erase", options.erase, "And all its telemetry");
  made.run->add_option("SPEC", options.spec, "The specification")->required()->type_name("FILE");
  made.run->add_option("--name", options.name, "What the run is called")->type_name("NAME");
  made.run->add_flag("--wait,!--no-wait", options.wait, "Wait for its end");
  made.stop->add_option("ID", options.id, "What `assay nodes run` said")->required();
  return made;
}

}  // namespace

Action add_nodes(CLI::App& app, Context& context) {
  auto options = std::make_shared<NodesOptions>();
  auto* command =
      app.add_subcommand("nodes", "The nodes of the cluster, and what may be done to them")->group("Cluster");
  command->require_subcommand(0, 1);
  add_leader_options(*command, options->leader);
  const NodeCommands chosen = add_node_commands(*command, *options);
  command->footer(R"(
Examples:
  assay nodes                          a line for each
  assay nodes show gpu03               its GPUs
  assay nodes drain gpu03 --reason 'fan 2 is loud'
  assay nodes doctor gpu03)");
  return [&context, options, chosen]() -> int {
    auto client = LeaderClient::connect(context, options->leader);
    if (!client) return context.fail(client.error());
    const std::string& node = options->node;
    if (chosen.show->parsed()) return show_node(context, *client, node);
    if (chosen.trend->parsed()) return show_trend(context, *client, node);
    if (chosen.drain->parsed()) {
      return change_at_leader(context, *client, "POST", path_of(node, "/drain"), {{"reason", options->reason}},
                              node + " gets no new work.");
    }
    if (chosen.resume->parsed()) {
      return change_at_leader(context, *client, "POST", path_of(node, "/resume"), {}, node + " gets work again.");
    }
    if (chosen.forget->parsed()) {
      return change_at_leader(context, *client, "DELETE", path_of(node, options->erase ? "?erase=true" : ""), {},
                              node + " is forgotten.");
    }
    if (chosen.doctor->parsed()) return send_command(context, *client, *options, "doctor");
    if (chosen.run->parsed()) return send_command(context, *client, *options, "run");
    if (chosen.stop->parsed()) return send_command(context, *client, *options, "stop");
    return list_nodes(context, *client);
  };
}

}  // namespace assay
