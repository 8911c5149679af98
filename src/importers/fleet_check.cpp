#include "importers/fleet_check.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "analysis/consistency.h"

namespace assay {
namespace {

constexpr double kBytesPerGigabyte = 1e9;

std::optional<double> metric(const Run& run, const char* name) {
  const auto found = run.metrics.find(name);
  return found == run.metrics.end() ? std::nullopt : std::optional(found->second);
}

bool is_outside(const ConsistencyCell& cell) {
  return cell.mark == ConsistencyMark::low || cell.mark == ConsistencyMark::high;
}

/// "10.9 % below the median of 4 nodes, 1.46 (±5 %)"
std::string beside_median(const ConsistencyCell& cell, double median, std::size_t nodes, double tolerance) {
  return fmt::format("{:.1f} % {} the median of {} nodes, {} (±{:.0f} %)", 100 * std::abs(*cell.deviation),
                     cell.mark == ConsistencyMark::low ? "below" : "above", nodes, plain_figure(median),
                     100 * tolerance);
}

void flag_row(Run& run, const ConsistencyRow& row, const ConsistencyTable& table) {
  const ConsistencyTolerances tolerances;
  const std::size_t nodes = table.rows.size();
  const auto flag = [&](std::string message) {
    run.flags.push_back({"outside_tolerance", row.node, std::move(message)});
  };
  if (is_outside(row.speed)) {
    flag(fmt::format("{} samples/s are {}", plain_figure(*metric(run, "samples_per_second")),
                     beside_median(row.speed, *table.median_speed, nodes, tolerances.speed)));
  }
  if (is_outside(row.memory)) {
    flag(fmt::format("a peak of {} GB GPU memory is {}",
                     plain_figure(*metric(run, "gpu_memory_peak_bytes") / kBytesPerGigabyte),
                     beside_median(row.memory, *table.median_memory / kBytesPerGigabyte, nodes, tolerances.memory)));
  }
  if (is_outside(row.temperature)) {
    flag(fmt::format("{} °C are {:.0f} °C {} the median of {} nodes, {} °C (±{:.0f} °C)",
                     plain_figure(*metric(run, "gpu.temperature_c")), std::abs(*row.temperature.deviation),
                     row.temperature.mark == ConsistencyMark::low ? "below" : "above", nodes,
                     plain_figure(*table.median_temperature), tolerances.temperature_c));
  }
}

}  // namespace

void flag_outliers(DraftStudy& draft) {
  std::map<std::string, std::vector<Run*>> fleets;
  for (auto& one : draft.runs) {
    const bool comparable = one.told_by_node && one.run().kind == "train" && !one.run().error;
    if (comparable) fleets[one.run().variant].push_back(&one.run());
  }
  for (const auto& [variant, runs] : fleets) {
    if (runs.size() < 2) continue;
    std::vector<NodeFigures> figures;
    for (const Run* run : runs) {
      figures.push_back({.node = run->name,
                         .samples_per_second = metric(*run, "samples_per_second"),
                         .gpu_memory_bytes = metric(*run, "gpu_memory_peak_bytes"),
                         .temperature_c = metric(*run, "gpu.temperature_c")});
    }
    const ConsistencyTable table = check_consistency(figures);
    for (std::size_t i = 0; i < runs.size(); ++i) flag_row(*runs[i], table.rows[i], table);
  }
}

}  // namespace assay
