#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "model/metric.h"
#include "model/run_label.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

std::vector<Figure> resources_row(const Run& run, const std::string& title, const std::vector<std::string>& shown) {
  std::vector<Figure> row = {run.id, title};
  for (const auto& name : shown) {
    const auto average = mean_of_series(run, name);
    if (!average) {
      row.emplace_back();
      continue;
    }
    const auto highest = highest_of_series(run, name).value_or(*average);
    const auto* info = find_metric(name);
    const std::string_view unit = info ? info->unit : std::string_view{};
    row.emplace_back(fmt::format("{} ({})", format_value(*average, unit), format_value(highest, unit)), *average);
    row.back().parts = {{"max", highest}};
  }
  return row;
}

}  // namespace

std::optional<Section> resources_section(const Answers& answers) {
  const auto& runs = answers.input.runs;
  FigureTable table{.id = "resources",
                    .title = "",
                    .columns = {{"run", "Run", "", Align::left, false}, {"name", "Name", "", Align::left, true}},
                    .notes = {"Mean over the run; in brackets the highest value."}};
  std::vector<std::string> shown;
  for (const auto name : metrics_shown(&MetricInfo::Places::resource)) {
    const bool any =
        std::any_of(runs.begin(), runs.end(), [&](const auto& one) { return summary_of(one.run, name) != nullptr; });
    if (!any) continue;
    shown.emplace_back(name);
    table.columns.push_back({shown.back(), shown.back(), "", Align::right, false});
  }
  if (shown.empty()) return std::nullopt;
  for (const auto& one : runs) {
    const bool in_study = !one.run.study.empty() && !one.run.variant.empty();
    const std::string name = in_study ? run_label(one.run.variant, one.run.repeat) : one.run.name;
    table.rows.push_back(resources_row(one.run, name, shown));
    for (const auto& node : measured_nodes(one.run)) {
      table.rows.push_back(resources_row(part_of_node(one.run, node), fmt::format("{}, {}", name, node), shown));
    }
  }
  return Section{.blocks = {std::move(table)}, .in_terminal = false};
}

}  // namespace assay
