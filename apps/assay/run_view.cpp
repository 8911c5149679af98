#include "run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "model/metric.h"
#include "model/run_label.h"
#include "report/build/recorded.h"
#include "report/text/plain_text.h"
#include "report/text/sparkline.h"
#include "report/text/table.h"
#include "runs/study_run.h"
#include "store/journal/journal.h"
#include "store/read_journals.h"
#include "store/run_store.h"
#include "times_view.h"

namespace assay {
namespace {

constexpr std::size_t kSparkWidth = 24;
/// Of the longest names of series of a host: shorter, they could not be told apart.
constexpr int kNameWidth = 35;
constexpr std::size_t kMostRows = 24;
constexpr std::size_t kMostNodesShown = 4;  ///< with as many rows each
constexpr std::size_t kUuidShown = 12;      ///< of a GPU's: as much as people tell GPUs by

/// Collects the values of every series, for the sparklines.
class Courses final : public JournalVisitor {
 public:
  void on_points(const SeriesKey& key, std::string_view, std::span<const SeriesPoint> points) override {
    auto& values = values_[key];
    for (const auto& point : points) values.push_back(point.value);
  }
  std::span<const double> of(const SeriesSummary& series) const {
    const auto found = values_.find({series.name, series.labels});
    return found == values_.end() ? std::span<const double>() : found->second;
  }

