#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "access/token_record.h"
#include "api/offer_types.h"
#include "base/text.h"
#include "base/units.h"
#include "client/ask.h"
#include "cluster_view.h"
#include "commands.h"
#include "leader_place.h"
#include "net/url_text.h"
#include "node_doctor.h"
#include "node_show.h"
#include "report/text/sparkline.h"
#include "report/text/table.h"

namespace assay {
namespace {

struct NodesOptions {
  std::string reason;
  std::string in;
  std::string length;
  std::string state;
  std::string node;
  bool erase = false;
};

std::string path_of(const std::string& node, std::string_view rest = "") {
  return fmt::format("/api/v1/nodes/{}{}", percent_encode(node), rest);
}

Result<std::map<std::string, std::size_t>> alerts_by_node(Connection& client) {
  ASSAY_TRY(const auto list, all_open_alerts(client));
  std::map<std::string, std::size_t> counts;
  for (const auto& record : list.alerts) {
    if (record.alert.severity != AlertSeverity::info) ++counts[record.alert.node];
  }
  return counts;
}

Table table_of(const std::vector<NodeLine>& lines) {
  Table table({{"Node"},
               {"State", Align::left, true},
               {"GPUs", Align::left, true, 3},
               {"Use", Align::right},
               {"Memory", Align::right, false, 1},
               {"Hottest", Align::right},
               {"Power", Align::right},
               {"CPU", Align::right, false, 2},
               {"RAM", Align::right, false, 4},
               {"Alerts", Align::right}});
  for (const auto& line : lines) {
    const double use = line.mean("gpu.util");
    const double memory = line.sum("gpu.memory_used_bytes") / line.sum("gpu.memory_total_bytes");
    const double hottest = line.highest("gpu.temperature_c");
    const double ram = line.host_value("host.memory_used_bytes");
    const double share = ram / (ram + line.host_value("host.memory_available_bytes"));
    table.add({Cell(line.name, Colour::bold), Cell(line.state_text(), colour_of(line.state)), line.gpu_text(),
               Cell(value_or_dash(use, "ratio"), colour_of_use(use)), value_or_dash(memory, "ratio"),
               Cell(value_or_dash(hottest, "°C"), colour_of_temperature(hottest)),
               value_or_dash(line.sum("gpu.power_w"), "W"), value_or_dash(line.host_value("host.cpu_util"), "ratio"),
               value_or_dash(share, "ratio"), Cell(line.alerts > 0 ? std::to_string(line.alerts) : "", Colour::red)});
  }
  return table;
}

int list_nodes(const Context& context, Connection& client, const std::string& state) {
  const auto list = all_nodes(client, true);
  if (!list) return context.fail(list.error());
  if (context.json) return context.succeed(write_api(*list));
  auto alerts = alerts_by_node(client);
  if (!alerts) return context.fail(alerts.error());
  std::vector<NodeLine> lines;
  std::map<std::string, int> states;
  for (const auto& node : list->nodes) {
    NodeLine line = line_of(node);
    line.drop_old_values();
    line.alerts = (*alerts)[node.record.name];
    const std::string name(name_of(line.state));
    ++states[name];
    if (state.empty() || name == state) lines.push_back(std::move(line));
  }
  const TerminalStyle style = context.out_style();
  if (states.empty()) {
    print("No node has joined yet.\n  assay token create --role agent --out join.token\n  assay agent --leader " +
          client.address() + " --token-file join.token\n");
    return 0;
  }
  if (!lines.empty()) print(table_of(lines).render(style, 0));
  std::string summary;
  for (const auto& [name, count] : states) summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, name);
  print(style.paint(Colour::dim, summary + "\n"));
  const auto printed = print_problems(context, client);
  return printed ? 0 : context.fail(printed.error());
}

int show_trend(const Context& context, Connection& client, const std::string& node) {
  const auto value = client.get(path_of(node, "/trend"));
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  const auto trends = read_api<NodeTrends>(*value);
  if (!trends) return context.fail(trends.error());
  const TerminalStyle style = context.out_style();
  Table table({{"GPU", Align::left, true},
               {"Verdict"},
               {"At", Align::right},
               {"Change", Align::right},
               {"Weekly temperature"},
               {"Throttled, last week", Align::right}});
  std::string reasons;
  for (const auto& [gpu, trend] : trends->gpus) {
    std::vector<double> weeks;
    double throttled = std::nan("");
    for (const auto& week : trend.weeks) {
      weeks.push_back(week.temperature_c);
      throttled = week.throttled_minutes;
    }
    const Colour colour = trend.verdict == "hotter"   ? Colour::red
                          : trend.verdict == "steady" ? Colour::green
                                                      : Colour::dim;
    table.add({printable(gpu), Cell(trend.verdict, colour), value_or_dash(trend.power_w, "W"),
               value_or_dash(trend.change_c, "°C"), sparkline(weeks, 24, style), value_or_dash(throttled, "min")});
    reasons += fmt::format("  {}: {}\n", printable(gpu), printable(trend.why));
  }
  print(table.empty() ? "There is no telemetry of its GPUs.\n"
                      : table.render(style, 0) + style.paint(Colour::dim, reasons));
  return 0;
}

/// Without a name: says who waits.
int approve_node(const Context& context, Connection& client, const std::string& node) {
  if (!node.empty()) {
    return change_at_leader(context, client, "POST", path_of(node, "/approve"), {}, node + " is let in.");
  }
  const auto book = ask<JoinTokenList>(client, "/api/v1/join-tokens?waiting=true");
  if (!book) return context.fail(book.error());
  json::array waiting;
  for (const auto& key : book->keys) waiting.push_back(write_api(key));
  if (context.json) return context.succeed({{"waiting", std::move(waiting)}});
  Table table({{"Node"}, {"Asked"}, {"With token"}});
  for (const auto& key : book->keys) {
    table.add({Cell(printable(key.node), Colour::bold), local_time(key.joined), printable(key.by_token)});
  }
  print(table.empty() ? "No node waits to be let in.\n" : table.render(context.out_style(), 0));
  if (!book->next_key.empty()) print("There are more.\n");
  return 0;
}

/// One by name, or all that a pattern fits and that are offline: those that are not go on, and are named.
int forget_nodes(const Context& context, Connection& client, const NodesOptions& options) {
  const std::string ending = options.erase ? "?erase=true" : "";
  if (options.node.find_first_of("*?[") == std::string::npos) {
    return change_at_leader(context, client, "DELETE", path_of(options.node, ending), {},
                            options.node + " is forgotten.");
  }
  const auto list = all_nodes(client);
  if (!list) return context.fail(list.error());
  json::array forgotten, kept;
  for (const auto& node : list->nodes) {
    const std::string& name = node.record.name;
    if (!matches_node_pattern(options.node, name)) continue;
    if (node.state != NodeState::offline) {
      kept.emplace_back(name);
      continue;
    }
    if (const auto done = tell(client, "DELETE", path_of(name, ending)); !done) return context.fail(done.error());
    forgotten.emplace_back(name);
  }
  if (!context.json && !context.quiet) {
    print(fmt::format("{} forgotten{}\n", forgotten.size(),
                      kept.empty() ? "" : fmt::format(", {} not: they are not offline", kept.size())));
  }
  return context.succeed({{"forgotten", std::move(forgotten)}, {"kept", std::move(kept)}});
}

std::string drained_text(const NodesOptions& options) {
  if (!options.in.empty()) {
    return fmt::format("{} is left alone in {} for {}: what would not have ended by then is not begun there.",
                       options.node, options.in, options.length);
  }
  return fmt::format("{} gets no new work{}.", options.node,
                     options.length.empty() ? "" : fmt::format(" for {}", options.length));
}

struct NodeCommands {
  CLI::App *list, *show, *trend, *approve, *drain, *resume, *forget, *dismiss, *doctor;
};

NodeCommands add_node_commands(CLI::App& command, NodesOptions& options) {
  const auto add = [&](const char* name, const char* help) {
    auto* made = command.add_subcommand(name, help);
    made->add_option("NODE", options.node, "The name of the node")->required();
    return made;
  };
  NodeCommands made{
      .list = command.add_subcommand("list", "All nodes (this is what `assay nodes` alone does)"),
      .show = add("show", "One node in detail"),
      .trend = add("trend", "How its GPUs develop over weeks"),
      .approve = command.add_subcommand("approve", "Let in a node that waits; without a name, say who does"),
      .drain = add("drain", "Give it no new work"),
      .resume = add("resume", "Give it work again"),
      .forget = add("forget", "Forget a node that is offline, or all of a pattern: 'made-up-*'"),
      .dismiss = add("dismiss", "You know what was refused of it: show it no more"),
      .doctor = add("doctor", "Ask its agent whether the machine is ready")};
  made.approve->add_option("NODE", options.node, "The name of the node");
  made.drain->add_option("--reason", options.reason, "For those who wonder")->type_name("TEXT");
  auto* length = made.drain->add_option("--for", options.length, "For so long; then it gets work again by itself");
  length->type_name("TIME");
  made.drain->add_option("--in", options.in, "Not now, but then: until then it does what will have ended")
      ->needs(length)
      ->type_name("TIME");
  made.forget->add_flag("--erase", options.erase, "And all its telemetry");
  command.add_option("--state", options.state, "Only nodes in this state: online, late, offline, draining")
      ->check(CLI::IsMember({"online", "late", "offline", "draining"}))
      ->type_name("STATE");
  return made;
}

}  // namespace

