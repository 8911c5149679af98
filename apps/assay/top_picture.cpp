#include "top_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "report/text/table.h"

namespace assay {
namespace {

/// A GPU with its node: what a line of the GPU view shows.
struct GpuRow {
  const NodeLine* node = nullptr;
  const GpuLine* gpu = nullptr;
};

double sort_value(const NodeLine& line, TopView::Sort sort) {
  switch (sort) {
    case TopView::Sort::use: return line.mean("gpu.util");
    case TopView::Sort::temperature: return line.highest("gpu.temperature_c");
    case TopView::Sort::power: return line.sum("gpu.power_w");
    case TopView::Sort::name: break;
  }
  return 0;
}

double sort_value(const GpuRow& row, TopView::Sort sort) {
  switch (sort) {
    case TopView::Sort::use: return row.gpu->value("gpu.util");
    case TopView::Sort::temperature: return row.gpu->value("gpu.temperature_c");
    case TopView::Sort::power: return row.gpu->value("gpu.power_w");
    case TopView::Sort::name: break;
  }
  return 0;
}

/// The highest first. Lines come by name, and stay so where they are equal.
template <typename Line>
void sort_lines(std::vector<Line>& lines, TopView::Sort sort) {
  std::stable_sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    const double x = sort_value(a, sort);
    const double y = sort_value(b, sort);
    // What is not known comes last.
    return (std::isnan(x) ? -1 : x) > (std::isnan(y) ? -1 : y);
  });
}

std::string headline(const TopModel& model, const std::vector<NodeLine>& lines, const TerminalStyle& style) {
  std::size_t online = 0;
  std::size_t gpus = 0;
  std::size_t silent = 0;
  std::size_t simulated = 0;
  double power = 0;
  double use = 0;
  std::size_t used = 0;
  for (const auto& line : lines) {
    simulated += line.simulated ? 1 : 0;
    if (line.offline()) continue;
    ++online;
    gpus += line.gpus.size();
    if (const double watts = line.sum("gpu.power_w"); !std::isnan(watts)) power += watts;
    for (const auto& gpu : line.gpus) {
      silent += gpu.silent() ? 1 : 0;
      if (const double busy = gpu.value("gpu.util"); !std::isnan(busy)) {
        use += busy;
        ++used;
      }
    }
  }
  std::string text = fmt::format("assay top  {} of {} nodes online, {} GPUs", online, lines.size(), gpus);
  if (used > 0) text += fmt::format(" at {:.0f} %, {:.1f} kW", 100 * use / static_cast<double>(used), power / 1000);
  if (silent > 0) text += fmt::format(", {} without readings", silent);
  if (model.open_alerts() > 0)
    text += fmt::format(", {} alert{}", model.open_alerts(), model.open_alerts() == 1 ? "" : "s");
  if (simulated > 0) text += fmt::format(", {} node{} simulated", simulated, simulated == 1 ? "" : "s");
  text += "  " + local_time(WallTime(std::chrono::milliseconds(model.time_ms())));
  return style.paint(Colour::bold, shorten(text, static_cast<std::size_t>(style.width), style)) + "\n";
}

/// "critical  4 min  GPU 3 of gpu07 …", the gravest; and how many more there are.
std::string alert_text(const TopModel& model, std::size_t most, const TerminalStyle& style) {
  const auto alerts = model.alert_lines();
  std::string text;
  for (std::size_t i = 0; i < std::min(most, alerts.size()); ++i) {
    const auto& alert = alerts[i];
    const std::string age =
        format_duration(std::chrono::milliseconds(std::max<std::int64_t>(0, model.time_ms() - alert.since_ms)));
    const std::string line = fmt::format("{:<8}  {:>11}  {}", name_of(alert.severity), age, alert.what);
    text += style.paint(colour_of(alert.severity), shorten(line, static_cast<std::size_t>(style.width), style));
    text += '\n';
  }
  if (alerts.size() > most) {
    text += style.paint(Colour::dim, fmt::format("{} more: assay alerts", alerts.size() - most)) + "\n";
  }
  return text;
}