 private:
  std::map<SeriesKey, std::vector<double>> values_;
};

bool is_system_metric(std::string_view name) {
  return name.starts_with("host.") || name.starts_with("gpu.") || name.starts_with("workload.");
}

std::string series_title(const SeriesSummary& series) {
  std::string title = series.name;
  for (const auto& [label, value] : series.labels) {
    const bool is_long = label == "gpu" && value.starts_with("GPU-") && value.size() > kUuidShown;
    title += fmt::format(" {}={}{}", label, is_long ? value.substr(0, kUuidShown) : value, is_long ? "…" : "");
  }
  return title;
}

std::string unit_of(std::string_view name) {
  const MetricInfo* info = find_metric(name);
  return info ? std::string(info->unit) : std::string();
}

constexpr std::size_t kIndent = 12;  ///< of what stands behind a label

std::size_t text_width(const TerminalStyle& style) {
  return static_cast<std::size_t>(std::max(style.width, 60)) - kIndent;
}

void heading(std::string& out, const TerminalStyle& style, std::string_view title) {
  out += fmt::format("\n  {}\n", style.paint(Colour::bold, title));
}

void line(std::string& out, const TerminalStyle& style, std::string_view label, std::string_view text) {
  if (text.empty()) return;
  const std::string head = fmt::format("  {:<{}}", label, kIndent - 2);
  out += fmt::format("{}{}\n", style.paint(Colour::dim, head), text);
}

/// The same in as many lines as it takes.
void lines(std::string& out, const TerminalStyle& style, std::string_view label, std::string_view text) {
  for (const auto& row : wrap_text(text, text_width(style))) line(out, style, std::exchange(label, ""), row);
}

/// The series of one table; those of several nodes metric by metric, so that nodes can be compared. Of a machine, what
/// moved comes first: there are many series that say nothing as long as they stand still.
std::vector<const SeriesSummary*> rows_of(const Run& run, bool system, std::size_t& most) {
  std::vector<const SeriesSummary*> rows;
  std::set<std::string_view> nodes;
  for (const auto& series : run.series) {
    if (is_system_metric(series.name) != system) continue;
    rows.push_back(&series);
    if (const auto node = series.labels.find("node"); node != series.labels.end()) nodes.insert(node->second);
  }
  if (system)
    std::stable_partition(rows.begin(), rows.end(), [](const SeriesSummary* row) { return row->min != row->max; });
  most = kMostRows * std::clamp<std::size_t>(nodes.size(), 1, kMostNodesShown);
  if (nodes.empty()) return rows;
  std::map<std::string_view, std::size_t> places;
  for (const auto* row : rows) places.try_emplace(row->name, places.size());
  std::stable_sort(rows.begin(), rows.end(), [&](const SeriesSummary* one, const SeriesSummary* other) {
    return places.at(one->name) < places.at(other->name);
  });
  return rows;
}

std::string series_table(const Run& run, const Courses& courses, bool system, const TerminalStyle& style) {
  Table table({{system ? "System" : "Metric", Align::left, true, 0, kNameWidth},
               {"Last", Align::right},
               {"Mean", Align::right, false, 1},
               {"Min", Align::right, false, 3},
               {"Max", Align::right, false, 2},
               {"Points", Align::right, false, 5},
               {"Course", Align::left, false, 4}});
  std::size_t most = 0;
  auto rows = rows_of(run, system, most);
  const std::size_t left_out = rows.size() - std::min(rows.size(), most);
  rows.resize(rows.size() - left_out);
  for (const auto* row : rows) {
    const SeriesSummary& series = *row;
    const std::string unit = series.unit.empty() ? unit_of(series.name) : series.unit;
    const bool any = series.points > series.non_finite;
    const auto value = [&](double number) { return any ? format_value(number, unit) : std::string("-"); };
    table.add({series_title(series), Cell(value(series.last), Colour::bold), value(series.mean), value(series.min),
               value(series.max), format_count(static_cast<double>(series.points)),
               Cell(sparkline(courses.of(series), kSparkWidth, style), Colour::cyan)});
  }
  if (table.empty()) return {};
  std::string out = "\n" + table.render(style);
  if (left_out) out += fmt::format("  and {} more: `assay show {} --json`\n", left_out, run.id);
  return out;
}

/// Final figures that are not the last point of a series: they would be shown twice.
std::string result_tables(const Run& run, const TerminalStyle& style) {
  std::map<std::string, double> last;
  for (const auto& series : run.series) last[series.name] = series.last;
  const TimesView times = view_times(run.metrics, style);
  Table table({{"Result", Align::left, true}, {"Value", Align::right}});
  for (const auto& [name, value] : run.metrics) {
    if (times.shown.contains(name)) continue;
    if (const auto found = last.find(name); found != last.end() && found->second == value) continue;
    table.add({name, Cell(format_value(value, unit_of(name)), Colour::bold)});
  }
  std::string out;
  if (!times.table.empty()) out += "\n" + times.table;
  if (!table.empty()) out += "\n" + table.render(style);
  return out;
}

std::string machine_line(const Provenance& provenance) {
  std::vector<std::string> parts;
  if (!provenance.hostname.empty()) parts.push_back(provenance.hostname);
  if (!provenance.cpu_model.empty())
    parts.push_back(fmt::format("{} × {}", provenance.cpu_cores, provenance.cpu_model));
  if (provenance.memory_bytes) parts.push_back(format_bytes({provenance.memory_bytes}));
  std::map<std::string, int> gpus;
  for (const auto& gpu : provenance.gpus) ++gpus[gpu.name];
  for (const auto& [name, count] : gpus) parts.push_back(fmt::format("{} × {}", count, name));
  // What was imported says nothing of the machine.
  if (gpus.empty() && provenance.machine_cores > 0) parts.emplace_back("no GPU");
  return join(parts, " · ");
}

std::string software_line(const Provenance& provenance) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) parts.push_back(fmt::format("{}{}", label, value));
  };
  add("", provenance.os);
  add("Linux ", provenance.kernel);
  add("driver ", provenance.gpu_driver);
  add("Python ", provenance.python_version);
  add("PyTorch ", provenance.torch_version);
  if (!provenance.git_commit.empty()) {
    parts.push_back(fmt::format("git {}{}", provenance.git_commit.substr(0, 10),
                                provenance.git_dirty.value_or(false) ? " (changed)" : ""));
  }
  return join(parts, " · ");
}

/// On one line, even if an argument is a script of many.
std::string command_line(const Provenance& provenance, const TerminalStyle& style) {
  std::string text = join(provenance.command, " ");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return shorten(printable(text), static_cast<std::size_t>(std::max(style.width - 14, 40)), style);
}

