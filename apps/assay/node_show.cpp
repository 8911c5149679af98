#include "node_show.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "cluster_view.h"
#include "net/url.h"
#include "report/text/table.h"

namespace assay {
namespace {

std::string when(std::string_view iso) {
  const auto time = parse_iso8601(iso);
  return time ? local_time(*time) : printable(iso);
}

std::string line(std::string_view label, std::string_view text) {
  return text.empty() ? "" : fmt::format("  {:<12}  {}\n", label, text);
}

std::string texts_of(const json::array& values) {
  std::string text;
  for (const auto& value : values) {
    if (value.is_string()) text += fmt::format("{}{}", text.empty() ? "" : ", ", printable(value.as_string()));
  }
  return text;
}

std::string machine_text(const json::value& node, const NodeLine& now) {
  JsonFields fields(node, "node");
  std::string text =
      line("last seen", when(now.last_seen)) + line("known since", when(fields.text_or("first_seen", "")));
  for (const auto& [name, fact] : fields.text_map_or_empty("facts")) {
    const bool is_memory = name == "memory_bytes";
    text += line(is_memory ? "memory" : printable(name),
                 is_memory ? format_value(std::strtod(fact.c_str(), nullptr), "B") : printable(fact));
  }
  text += line("agent", printable(fields.text_or("version", "")));
  const std::string allowed = texts_of(fields.array_or_empty("allow"));
  text += line("it allows", allowed.empty() ? "nothing" : allowed);
  if (const double skew = fields.number_or("clock_skew_s", std::nan("")); std::abs(skew) >= 0.1) {
    text +=
        line("its clock", fmt::format("{:.1f} s {} the leader's", std::abs(skew), skew > 0 ? "ahead of" : "behind"));
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

std::string alerts_table(const json::value& alerts, const TerminalStyle& style) {
  Table table({{"Alert"}, {"Severity"}, {"Since"}, {"What", Align::left, true}});
  JsonFields fields(alerts, "alerts");
  for (const auto& entry : fields.array_or_empty("alerts")) {
    JsonFields alert(entry, "alert");
    const std::string severity = alert.text_or("severity", "");
    table.add({printable(alert.text("id")), Cell(severity, colour_of_severity(severity)),
               local_time(WallTime(Nanos(alert.integer_or("since_ns", 0)))), printable(alert.text("what"))});
  }
  return table.empty() ? "" : "\n" + table.render(style);
}

/// What its agent is asked to do and has not ended yet.
std::string work_table(const json::value& commands, const std::string& node, const TerminalStyle& style) {
  Table table({{"Under way"}, {"Kind"}, {"State"}, {"Since"}, {"By", Align::left, true}});
  JsonFields fields(commands, "commands");
  for (const auto& entry : fields.array_or_empty("commands")) {
    JsonFields command(entry, "command");
    const std::string state = command.text("state");
    if (command.text("node") != node || (state != "waiting" && state != "running")) continue;
    table.add({command.text("id"), command.text("kind"), state, when(command.text_or("created", "")),
               printable(command.text_or("by", ""))});
  }
  return table.empty() ? "" : "\n" + table.render(style) + "  `assay nodes stop NODE ID` ends a run.\n";
}

}  // namespace

std::string events_table(const json::value& events, bool with_node, const TerminalStyle& style) {
  std::vector<Column> columns = {{"Time"}, {"Event"}, {"What", Align::left, true}};
  if (with_node) columns.insert(columns.begin() + 1, {"Node"});
  Table table(std::move(columns));
  JsonFields fields(events, "events");
  for (const auto& entry : fields.array_or_empty("events")) {
    JsonFields event(entry, "event");
    std::vector<Cell> row = {when(event.text("time")), printable(event.text("kind")),
                             printable(event.text_or("message", ""))};
    if (with_node) row.insert(row.begin() + 1, Cell(printable(event.text("node")), Colour::bold));
    table.add(std::move(row));
  }
  return table.empty() ? "" : table.render(style);
}

int show_node(const Context& context, Connection& client, const std::string& name) {
  const auto value = client.get("/api/v1/nodes/" + percent_encode(name));
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  auto node = node_line_from(*value);
  if (!node) return context.fail(node.error());
  node->drop_old_values();
  const auto alerts = client.get("/api/v1/alerts?node=" + percent_encode(name));
  if (!alerts) return context.fail(alerts.error());
  const auto events = client.get("/api/v1/events?limit=8&node=" + percent_encode(name));
  if (!events) return context.fail(events.error());
  const TerminalStyle style = context.out_style();
  std::string text = fmt::format("{}  {}\n", style.paint(Colour::bold, node->name),
                                 style.paint(colour_of_state(node->state), node->state_text()));
  text += machine_text(*value, *node) + gpus_table(*node, style) + alerts_table(*alerts, style);
  // Viewers may not see what others do.
  if (const auto commands = client.get("/api/v1/commands")) text += work_table(*commands, name, style);
  if (const std::string table = events_table(*events, false, style); !table.empty()) text += "\n" + table;
  print(text);
  return 0;
}

}  // namespace assay
