#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "model/metric.h"
#include "model/run_label.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {

std::optional<Section> resources_section(const Answers& answers) {
  const auto& runs = answers.input.runs;
  constexpr const char* kShown[] = {"gpu.util",          "gpu.memory_used_bytes", "gpu.temperature_c",
                                    "gpu.power_w",       "gpu.sm_clock_mhz",      "host.cpu_util",
                                    "workload.cpu_util", "workload.rss_bytes",    "host.memory_used_bytes"};
  FigureTable table{.id = "resources",
                    .title = "",
                    .columns = {{"run", "Run", "", Align::left, false}, {"name", "Name", "", Align::left, true}},
                    .notes = {"Mean over the run; in brackets the highest value."}};
  std::vector<std::string> shown;
  for (const auto* name : kShown) {
    const bool any =
        std::any_of(runs.begin(), runs.end(), [&](const auto& one) { return summary_of(one.run, name) != nullptr; });
    if (!any) continue;
    shown.emplace_back(name);
    table.columns.push_back({name, name, "", Align::right, false});
  }
  if (shown.empty()) return std::nullopt;
  for (const auto& one : runs) {
    const bool in_study = !one.run.study.empty() && !one.run.variant.empty();
    std::vector<Figure> row = {one.run.id, in_study ? run_label(one.run.variant, one.run.repeat) : one.run.name};
    for (const auto& name : shown) {
      const auto average = mean_of_series(one.run, name);
      const auto highest = highest_of_series(one.run, name).value_or(average.value_or(0));
      const auto* info = find_metric(name);
      const std::string_view unit = info ? info->unit : std::string_view{};
      if (!average) {
        row.emplace_back();
        continue;
      }
      row.emplace_back(fmt::format("{} ({})", format_value(*average, unit), format_value(highest, unit)), *average);
      row.back().parts = {{"max", highest}};
    }
    table.rows.push_back(std::move(row));
  }
  return Section{.blocks = {std::move(table)}, .in_terminal = false};
}

}  // namespace assay