/// Model, batch, optimiser, seed and all the rest, as many to a line as there is room for. What was run is in the
/// command.
void describe_settings(std::string& out, const Run& run, const TerminalStyle& style) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : settings_of(run)) {
    if (name != "command" && name != "kind") parts.push_back(fmt::format("{}={}", name, printable(value)));
  }
  std::string row;
  std::string_view label = "Settings";
  const auto flush = [&] {
    line(out, style, label, row);
    label = "";
    row.clear();
  };
  for (const auto& part : parts) {
    if (!row.empty() && display_width(row) + 2 + display_width(part) > text_width(style)) flush();
    row += (row.empty() ? "" : "  ") + part;
  }
  flush();
}

void describe_problems(std::string& out, const Run& run, const TerminalStyle& style) {
  if (run.error) {
    out += fmt::format("\n  {} {}\n", style.paint(Colour::red, fmt::format("{}:", name_of(run.error->kind))),
                       run.error->message);
    if (!run.error->hint.empty()) out += fmt::format("  {}\n", run.error->hint);
  }
  if (run.flags.empty()) return;
  heading(out, style, "Flags");
  for (const auto& flag : run.flags) {
    out += fmt::format("  {} {}  {}\n", style.paint(Colour::yellow, style.pick("⚑", "!")),
                       style.paint(Colour::yellow, flag.kind), flag.message);
  }
}

/// Why runs of a study failed; the same reason once, with those that it hit.
std::string describe_failures(const StudyOutcome& outcome, const TerminalStyle& style) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const auto& run : outcome.runs) {
    if (!run.error) continue;
    auto& hit = reasons[fmt::format("{}: {}", name_of(run.error->kind), run.error->message)];
    if (std::find(hit.begin(), hit.end(), run.variant) == hit.end()) hit.push_back(run.variant);
  }
  std::string out;
  for (const auto& [reason, variants] : reasons) {
    out += fmt::format("  {} {}\n    {}\n", style.paint(Colour::red, style.pick("✘", "x")), reason,
                       style.paint(Colour::dim, join(variants, "; ")));
  }
  return out;
}

}  // namespace

Colour verdict_colour(Verdict verdict, RunState state) {
  if (state != RunState::ended) return Colour::cyan;
  switch (verdict) {
    case Verdict::valid: return Colour::green;
    case Verdict::flagged: return Colour::yellow;
    case Verdict::invalid:
    case Verdict::failed: return Colour::red;
    case Verdict::interrupted: return Colour::yellow;
    case Verdict::none: return Colour::plain;
  }
  return Colour::plain;
}

std::string verdict_text(Verdict verdict, RunState state, const TerminalStyle& style) {
  if (state != RunState::ended) return fmt::format("{} {}", style.pick("▸", ">"), name_of(state));
  switch (verdict) {
    case Verdict::valid: return fmt::format("{} valid", style.pick("✔", "+"));
    case Verdict::flagged: return fmt::format("{} flagged", style.pick("⚑", "!"));
    case Verdict::invalid: return fmt::format("{} invalid", style.pick("✘", "x"));
    case Verdict::failed: return fmt::format("{} failed", style.pick("✘", "x"));
    case Verdict::interrupted: return fmt::format("{} interrupted", style.pick("■", "#"));
    case Verdict::none: break;
  }
  return std::string(name_of(verdict));
}

