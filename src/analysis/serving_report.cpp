#include "analysis/serving_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/statistics.h"
#include "base/units.h"

namespace assay {
namespace {

std::optional<double> quotient(double part, double whole) {
  if (!(whole > 0) || !std::isfinite(whole)) return std::nullopt;
  return part / whole;
}

std::vector<double> known(std::span<const ServingNode> nodes, std::optional<double> ServingNode::* field) {
  std::vector<double> values;
  for (const auto& node : nodes) {
    if (node.*field) values.push_back(*(node.*field));
  }
  return values;
}

/// Highest less lowest; none with fewer than two.
std::optional<double> range_of(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

ServingNodeRow row_of(const ServingNode& node) {
  ServingNodeRow row{.name = node.name, .asked = node.asked, .done = node.done};
  row.lost = std::max<std::int64_t>(0, node.asked - node.done);
  row.success = quotient(static_cast<double>(node.done), static_cast<double>(node.asked));
  if (node.run_seconds) row.samples_per_second = quotient(static_cast<double>(node.done), *node.run_seconds);
  if (node.memory_used_bytes && node.memory_capacity_bytes) {
    row.memory_share = quotient(*node.memory_used_bytes, *node.memory_capacity_bytes);
  }
  return row;
}

/// Every finished sample counts once; none where a node with finished samples has no latency.
std::optional<double> weighted_latency(std::span<const ServingNode> nodes) {
  double sum = 0;
  double count = 0;
  for (const auto& node : nodes) {
    if (node.done <= 0) continue;
    if (!node.mean_latency_s) return std::nullopt;
    sum += *node.mean_latency_s * static_cast<double>(node.done);
    count += static_cast<double>(node.done);
  }
  return quotient(sum, count);
}

void add_gaps(ServingAggregate& total, std::span<const ServingNode> nodes) {
  total.latency_gap_s = range_of(known(nodes, &ServingNode::mean_latency_s));
  const auto rates = known(nodes, &ServingNode::stated_samples_per_second);
  if (const auto range = range_of(rates)) {
    total.throughput_gap = quotient(*range, *std::min_element(rates.begin(), rates.end()));
  }
  const auto token_rates = known(nodes, &ServingNode::tokens_per_second);
  if (const auto range = range_of(token_rates)) total.token_rate_spread = quotient(*range, mean(token_rates));
}

void add_notes(ServingReport& report, const ServingRun& run) {
  for (const auto& row : report.nodes) {
    if (row.lost == 0) continue;
    report.notes.push_back(fmt::format("{} of {} samples were lost on {} ({:.0f} % of its share).", row.lost, row.asked,
                                       row.name,
                                       100.0 * static_cast<double>(row.lost) / static_cast<double>(row.asked)));
  }
  if (!run.one_node_samples_per_second && run.nodes.size() > 1) {
    report.notes.push_back("No scaling is given, since no baseline on one node was measured.");
  }
  const bool memory_unknown = std::any_of(report.nodes.begin(), report.nodes.end(),
                                          [](const ServingNodeRow& row) { return !row.memory_share; });
  if (memory_unknown) {
    report.notes.push_back("No share of memory is given where used memory and capacity are not both known.");
  }
}

void judge_by_mlperf(ServingReport& report, const ServingRun& run) {
  if (report.total.done < run.fewest_samples) {
    report.invalid_reasons.push_back(fmt::format("samples: {} of at least {}",
                                                 format_count(static_cast<double>(report.total.done)),
                                                 format_count(static_cast<double>(run.fewest_samples))));
  }
  if (report.total.lost > 0) report.invalid_reasons.push_back(fmt::format("lost samples: {}", report.total.lost));
  if (run.wall_seconds < run.shortest_seconds) {
    report.invalid_reasons.push_back(
        fmt::format("duration: {:.2f} s of at least {:.0f} s", run.wall_seconds, run.shortest_seconds));
  }
  report.mlperf_valid = report.invalid_reasons.empty();
}

}  // namespace

ServingReport report_serving(const ServingRun& run) {
  ServingReport report;
  ServingAggregate& total = report.total;
  for (const auto& node : run.nodes) {
    report.nodes.push_back(row_of(node));
    total.asked += node.asked;
    total.done += node.done;
    total.lost += report.nodes.back().lost;
  }
  const auto done = static_cast<double>(total.done);
  total.success = quotient(done, static_cast<double>(total.asked));
  total.samples_per_second = quotient(done, run.wall_seconds);
  total.mean_latency_s = weighted_latency(run.nodes);
  if (run.mean_output_tokens && total.samples_per_second) {
    total.tokens_per_second = *run.mean_output_tokens * *total.samples_per_second;
  }
  add_gaps(total, run.nodes);
  if (run.one_node_samples_per_second && total.samples_per_second) {
    total.speedup = quotient(*total.samples_per_second, *run.one_node_samples_per_second);
    if (total.speedup) total.efficiency = *total.speedup / static_cast<double>(run.nodes.size());
  }
  judge_by_mlperf(report, run);
  add_notes(report, run);
  return report;
}

}  // namespace assay
