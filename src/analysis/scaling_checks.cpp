#include "analysis/scaling_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/significance.h"
#include "analysis/statistics.h"

namespace assay {
namespace {

constexpr double kMuchCommunication = 0.20;
constexpr double kMoreThanInOneNode = 0.10;
constexpr double kMuchInputWait = 0.10;
constexpr double kLowUtilisation = 0.60;
constexpr double kMuchThrottling = 0.05;
constexpr double kMuchImbalance = 0.10;
constexpr double kBusyHost = 0.95;
constexpr double kUnstable = 0.05;
constexpr std::size_t kFewestForSpread = 3;

double percent(double share) { return share * 100; }

/// One validation metric of all points against the reference's.
struct MetricCheck {
  std::string_view name;
  std::vector<double> ScalingPoint::* values;
  double tolerance;
  bool relative;
  double floor = 0;          ///< a difference that is none, whatever it is relative to
  std::size_t families = 1;  ///< metrics among which the level of the tests is shared
};

std::string stray_reason(const MetricCheck& metric, const ScalingPoint& point, double value, double reference) {
  const std::string where = configuration_name(point.ranks, point.nodes, point.device);
  if (!std::isfinite(value)) return fmt::format("{} at {} is not a finite number", metric.name, where);
  const double difference = value - reference;
  const std::string_view side = difference > 0 ? "above" : "below";
  if (metric.relative) {
    return fmt::format("{} at {} is {:.4g}, {:.1f} % {} the reference's {:.4g}", metric.name, where, value,
                       percent(std::fabs(difference / reference)), side, reference);
  }
  return fmt::format("{} at {} is {:.4f}, {:.1f} points {} the reference's {:.4f}", metric.name, where, value,
                     percent(std::fabs(difference)), side, reference);
}

void check_metric(const MetricCheck& metric, std::span<const ScalingPoint> points, std::size_t reference,
                  AccuracyFindings& findings) {
  const auto& base = points[reference].*metric.values;
  if (base.empty()) return;
  std::vector<std::size_t> others;
  std::vector<std::vector<double>> arms;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i == reference || (points[i].*metric.values).empty()) continue;
    others.push_back(i);
    arms.push_back(points[i].*metric.values);
  }
  if (others.empty()) return;
  if (findings.check.outcome == AccuracyConsistency::not_measured) {
    findings.check.outcome = AccuracyConsistency::consistent;
  }
  const auto comparisons = compare_many(base, arms, {.families = metric.families});
  const double centre = mean(base);
  for (std::size_t k = 0; k < others.size(); ++k) {
    const double value = mean(arms[k]);
    const double allowed = std::max(metric.tolerance * (metric.relative ? std::fabs(centre) : 1), metric.floor);
    const bool beyond = !(std::fabs(value - centre) <= allowed);
    const bool tested = was_tested(comparisons[k].verdict);
    findings.check.tested = findings.check.tested || tested;
    const bool within_noise = tested && comparisons[k].verdict == ArmVerdict::no_significant_difference;
    if (!beyond || (within_noise && std::isfinite(value))) continue;
    findings.strays[others[k]] = true;
    findings.check.outcome = AccuracyConsistency::diverging;
    findings.check.reasons.push_back(stray_reason(metric, points[others[k]], value, centre));
  }
}

void add_communication_causes(const ScalingPoint& point, const ScalingPoint* in_one_node,
                              std::vector<ScalingCause>& causes) {
  const auto share = point.hints.communication_share;
  if (!share || *share < kMuchCommunication) return;
  causes.push_back({"communication", fmt::format("Communication takes {:.0f} % of the step.", percent(*share)),
                    "Give each rank more work per exchange: a larger batch_size or gradient_accumulation.", *share});
  if (point.nodes <= 1 || !in_one_node || !in_one_node->hints.communication_share) return;
  const double inside = *in_one_node->hints.communication_share;
  if (*share < inside + kMoreThanInOneNode) return;
  causes.push_back({"network",
                    fmt::format("Communication takes {:.0f} % of the step across nodes, {:.0f} % inside one.",
                                percent(*share), percent(inside)),
                    "Check that the fast network is in use (NCCL_SOCKET_IFNAME, NCCL_IB_HCA) and what it delivers.",
                    *share - inside});
}

}  // namespace