namespace {

/// What to do about a run that nobody records.
std::string owner_hint(const Run& run, const TerminalStyle& style) {
  return fmt::format("  {} It goes on at {}; record the rest with: assay run --resume {}\n",
                     style.paint(Colour::yellow, "Without an owner."), run.placement.place, run.id);
}

std::string describe_run(const Run& run, const Courses& courses, const TerminalStyle& style) {
  std::string out;
  const std::string label = run.study.empty() ? "" : run_label(run.variant, run.repeat);
  out += fmt::format("\n  {}  {}{}  {}\n\n", style.paint(Colour::bold, run.name), style.paint(Colour::dim, run.id),
                     label.empty() ? "" : "  " + label,
                     style.paint(verdict_colour(run.verdict, run.state), verdict_text(run.verdict, run.state, style)));
  std::string time = run.duration > Nanos(0) ? format_duration(run.duration) : "not recorded";
  if (run.state != RunState::ended) time = "since " + local_time(run.started == WallTime{} ? run.created : run.started);
  if (const auto cpu = run.metrics.find("cpu_seconds"); cpu != run.metrics.end()) {
    time += fmt::format("  (CPU {})", format_value(cpu->second, "s"));
  }
  if (run.started != WallTime{}) line(out, style, "Started", local_time(run.started));
  line(out, style, "Time", time);
  line(out, style, "Command", command_line(run.provenance, style));
  describe_settings(out, run, style);
  lines(out, style, "Tags", join(run.tags, ", "));
  line(out, style, "Place", run.placement.place);
  lines(out, style, "Machine", machine_line(run.provenance));
  lines(out, style, "Software", software_line(run.provenance));
  describe_problems(out, run, style);
  out += series_table(run, courses, false, style);
  out += result_tables(run, style);
  return out + series_table(run, courses, true, style);
}

}  // namespace

std::string describe_run(const Run& run, RunStore& store, const std::string& data_folder, const TerminalStyle& style) {
  Courses courses;
  // Without its points the rest is still worth showing.
  (void)read_journal(store, run.id, courses).ok();
  std::string out = describe_run(run, courses, style) + "\n";
  if (is_without_owner(store, run).value_or(false)) out += owner_hint(run, style);
  if (!data_folder.empty()) {
    out += fmt::format("  {}\n\n", style.paint(Colour::dim, fmt::format("{}/runs/{}", data_folder, run.id)));
  }
  return style.unicode ? out : in_ascii(out);
}

std::string describe_study(const Study& study, const StudyOutcome& outcome, const TerminalStyle& style) {
  // The first of those that there are; others are in `assay show`.
  std::vector<std::string> metrics;
  for (const auto name : metrics_shown(&MetricInfo::Places::study)) {
    const bool any = std::any_of(outcome.runs.begin(), outcome.runs.end(),
                                 [&](const Run& run) { return run.metrics.contains(std::string(name)); });
    if (any && metrics.size() < 4) metrics.emplace_back(name);
  }
  std::vector<Column> columns = {{"Run"},
                                 {"Variant", Align::left, true, 0, 20},
                                 {"Repeat", Align::right},
                                 {"Seed", Align::right, false, 1},
                                 {"Verdict"},
                                 {"Time", Align::right}};
  for (const auto& name : metrics) columns.push_back({name, Align::right});
  Table table(columns);
  for (const auto& run : outcome.runs) {
    const auto seed = run.provenance.seeds.find("run");
    std::vector<Cell> row = {run.id,
                             run.variant,
                             std::to_string(run.repeat + 1),
                             seed == run.provenance.seeds.end() ? std::string("-") : std::to_string(seed->second),
                             Cell(verdict_text(run.verdict, run.state, style), verdict_colour(run.verdict, run.state)),
                             format_duration(run.duration)};
    for (const auto& name : metrics) {
      const auto found = run.metrics.find(name);
      row.emplace_back(found == run.metrics.end() ? std::string("-") : format_value(found->second, unit_of(name)));
    }
    table.add(std::move(row));
  }
  std::string out = fmt::format("\n  {}  {}\n\n", style.paint(Colour::bold, study.name),
                                style.paint(Colour::dim, "study " + study.id));
  out += table.render(style);
  out += fmt::format("\n  {} of {} runs valid\n", outcome.valid, study.plan.size());
  out += describe_failures(outcome, style);
  if (outcome.interrupted) {
    out +=
        fmt::format("  {} Go on with: assay run --resume {}\n", style.paint(Colour::yellow, "Interrupted."), study.id);
  }
  return out + "\n";
}

}  // namespace assay
