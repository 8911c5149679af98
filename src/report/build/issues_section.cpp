#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "analysis/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "model/metric.h"
#include "report/build/figures.h"
#include "report/build/held_gpu.h"
#include "report/build/issue_rules.h"
#include "report/build/sections.h"

namespace assay {
namespace {

/// Findings by rule, about and what; each once.
class Issues {
 public:
  void add(std::string_view rule_name, std::string about, std::string what, std::string evidence = "",
           std::string remedy = "") {
    const IssueRule& rule = rule_called(rule_name);
    if (!seen_.insert(fmt::format("{}\n{}\n{}\n{}", rule_name, about, what, evidence)).second) return;
    findings_.push_back({rule.severity, std::string(rule.name), std::move(about), std::move(what), std::move(evidence),
                         remedy.empty() ? std::string(rule.remedy) : std::move(remedy)});
  }
  std::vector<Finding> take() {
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const auto& a, const auto& b) { return a.severity > b.severity; });
    return std::move(findings_);
  }

 private:
  std::set<std::string> seen_;
  std::vector<Finding> findings_;
};

/// Repeats of one configuration have its name: what is said of them all is said once.
bool failed_at_set_up(const Run& run) {
  constexpr std::array<int, 3> kSetUpCodes = {2, 126, 127};
  const bool by_code =
      run.exit_code && std::find(kSetUpCodes.begin(), kSetUpCodes.end(), *run.exit_code) != kSetUpCodes.end();
  const double seconds = seconds_of(run.duration);
  return by_code || (seconds > 0 && seconds < limits::kSetUpSeconds);
}

void look_at_failure(const Run& run, Issues& issues) {
  const std::string evidence = trouble_of(run);
  const std::string hint = run.error ? run.error->hint : "";
  const ErrorKind kind = run.error ? run.error->kind : ErrorKind::crash;
  if (kind == ErrorKind::timeout)
    return issues.add("timed_out", row_label(run), "It ran into its time limit.", evidence);
  if (kind == ErrorKind::oom)
    return issues.add("out_of_memory", row_label(run), "It ran out of memory.", evidence, hint);
  if (failed_at_set_up(run))
    return issues.add("failed_set_up", row_label(run), "It failed before it did any work.", evidence);
  issues.add("failed_run", row_label(run), "It failed.", evidence, hint);
}

void look_at_run(const Run& run, Issues& issues) {
  switch (run.verdict) {
    case Verdict::failed: look_at_failure(run, issues); break;
    case Verdict::interrupted:
      issues.add("interrupted_run", row_label(run), "It was ended before it finished.", trouble_of(run));
      break;
    case Verdict::invalid:
      issues.add("invalid_run", row_label(run), "Its figures must not be used.", trouble_of(run));
      break;
    case Verdict::flagged:
      for (const auto& flag : run.flags)
        issues.add("flagged", flag.about.empty() ? row_label(run) : flag.about, flag.message);
      break;
    case Verdict::valid:
    case Verdict::none: break;
  }
}

/// Of the run of an arm in which it was worst, so that an arm is named once.
std::optional<double> worst_of(const Arm& arm, const std::function<std::optional<double>(const Run&)>& figure,
                               bool lowest = false) {
  std::optional<double> worst;
  for (const auto* one : arm.usable) {
    const auto value = figure(one->run);
    if (value && (!worst || (lowest ? *value < *worst : *value > *worst))) worst = value;
  }
  return worst;
}

std::optional<double> throttled_share(const Run& run) {
  const auto throttled = metric_of(run, "gpu.throttled_seconds");
  const auto duration = metric_of(run, "duration_seconds");
  return throttled && duration && *duration > 0 ? std::optional(*throttled / *duration) : std::nullopt;
}

std::optional<double> memory_share(const Run& run) {
  const auto memory = peak_memory(run);
  const auto& gpus = run.provenance.gpus;
  if (!memory || !memory->on_gpu || gpus.empty() || gpus.front().memory_bytes <= 0) return std::nullopt;
  return memory->bytes / static_cast<double>(gpus.front().memory_bytes);
}

void look_at_resources(const Arm& arm, Issues& issues) {
  const auto wait = worst_of(arm, [](const Run& run) { return metric_of(run, "input_wait_share"); });
  if (wait && *wait > limits::kInputWait) {
    issues.add("input_wait", arm.name,
               fmt::format("Waiting for data takes up to {} of the step.", percent_text(*wait, 0)));
  }
  const auto throttled = worst_of(arm, throttled_share);
  if (throttled && *throttled > limits::kThrottled) {
    issues.add("throttling", arm.name,
               fmt::format("Clocks were held down during up to {} of a run.", percent_text(*throttled, 0)));
  }
  for (const auto* one : arm.usable) {
    if (const auto held = held_by_hardware(one->run); held && held->share > limits::kThrottled) {
      issues.add("throttling", arm.name,
                 fmt::format("Clocks of {} were held down in {} of its readings ({}).", held->name,
                             percent_text(held->share, 0), held->reason));
    }
    if (const auto held = held_by_power_limit(one->run)) {
      issues.add(
          "power_capped_gpu", arm.name,
          fmt::format("{} was at its power limit in {} of its readings.", held->name, percent_text(held->share, 0)));
    }
  }
  const auto hottest = worst_of(arm, [](const Run& run) { return highest_of_series(run, "gpu.temperature_c"); });
  if (hottest && *hottest >= limits::kHotGpu)
    issues.add("hot_gpu", arm.name, fmt::format("A GPU reached {:.0f} °C.", *hottest));
  const auto busy = worst_of(arm, [](const Run& run) { return mean_of_series(run, "gpu.util"); }, true);
  if (busy && *busy < limits::kLowUtilisation) {
    issues.add("low_gpu_utilisation", arm.name, fmt::format("GPUs were busy {} of the time.", percent_text(*busy, 0)));
  }
  const auto memory = worst_of(arm, memory_share);
  if (memory && *memory < limits::kMemoryHeadroom) {
    issues.add("memory_headroom", arm.name,
               fmt::format("The peak is {} of the GPU's memory.", percent_text(*memory, 0)));
  }
}