Table node_table(const std::vector<NodeLine>& lines, const TerminalStyle& style) {
  Table table({{"Node"},
               {"State"},
               {"GPUs", Align::left, false, 2},
               {"Use", Align::left, false, 4},
               {"Use", Align::right},
               {"Memory", Align::left, false, 5},
               {"Memory", Align::right, false, 1},
               {"Hottest", Align::right},
               {"Power", Align::right},
               {"CPU", Align::right, false, 3},
               {"Alerts", Align::right}});
  for (const auto& line : lines) {
    const double use = line.mean("gpu.util");
    const double memory = line.sum("gpu.memory_used_bytes") / line.sum("gpu.memory_total_bytes");
    const double hot = line.highest("gpu.temperature_c");
    table.add({Cell(line.name, Colour::bold),
               Cell(fmt::format("{}{}", name_of(line.state), line.simulated ? " ~" : ""), colour_of(line.state)),
               std::to_string(line.gpus.size()), Cell(bar(use, 12, style), colour_of_use(use)),
               value_or_dash(use, "ratio"), Cell(bar(memory, 8, style), Colour::blue), value_or_dash(memory, "ratio"),
               Cell(value_or_dash(hot, "°C"), colour_of_temperature(hot)), value_or_dash(line.sum("gpu.power_w"), "W"),
               value_or_dash(line.host_value("host.cpu_util"), "ratio"),
               Cell(line.alerts > 0 ? std::to_string(line.alerts) : "", Colour::red)});
  }
  return table;
}

Table gpu_table(const std::vector<GpuRow>& rows, const TerminalStyle& style) {
  Table table({{"Node"},
               {"GPU"},
               {"Model", Align::left, true, 4},
               {"Use", Align::left, false, 3},
               {"Use", Align::right},
               {"Memory", Align::right},
               {"Temp.", Align::right},
               {"Power", Align::right},
               {"SM clock", Align::right, false, 2},
               {""}});
  for (const auto& [node, gpu] : rows) {
    const double use = gpu->value("gpu.util");
    const double hot = gpu->value("gpu.temperature_c");
    table.add({Cell(node->name, Colour::bold), gpu->index, gpu->model, Cell(bar(use, 12, style), colour_of_use(use)),
               value_or_dash(use, "ratio"), value_or_dash(gpu->value("gpu.memory_used_bytes"), "B"),
               Cell(value_or_dash(hot, "°C"), colour_of_temperature(hot)),
               value_or_dash(gpu->value("gpu.power_w"), "W"), value_or_dash(gpu->value("gpu.sm_clock_mhz"), "MHz"),
               Cell(node->offline() ? "offline"
                    : gpu->silent() ? "no readings"
                                    : "",
                    Colour::red)});
  }
  return table;
}

std::string table_text(std::vector<NodeLine>& lines, const TopView& view, const TerminalStyle& style) {
  if (!view.gpus) {
    sort_lines(lines, view.sort);
    return node_table(lines, style).render(style, 0);
  }
  std::vector<GpuRow> rows;
  for (const auto& line : lines) {
    for (const auto& gpu : line.gpus) rows.push_back({.node = &line, .gpu = &gpu});
  }
  sort_lines(rows, view.sort);
  return gpu_table(rows, style).render(style, 0);
}

std::string help_text() {
  std::string text;
  for (const auto part : split(kTopKeys, '\n')) text += fmt::format("  {}\n", part);
  return text;
}

}  // namespace

const char* const kTopKeys =
    "q         quit\n"
    "g         a line for each GPU, or for each node\n"
    "n u t p   sort by name, use, temperature, power\n"
    "up, down  scroll\n"
    "h ?       these keys";

std::string draw_top(const TopModel& model, const TopView& view, const TerminalStyle& style, std::size_t rows,
                     const std::string& notice) {
  auto lines = model.lines();
  std::string text = headline(model, lines, style);
  if (!notice.empty())
    text += style.paint(Colour::yellow, shorten(notice, static_cast<std::size_t>(style.width), style)) + "\n";
  if (view.help) return text + help_text();
  text += alert_text(model, rows < 16 ? 1 : 3, style);
  const std::string table = table_text(lines, view, style);
  const auto table_lines = split(std::string_view(table).substr(0, table.size() - 1), '\n');
  // Titles and rule stay, the rest scrolls; the last line says how much is not shown.
  constexpr std::size_t kTitles = 2;
  const std::size_t body = table_lines.size() - kTitles;
  const auto used = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + kTitles;
  const std::size_t room = rows > used ? rows - used : 0;
  const std::size_t shown = body <= room ? body : room - std::min<std::size_t>(room, 1);
  const std::size_t first = std::min(view.first, body - shown);
  for (std::size_t i = 0; i < kTitles + shown; ++i) {
    text += table_lines[i < kTitles ? i : first + i];
    text += '\n';
  }
  if (shown < body && room > 0) {
    text += style.paint(Colour::dim, fmt::format("{} more: {}", body - shown, style.pick("↑ ↓", "up, down"))) + "\n";
  }
  return text;
}

}  // namespace assay
