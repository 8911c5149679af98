#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/run_label.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

constexpr std::size_t kLongestTrouble = 160;
constexpr std::size_t kMostInTerminal = 40;

std::string end_of(const Run& run) {
  if (run.signal) return fmt::format("signal {}", *run.signal);
  return run.exit_code ? fmt::format("{}", *run.exit_code) : std::string();
}

std::string first_line(const std::string& text) {
  const std::string line = text.substr(0, std::min(text.find('\n'), text.size()));
  return line.size() > kLongestTrouble ? printable(line.substr(0, kLongestTrouble)) + "…" : line;
}

}  // namespace

std::optional<Section> runs_section(const Answers& answers) {
  const auto& runs = answers.input.runs;
  const auto same_name = [&](const RecordedRun& one) { return one.run.name == runs.front().run.name; };
  const auto has_variant = [](const RecordedRun& one) { return !one.run.variant.empty(); };
  const bool variants = std::any_of(runs.begin(), runs.end(), has_variant);
  const bool names = !variants || !std::all_of(runs.begin(), runs.end(), same_name);
  FigureTable table{.id = "runs", .columns = {{"run", "Run", "", Align::left, false}}};
  if (names) table.columns.push_back({"name", "Name", "", Align::left, true});
  if (variants) table.columns.push_back({"configuration", "Configuration", "", Align::left, true});
  const std::vector<FigureColumn> rest = {{"verdict", "Verdict", "", Align::left, false},
                                          {"exit", "Exit", "", Align::right, false},
                                          {"duration_s", "Duration (s)", "", Align::right, false},
                                          {"host", "Host", "", Align::left, false},
                                          {"last_error", "Last error or flag", "", Align::left, true}};
  table.columns.insert(table.columns.end(), rest.begin(), rest.end());
  for (const auto& one : runs) {
    const Run& run = one.run;
    const double seconds = seconds_of(run.duration);
    std::vector<Figure> row = {run.id};
    if (names) row.emplace_back(run.name);
    if (variants) row.emplace_back(run_label(run.variant, run.repeat));
    row.emplace_back(std::string(verdict_name(run)), tone_of(run.verdict));
    row.emplace_back(end_of(run));
    row.push_back(seconds > 0 ? seconds_figure(seconds) : seconds_figure(metric_of(run, "duration_seconds")));
    row.emplace_back(run.provenance.hostname);
    row.emplace_back(first_line(trouble_of(run)), Tone::muted);
    table.rows.push_back(std::move(row));
  }
  return Section{.blocks = {std::move(table)}, .in_terminal = runs.size() <= kMostInTerminal};
}

}  // namespace assay