void look_at_serving(const ServingAnswer& serving, Issues& issues) {
  const ServingAggregate& total = serving.report.total;
  if (total.lost > 0) {
    std::vector<std::string> nodes;
    for (const auto& node : serving.report.nodes) {
      if (node.lost > 0)
        nodes.push_back(fmt::format("{} of {} on {} ({} of its share)", node.lost, node.asked, node.name,
                                    percent_text(1 - node.success.value_or(0), 0)));
    }
    issues.add("lost_samples", "", fmt::format("{} of {} samples were lost.", total.lost, total.asked),
               join(nodes, "; "));
  }
  std::vector<double> latencies;
  for (const auto& node : serving.run.nodes) {
    if (node.mean_latency_s) latencies.push_back(*node.mean_latency_s);
  }
  if (latencies.size() > 1) {
    const auto [fastest, slowest] = std::minmax_element(latencies.begin(), latencies.end());
    if (*slowest > *fastest * (1 + limits::kLatencySpread)) {
      issues.add("latency_spread", "",
                 fmt::format("Mean latencies of the nodes are {:.0f} ms apart.", (*slowest - *fastest) * 1000),
                 fmt::format("{:.0f} ms to {:.0f} ms", *fastest * 1000, *slowest * 1000));
    }
  }
  if (total.throughput_gap && *total.throughput_gap > limits::kThroughputGap) {
    issues.add("throughput_imbalance", "",
               fmt::format("The fastest node is {} faster than the slowest.", percent_text(*total.throughput_gap)));
  }
  if (serving.report.nodes.size() < 2 || total.done == 0) return;
  const double even = 1.0 / static_cast<double>(serving.report.nodes.size());
  for (const auto& node : serving.report.nodes) {
    const double share = static_cast<double>(node.done) / static_cast<double>(total.done);
    if (std::fabs(share - even) <= limits::kUnevenShare * even) continue;
    issues.add("uneven_distribution", node.name,
               fmt::format("It finished {} of all samples; an even share is {}.", percent_text(share, 0),
                           percent_text(even, 0)));
  }
}

void look_at_nodes(const NodesAnswer& nodes, Issues& issues) {
  for (const auto& row : nodes.table.rows) {
    if (row.within) continue;
    std::vector<std::string> parts;
    if (row.speed.mark == ConsistencyMark::low || row.speed.mark == ConsistencyMark::high)
      parts.push_back(fmt::format("speed {:+.1f} %", *row.speed.deviation * 100));
    if (row.memory.mark == ConsistencyMark::low || row.memory.mark == ConsistencyMark::high)
      parts.push_back(fmt::format("memory {:+.1f} %", *row.memory.deviation * 100));
    if (row.temperature.mark == ConsistencyMark::low || row.temperature.mark == ConsistencyMark::high)
      parts.push_back(fmt::format("temperature {:+.0f} °C", *row.temperature.deviation));
    if (parts.empty()) continue;
    const std::string remedy = row.findings.empty() ? "" : row.findings.front().remedy;
    issues.add("node_outside_tolerance", row.node, fmt::format("It is off the median: {}.", join(parts, ", ")),
               row.findings.empty() ? "" : row.findings.front().evidence, remedy);
  }
}

void look_at_history(std::span<const RecordedRun> runs, Issues& issues) {
  for (const auto& one : degraded_hosts(runs)) {
    issues.add("degraded_host", one.host,
               fmt::format("It does the same work {:.1f} % slower than before.", one.percent),
               fmt::format("seen at run {}: see History", one.run));
  }
}

void look_at_scaling(const ScalingAnswer& scaling, Issues& issues) {
  for (const auto& curve : scaling.curves) {
    for (const auto& row : curve.rows) {
      const std::string name = curve.group.empty() ? row.configuration : curve.group + ", " + row.configuration;
      if (row.band == ScalingBand::not_comparable) {
        const std::string why =
            row.differences.empty() ? join(curve.accuracy.reasons, "; ") : join(row.differences, "; ");
        issues.add("not_comparable", name, "It cannot be compared with the baseline.", why);
      }
      if (row.band != ScalingBand::fair && row.band != ScalingBand::poor) continue;
      std::vector<std::string> evidence;
      evidence.reserve(row.causes.size());
      for (const auto& cause : row.causes) evidence.push_back(cause.evidence);
      issues.add("poor_scaling", name,
                 fmt::format("Its efficiency is {}: {}.", percent_text(row.efficiency.value_or(0)), name_of(row.band)),
                 join(evidence, " "), row.causes.empty() ? "" : row.causes.front().remedy);
    }
  }
}

