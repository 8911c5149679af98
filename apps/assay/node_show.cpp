#include "node_show.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "client/ask.h"
#include "cluster_view.h"
#include "net/url_text.h"
#include "report/text/table.h"

namespace assay {
namespace {

std::string line(std::string_view label, std::string_view text) {
  return text.empty() ? "" : fmt::format("  {:<12}  {}\n", label, text);
}

std::string machine_text(const NodeAnswer& node, const NodeLine& now) {
  const NodeRecord& record = node.record;
  std::string text =
      line("last seen", local_time(record.last_seen)) + line("known since", local_time(record.first_seen));
  if (const auto& maintenance = record.maintenance) {
    text += line("maintenance",
                 fmt::format("from {} to {}", local_time(maintenance->from), local_time(maintenance->until)));
  }
  for (const auto& [name, fact] : record.facts) {
    const bool is_memory = name == "memory_bytes";
    text += line(is_memory ? "memory" : printable(name),
                 is_memory ? format_value(std::strtod(fact.c_str(), nullptr), "B") : printable(fact));
  }
  text += line("agent", printable(record.version));
  text += line("it allows", record.allow.empty() ? "nothing" : printable(join(record.allow, ", ")));
  if (!node.clock_note.empty()) {
    text += line("its clock", printable(node.clock_note));
  } else if (const double skew = node.clock_skew_s; std::abs(skew) >= 0.1) {
    text +=
        line("its clock", fmt::format("{:.1f} s {} the leader's", std::abs(skew), skew > 0 ? "ahead of" : "behind"));
  }
  if (node.history) {
    const auto bytes = [](std::uint64_t count) { return format_bytes(Bytes{static_cast<std::int64_t>(count)}); };
    text += line("its history",
                 fmt::format("{} of {}, {} series of {}", bytes(node.history->bytes), bytes(node.history->most_bytes),
                             node.history->series, node.history->most_series));
  }
  const double used = now.host_value("host.memory_used_bytes");
  const double free = now.host_value("host.memory_available_bytes");
  if (!std::isnan(used)) {
    text += line("now", fmt::format("CPU {}, RAM {} of {}", value_or_dash(now.host_value("host.cpu_util"), "ratio"),
                                    value_or_dash(used, "B"), value_or_dash(used + free, "B")));
  }
  return text;
}

std::string gpus_table(const NodeLine& node, const TerminalStyle& style) {
  Table table({{"GPU"},
               {"Model", Align::left, true, 2},
               {"Use", Align::left, false, 4},
               {"Use", Align::right},
               {"Memory", Align::right},
               {"Temp.", Align::right},
               {"Power", Align::right},
               {"SM clock", Align::right, false, 1},
               {"UUID", Align::left, true, 3}});
  for (const auto& gpu : node.gpus) {
    const double use = gpu.value("gpu.util");
    const double hot = gpu.value("gpu.temperature_c");
    table.add({gpu.index, Cell(gpu.model, Colour::bold), Cell(bar(use, 10, style), colour_of_use(use)),
               gpu.silent() && !node.offline() ? Cell("no readings", Colour::red) : Cell(value_or_dash(use, "ratio")),
               value_or_dash(gpu.value("gpu.memory_used_bytes"), "B"),
               Cell(value_or_dash(hot, "°C"), colour_of_temperature(hot)), value_or_dash(gpu.value("gpu.power_w"), "W"),
               value_or_dash(gpu.value("gpu.sm_clock_mhz"), "MHz"), Cell(gpu.uuid, Colour::dim)});
  }
  return table.empty() ? "" : "\n" + table.render(style);
}

std::string alerts_table(const AlertList& list, const TerminalStyle& style) {
  Table table({{"Alert"}, {"Severity"}, {"Since"}, {"What", Align::left, true}});
  for (const auto& record : list.alerts) {
    const Alert& alert = record.alert;
    table.add({printable(alert.id), Cell(std::string(name_of(alert.severity)), colour_of(alert.severity)),
               local_time(alert.since), printable(alert.what)});
  }
  return table.empty() ? "" : "\n" + table.render(style);
}

/// What its agent is asked to do and has not ended yet.
std::string work_table(const CommandList& list, const std::string& node, const TerminalStyle& style) {
  Table table({{"Under way"}, {"Kind"}, {"State"}, {"Since"}, {"By", Align::left, true}});
  for (const auto& command : list.commands) {
    if (command.node != node || command.is_over()) continue;
    table.add({command.id, command.kind, std::string(name_of(command.state)), local_time(command.created),
               printable(command.by)});
  }
  return table.empty() ? "" : "\n" + table.render(style) + "  `assay nodes stop NODE ID` ends a run.\n";
}

}  // namespace

std::string events_table(const std::vector<ClusterEvent>& events, bool with_node, const TerminalStyle& style) {
  std::vector<Column> columns = {{"Time"}, {"Event", Align::left, false, 1}, {"What", Align::left, true, 0, 24}};
  if (with_node) columns.insert(columns.begin() + 1, {"Node"});
  Table table(std::move(columns));
  for (const auto& event : events) {
    std::vector<Cell> row = {local_time(event.time), printable(event.kind), printable(event.message)};
    if (with_node) row.insert(row.begin() + 1, Cell(printable(event.node), Colour::bold));
    table.add(std::move(row));
  }
  return table.empty() ? "" : table.render(style);
}

int show_node(const Context& context, Connection& client, const std::string& name) {
  const auto value = client.get("/api/v1/nodes/" + percent_encode(name));
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  const auto node = read_api<NodeAnswer>(*value);
  if (!node) return context.fail(node.error());
  NodeLine now = line_of(*node);
  now.drop_old_values();
  const auto alerts = all_open_alerts(client, name);
  if (!alerts) return context.fail(alerts.error());
  const auto events = ask<EventList>(client, "/api/v1/events?limit=8&node=" + percent_encode(name));
  if (!events) return context.fail(events.error());
  const TerminalStyle style = context.out_style();
  std::string text =
      fmt::format("{}  {}\n", style.paint(Colour::bold, now.name), style.paint(colour_of(now.state), now.state_text()));
  text += machine_text(*node, now) + gpus_table(now, style) + alerts_table(*alerts, style);
  // Viewers may not see what others do.
  if (const auto commands = ask<CommandList>(client, "/api/v1/commands")) text += work_table(*commands, name, style);
  if (const std::string table = events_table(events->events, false, style); !table.empty()) text += "\n" + table;
  print(text);
  return 0;
}

}  // namespace assay