std::vector<std::string> setting_differences(const std::map<std::string, std::string>& ours,
                                             const std::map<std::string, std::string>& theirs) {
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [name, value] : ours) both[name] = {value, "unset"};
  for (const auto& [name, value] : theirs) {
    both.try_emplace(name, "unset", "").first->second.second = value;
  }
  std::vector<std::string> differences;
  for (const auto& [name, values] : both) {
    if (values.first != values.second) {
      differences.push_back(fmt::format("{}: {} instead of {}", name, values.second, values.first));
    }
  }
  return differences;
}

AccuracyFindings check_accuracy(std::span<const ScalingPoint> points, std::size_t reference,
                                const ScalingSettings& settings) {
  AccuracyFindings findings{.strays = std::vector<bool>(points.size(), false)};
  const auto has = [&](const auto& values) { return !(points[reference].*values).empty(); };
  const std::size_t families = (has(&ScalingPoint::val_loss) ? 1 : 0) + (has(&ScalingPoint::val_accuracy) ? 1 : 0);
  check_metric({"val_loss", &ScalingPoint::val_loss, settings.loss_tolerance, true, settings.loss_floor, families},
               points, reference, findings);
  check_metric({"val_accuracy", &ScalingPoint::val_accuracy, settings.accuracy_tolerance, false, 0, families}, points,
               reference, findings);
  return findings;
}

std::vector<ScalingCause> likely_causes(const ScalingPoint& point, const ScalingPoint* in_one_node,
                                        std::span<const double> repeats) {
  std::vector<ScalingCause> causes;
  const ScalingHints& hints = point.hints;
  add_communication_causes(point, in_one_node, causes);
  if (hints.input_wait_share.value_or(0) >= kMuchInputWait) {
    causes.push_back({"input_wait",
                      fmt::format("Ranks wait for data during {:.0f} % of the step.", percent(*hints.input_wait_share)),
                      "Raise data.workers or data.prefetch, or move the data to a local disk.",
                      *hints.input_wait_share});
  }
  const bool waits = hints.communication_share.value_or(0) >= kMuchCommunication ||
                     hints.input_wait_share.value_or(0) >= kMuchInputWait;
  if (hints.gpu_utilisation && *hints.gpu_utilisation < kLowUtilisation && !waits) {
    causes.push_back({"small_work",
                      fmt::format("GPUs are {:.0f} % utilised, though neither data nor communication holds them up.",
                                  percent(*hints.gpu_utilisation)),
                      "The batch or the model is too small for this many GPUs: raise batch_size, or use fewer.",
                      1 - *hints.gpu_utilisation});
  }
  if (hints.throttled_share.value_or(0) >= kMuchThrottling) {
    causes.push_back(
        {"throttled",
         fmt::format("Clocks were held down during {:.0f} % of the time.", percent(*hints.throttled_share)),
         "Look at power limit and cooling of the nodes; `assay node-bench` names the GPUs.", *hints.throttled_share});
  }
  if (hints.host_cpu.value_or(0) >= kBusyHost) {
    const bool on_gpus = point.device == "GPU";
    causes.push_back({"host_cpu",
                      fmt::format("The CPUs of the hosts are {:.0f} % busy: no core is left for more work.",
                                  percent(*hints.host_cpu)),
                      on_gpus ? "Give the hosts less to do: fewer data.workers, data that was prepared ahead; or take "
                                "hosts with more cores."
                              : "Use no more ranks than there are free cores, or spread them over more nodes.",
                      *hints.host_cpu});
  }
  if (hints.rank_imbalance.value_or(0) >= kMuchImbalance) {
    causes.push_back(
        {"imbalance",
         fmt::format("The slowest rank takes {:.0f} % longer than the median one.", percent(*hints.rank_imbalance)),
         "Compare the nodes with `assay node-bench`; give every rank the same amount of work.", *hints.rank_imbalance});
  }
  const double spread = coefficient_of_variation(repeats);
  if (repeats.size() >= kFewestForSpread && spread >= kUnstable) {
    causes.push_back({"unstable",
                      fmt::format("Repeats scatter by {:.1f} % (coefficient of variation).", percent(spread)),
                      "Make sure that nothing else runs on the nodes, and repeat more often.", spread});
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const ScalingCause& a, const ScalingCause& b) { return a.weight > b.weight; });
  return causes;
}

}  // namespace assay