void look_at_matrix(const MatrixAnswer& matrix, Issues& issues) {
  const AblationArm& baseline = matrix.configurations[matrix.baseline];
  for (const auto& effect : matrix.ablation.effects) {
    if (effect.failed || effect.work != WorkPerSample::unequal || !effect.gain_per_token) continue;
    const AblationArm& arm = matrix.configurations[effect.arm];
    issues.add("unequal_work", arm.name,
               fmt::format("A sample has {:.0f} tokens instead of {:.0f}: {:.2f}× per sample is {:.2f}× per token.",
                           *arm.tokens_per_sample, *baseline.tokens_per_sample, effect.gain_per_sample,
                           *effect.gain_per_token));
  }
}

void look_at_expectations(const Answers& answers, Issues& issues) {
  for (const auto& arm : answers.arms) {
    for (const auto& miss : misses_of(arm, answers.goals)) {
      const auto* info = find_metric(miss.metric);
      const std::string_view unit = info ? info->unit : std::string_view{};
      issues.add("missed_expectation", arm.name,
                 miss.measured ? fmt::format("{} is {}; {} was expected.", miss.metric,
                                             format_value(*miss.measured, unit), format_value(miss.expected, unit))
                               : fmt::format("{} was expected to be {}, and was not measured.", miss.metric,
                                             format_value(miss.expected, unit)));
    }
  }
}

void look_at_seeds(const Answers& answers, Issues& issues) {
  for (const auto& arm : answers.arms) {
    if (share_one_seed(arm))
      issues.add("one_seed", arm.name,
                 "Its repeats share one seed: how far its quality depends on the seed is not known.");
  }
}

void look_at_repeats(const Answers& answers, Issues& issues) {
  const std::string metric = speed_metric(answers.input.runs);
  std::size_t few = 0;
  std::size_t measured = 0;
  for (const auto& arm : answers.arms) {
    const auto values = values_of(arm.usable, metric);
    if (values.empty()) continue;
    ++measured;
    few += values.size() < limits::kRepeats ? 1 : 0;
    if (values.size() < 3) continue;
    const double spread = coefficient_of_variation(values);
    if (spread > limits::kNoisyRepeats)
      issues.add("noisy_repeats", arm.name,
                 fmt::format("{} of its repeats spreads by {}.", metric, percent_text(spread)));
  }
  if (few > 0 && measured > 1)
    issues.add("too_few_repeats", "",
               fmt::format("{} of {} configurations have fewer than {} repeats: no difference can be told from noise.",
                           few, measured, limits::kRepeats));
}

void look_at_environments(const Answers& answers, Issues& issues) {
  if (answers.arms.size() < 2) return;
  struct Fact {
    const char* name;
    std::string (*of)(const Provenance&);
  };
  const Fact facts[] = {
      {"GPU", [](const Provenance& p) { return p.gpus.empty() ? std::string() : p.gpus.front().name; }},
      {"GPU driver", [](const Provenance& p) { return p.gpu_driver; }},
      {"PyTorch", [](const Provenance& p) { return p.torch_version; }},
      {"engine", [](const Provenance& p) { return p.engine_version; }}};
  for (const auto& fact : facts) {
    std::set<std::string> values;
    for (const auto& one : answers.input.runs) {
      if (auto value = fact.of(one.run.provenance); !value.empty()) values.insert(std::move(value));
    }
    if (values.size() > 1)
      issues.add("mixed_environment", "", fmt::format("Runs differ in their {}.", fact.name), join(values, " | "));
  }
}

}  // namespace

std::vector<Finding> issues_in(const Answers& answers) {
  Issues issues;
  for (const auto& one : answers.input.runs) {
    look_at_run(one.run, issues);
  }
  for (const auto& arm : answers.arms) look_at_resources(arm, issues);
  if (answers.input.study) {
    for (const auto& flag : answers.input.study->flags) issues.add("flagged", flag.about, flag.message);
  }
  if (answers.serving) look_at_serving(*answers.serving, issues);
  if (answers.nodes) look_at_nodes(*answers.nodes, issues);
  look_at_history(answers.input.runs, issues);
  if (answers.scaling) look_at_scaling(*answers.scaling, issues);
  if (answers.matrix) look_at_matrix(*answers.matrix, issues);
  look_at_expectations(answers, issues);
  look_at_seeds(answers, issues);
  look_at_repeats(answers, issues);
  look_at_environments(answers, issues);
  return issues.take();
}

std::optional<Section> issues_section(const Answers& answers) {
  return Section{.blocks = {FindingList{
                     .id = "issues", .findings = answers.issues, .if_empty = "None was found in what was recorded."}}};
}

}  // namespace assay
