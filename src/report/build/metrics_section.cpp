#include <fmt/format.h>

#include <algorithm>

#include "model/metric.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {

std::optional<Section> metrics_section(const Answers& answers) {
  const ReportInput& input = answers.input;
  const bool answered = answers.serving || answers.nodes || answers.scaling || has_configurations(answers);
  if (answered && input.runs.size() > 2) return std::nullopt;
  FigureTable table{.id = "metrics", .title = "", .columns = {{"metric", "Metric", "", Align::left, true}}};
  constexpr std::size_t kMostRuns = 8;
  const std::size_t shown = std::min(input.runs.size(), kMostRuns);
  std::vector<std::string> names;
  for (const auto& metric : known_metrics()) names.emplace_back(metric.name);
  for (std::size_t i = 0; i < shown; ++i) {
    const Run& run = input.runs[i].run;
    const std::string title = usable(run) ? run.name : fmt::format("{} ({})", run.name, verdict_name(run));
    table.columns.push_back({run.id, shown == 1 ? "Value" : title, "", Align::right, false});
    for (const auto& [name, value] : run.metrics) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const auto& name : names) {
    const auto* info = find_metric(name);
    std::vector<Figure> row = {Figure(name)};
    bool any = false;
    for (std::size_t i = 0; i < shown; ++i) {
      row.push_back(value_figure(metric_of(input.runs[i].run, name), info ? info->unit : "",
                                 usable(input.runs[i].run) ? Tone::plain : Tone::muted));
      any |= !row.back().text.empty();
    }
    if (any) table.rows.push_back(std::move(row));
  }
  if (input.runs.size() > shown)
    table.notes.push_back(fmt::format("The first {} of {} runs.", shown, input.runs.size()));
  return Section{.blocks = {std::move(table)}};
}

}  // namespace assay