Action add_nodes(CLI::App& app, Context& context) {
  auto options = std::make_shared<NodesOptions>();
  auto* command =
      app.add_subcommand("nodes", "The nodes of the cluster, and what may be done to them")->group("Cluster");
  command->require_subcommand(0, 1);
  const NodeCommands chosen = add_node_commands(*command, *options);
  command->footer(R"(
Examples:
  assay nodes                          a line for each
  assay nodes --state offline          those that are away
  assay nodes show gpu03               its GPUs, its alerts, what happened on it, what it does
  assay nodes approve gpu03            it waits to be let in; from here or, with an administrator's token, --leader URL
  assay nodes drain gpu03 --reason 'fan 2 is loud'
  assay nodes drain gpu03 --in 8h --for 2h --reason 'new fans'
  assay nodes forget 'made-up-*' --erase  all that a stolen token let in, once that was revoked
  assay nodes doctor gpu03)");
  return [&context, options, chosen]() -> int {
    auto client = connect_to_leader(context);
    if (!client) return context.fail(client.error());
    const std::string& node = options->node;
    if (chosen.show->parsed()) return show_node(context, **client, node);
    if (chosen.trend->parsed()) return show_trend(context, **client, node);
    if (chosen.approve->parsed()) return approve_node(context, **client, node);
    if (chosen.drain->parsed()) {
      return change_at_leader(
          context, **client, "POST", path_of(node, "/drain"),
          write_api(DrainRequest{.reason = options->reason, .in = options->in, .length = options->length}),
          drained_text(*options));
    }
    if (chosen.resume->parsed()) {
      return change_at_leader(context, **client, "POST", path_of(node, "/resume"), {}, node + " gets work again.");
    }
    if (chosen.forget->parsed()) return forget_nodes(context, **client, *options);
    if (chosen.dismiss->parsed()) {
      return change_at_leader(context, **client, "DELETE", path_of(node, "/refusals"), {},
                              "What was refused of " + node + " is shown no more.");
    }
    if (chosen.doctor->parsed()) return ask_for_doctor(context, **client, node);
    return list_nodes(context, **client, options->state);
  };
}

}  // namespace assay
