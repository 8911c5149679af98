#include "top_screen.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/text.h"
#include "context.h"
#include "report/table.h"

namespace assay {
namespace {

double sort_value(const NodeLine& line, TopView::Sort sort) {
  switch (sort) {
    case TopView::Sort::use: return line.mean("gpu.util");
    case TopView::Sort::temperature: return line.highest("gpu.temperature_c");
    case TopView::Sort::power: return line.sum("gpu.power_w");
    case TopView::Sort::name: break;
  }
  return 0;
}

void sort_lines(std::vector<NodeLine>& lines, TopView::Sort sort) {
  std::stable_sort(lines.begin(), lines.end(), [&](const NodeLine& a, const NodeLine& b) {
    const double x = sort_value(a, sort);
    const double y = sort_value(b, sort);
    // What is not known comes last.
    return (std::isnan(x) ? -1 : x) > (std::isnan(y) ? -1 : y);
  });
}

std::string headline(const TopModel& model, const std::vector<NodeLine>& lines, const TerminalStyle& style) {
  std::size_t online = 0;
  std::size_t gpus = 0;
  std::size_t simulated = 0;
  double power = 0;
  double use = 0;
  std::size_t used = 0;
  for (const auto& line : lines) {
    if (line.state == "offline") continue;
    ++online;
    simulated += line.simulated ? 1 : 0;
    gpus += line.gpus.size();
    if (const double watts = line.sum("gpu.power_w"); !std::isnan(watts)) power += watts;
    for (const auto& gpu : line.gpus) {
      if (const double busy = gpu.value("gpu.util"); !std::isnan(busy)) {
        use += busy;
        ++used;
      }
    }
  }
  std::string text = fmt::format("{}  {} of {} nodes", style.paint(Colour::bold, "assay top"), online, lines.size());
  if (simulated > 0) text += style.paint(Colour::yellow, fmt::format(" ({} simulated)", simulated));
  text += fmt::format(", {} GPUs", gpus);
  if (used > 0) text += fmt::format(" at {:.0f} %, {:.1f} kW", 100 * use / static_cast<double>(used), power / 1000);
  if (model.open_alerts() > 0) text += style.paint(Colour::red, fmt::format(", {} alerts", model.open_alerts()));
  text += style.paint(Colour::dim, "  " + local_time(WallTime(std::chrono::milliseconds(model.time_ms()))));
  return text + "\n";
}

Table node_table(const std::vector<NodeLine>& lines, const TerminalStyle& style) {
  Table table({{"Node"},
               {"State"},
               {"GPUs"},
               {"Use"},
               {"", Align::right},
               {"Memory"},
               {"", Align::right},
               {"Hottest", Align::right},
               {"Power", Align::right},
               {"CPU", Align::right},
               {"Alerts", Align::right}});
  for (const auto& line : lines) {
    const double use = line.mean("gpu.util");
    const double memory = line.sum("gpu.memory_used_bytes") / line.sum("gpu.memory_total_bytes");
    const double hot = line.highest("gpu.temperature_c");
    table.add({Cell(line.name, Colour::bold),
               Cell(line.simulated ? line.state + " ~" : line.state, colour_of_state(line.state)),
               std::to_string(line.gpus.size()), Cell(bar(use, 12, style), colour_of_use(use)),
               value_or_dash(use, "ratio"), Cell(bar(memory, 8, style), Colour::blue), value_or_dash(memory, "ratio"),
               Cell(value_or_dash(hot, "°C"), colour_of_temperature(hot)), value_or_dash(line.sum("gpu.power_w"), "W"),
               value_or_dash(line.host_value("host.cpu_util"), "ratio"),
               Cell(line.alerts > 0 ? std::to_string(line.alerts) : "", Colour::red)});
  }
  return table;
}

Table gpu_table(const std::vector<NodeLine>& lines, const TerminalStyle& style) {
  Table table({{"Node"},
               {"GPU"},
               {"Model", Align::left, true},
               {"Use"},
               {"", Align::right},
               {"Memory", Align::right},
               {"Temp.", Align::right},
               {"Power", Align::right},
               {"SM clock", Align::right}});
  for (const auto& line : lines) {
    for (const auto& gpu : line.gpus) {
      const double use = gpu.value("gpu.util");
      const double hot = gpu.value("gpu.temperature_c");
      table.add({Cell(line.name, Colour::bold), gpu.index, gpu.model, Cell(bar(use, 12, style), colour_of_use(use)),
                 value_or_dash(use, "ratio"), value_or_dash(gpu.value("gpu.memory_used_bytes"), "B"),
                 Cell(value_or_dash(hot, "°C"), colour_of_temperature(hot)),
                 value_or_dash(gpu.value("gpu.power_w"), "W"), value_or_dash(gpu.value("gpu.sm_clock_mhz"), "MHz")});
    }
  }
  return table;
}

}  // namespace

std::string draw_top(const TopModel& model, const TopView& view, const TerminalStyle& style, std::size_t rows,
                     const std::string& notice) {
  auto lines = model.lines();
  if (view.sort != TopView::Sort::name) sort_lines(lines, view.sort);
  std::string text = headline(model, lines, style);
  if (!notice.empty()) text += style.paint(Colour::yellow, notice) + "\n";
  for (const auto& [severity, what] : model.alert_lines(3)) {
    text += style.paint(severity == "critical" ? Colour::red : Colour::yellow,
                        shorten(what, static_cast<std::size_t>(style.width), style)) +
            "\n";
  }
  const std::string table = (view.gpus ? gpu_table(lines, style) : node_table(lines, style)).render(style, 0);
  const auto table_lines = split(std::string_view(table).substr(0, table.empty() ? 0 : table.size() - 1), '\n');
  const auto used = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  const std::size_t room = rows > used + 3 ? rows - used - 1 : 3;
  // Title and rule stay, the rest scrolls.
  const std::size_t body = table_lines.size() > 2 ? table_lines.size() - 2 : 0;
  const std::size_t shown = std::min(body, room - 2);
  const std::size_t first = std::min(view.first, body - shown);
  for (std::size_t i = 0; i < std::min<std::size_t>(2, table_lines.size()); ++i)
    text += std::string(table_lines[i]) + "\n";
  for (std::size_t i = 0; i < shown; ++i) text += std::string(table_lines[2 + first + i]) + "\n";
  if (shown < body) text += style.paint(Colour::dim, fmt::format("{} more: ↑ ↓", body - shown)) + "\n";
  return text;
}

FullScreen::FullScreen() {
  if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  print("\x1b[?1049h\x1b[?25l");
}

FullScreen::~FullScreen() {
  print("\x1b[?25h\x1b[?1049l");
  if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void FullScreen::show(const std::string& picture) {
  // Line by line over what was there: clearing first would flicker.
  std::string out = "\x1b[H";
  for (const char c : picture) {
    if (c == '\n') out += "\x1b[K";
    out += c;
  }
  print(out + "\x1b[J");
}

char FullScreen::key() {
  pollfd waiting{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  char bytes[3] = {};
  if (!changed_ || ::poll(&waiting, 1, 0) <= 0 || ::read(STDIN_FILENO, bytes, sizeof bytes) <= 0) return 0;
  if (bytes[0] == '\x1b' && bytes[1] == '[') return bytes[2] == 'A' ? 'U' : bytes[2] == 'B' ? 'D' : '\0';
  return bytes[0];
}

std::size_t FullScreen::rows() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

}  // namespace assay
