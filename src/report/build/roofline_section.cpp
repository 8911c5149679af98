#include <algorithm>

#include "analysis/roofline.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {

std::optional<Section> roofline_section(const Answers& answers) {
  XyChart chart{.x = {.label = "Arithmetic intensity (FLOP per byte)", .unit = "", .logarithmic = true},
                .y = {.label = "Performance", .unit = "FLOP/s", .logarithmic = true}};
  FigureTable table{.id = "roofline",
                    .title = "",
                    .columns = {{"configuration", "Configuration", "", Align::left, true},
                                {"intensity", "FLOP/byte", "", Align::right, false},
                                {"achieved", "Achieved", "", Align::right, false},
                                {"attainable", "Attainable", "", Align::right, false},
                                {"share_percent", "Of the roof", " %", Align::right, false},
                                {"bound", "Bound by", "", Align::left, false}},
                    .notes = {"Ceilings are those measured on the same device in the same run."}};
  std::optional<std::pair<double, double>> ceilings;
  double least = 1e300;
  double most = 0;
  for (const auto& arm : answers.arms) {
    if (!arm.has_result()) continue;
    const auto flops = mean_metric(arm, "flops_per_second");
    const auto bytes = mean_metric(arm, "memory_bytes_per_second");
    const auto peak = mean_metric(arm, "peak_flops_per_second");
    const auto bandwidth = mean_metric(arm, "peak_memory_bytes_per_second");
    if (!flops || !bytes || !peak || !bandwidth) continue;
    const auto point = place_on_roofline({arm.name, *flops, *bytes, 1}, {"compute", *peak}, {"memory", *bandwidth});
    if (!point) continue;
    if (!ceilings) ceilings = std::pair(*peak, *bandwidth);
    least = std::min(least, point->intensity);
    most = std::max(most, point->intensity);
    table.rows.push_back({arm.name, rate_figure(point->intensity), value_figure(point->achieved, "FLOP/s"),
                          value_figure(point->attainable, "FLOP/s"), percent_figure(point->share),
                          point->bound == BoundBy::memory ? "memory" : "arithmetic"});
    chart.series.push_back(
        {.name = arm.name, .stroke = Stroke::points, .points = {{.x = point->intensity, .y = point->achieved}}});
  }
  if (!ceilings) return std::nullopt;
  const double ridge = ridge_intensity({"compute", ceilings->first}, {"memory", ceilings->second});
  const double left = std::min(least, ridge) / 4;
  const double right = std::max(most, ridge) * 4;
  chart.series.push_back({.name = "roof",
                          .stroke = Stroke::dashed,
                          .points = {{.x = left, .y = left * ceilings->second},
                                     {.x = ridge, .y = ceilings->first},
                                     {.x = right, .y = ceilings->first}}});
  Section section{.blocks = {std::move(table)}, .in_terminal = false};
  section.blocks.emplace_back(
      ChartBlock{.id = "roofline_chart", .title = "Roofline", .chart = std::move(chart), .in_terminal = false});
  return section;
}

}  // namespace assay
