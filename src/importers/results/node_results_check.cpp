#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "importers/results/node_results.h"

namespace assay {
namespace {

constexpr double kSecondsPerHour = 3600;
/// Lengths of samples that are tokens/s over samples/s differ by the rounding of both.
constexpr double kSameLength = 0.02;
constexpr std::size_t kMostLengths = 16;

FigureRange exact(std::int64_t number) { return exactly(static_cast<double>(number)); }

std::string percent(double share) { return fmt::format("{} %", plain_figure(std::round(share * 1000) / 10)); }

/// Checks that need one node alone.
class NodeChecks {
 public:
  NodeChecks(const NodeResult& node, const std::optional<Price>& price, std::vector<Flag>& flags)
      : node_(node), about_(label_of(node)), flags_(flags), price_(node.price_per_gpu_hour_usd) {
    if (!price_ && price && price->currency == "USD" && price->per == "GPUh") price_ = stated_from(price->amount);
  }

  void run() {
    outcome();
    lost_samples();
    rate();
    steps_and_tokens();
    cost();
    latencies();
  }

 private:
  void flag(std::string_view kind, std::string message) {
    flags_.push_back({std::string(kind), about_, std::move(message)});
  }
  void contradiction(std::string_view states, std::string_view but) {
    flag("contradiction", fmt::format("states {}, but {}", states, but));
  }

  void outcome() {
    if (node_.error.empty() && !says_failure(node_.status)) return;
    const std::string lower = lower_case(node_.error + " " + node_.status);
    const bool oom = lower.find("out of memory") != std::string::npos || lower.find("oom") != std::string::npos;
    const std::string what = node_.error.empty() ? fmt::format("ended with status '{}'", node_.status) : node_.error;
    flag(oom ? "oom" : "failed", what);
  }

  void lost_samples() {
    if (!node_.samples_asked || !node_.samples_done) return;
    const std::int64_t lost = *node_.samples_asked - *node_.samples_done;
    if (lost < 0) {
      return contradiction(fmt::format("{} samples done", *node_.samples_done),
                           fmt::format("only {} were asked for", *node_.samples_asked));
    }
    const double share =
        *node_.samples_asked > 0 ? static_cast<double>(lost) / static_cast<double>(*node_.samples_asked) : 0;
    if (lost > 0) {
      flag("lost_samples", fmt::format("{} of {} samples done; {} lost, {} of its share", *node_.samples_done,
                                       *node_.samples_asked, lost, percent(share)));
    }
    if (node_.samples_failed && *node_.samples_failed != lost) {
      contradiction(fmt::format("{} failed samples", *node_.samples_failed), fmt::format("{} are missing", lost));
    }
    if (node_.loss_percent && !agree(range_of(*node_.loss_percent), exactly(100 * share))) {
      contradiction(fmt::format("a loss of {} %", plain_figure(node_.loss_percent->value)),
                    fmt::format("{} of {} samples are {}", lost, *node_.samples_asked, percent(share)));
    }
  }

  void rate() {
    const auto done = samples_done_by(node_);
    if (!node_.samples_per_second || !done || !node_.seconds) return;
    if (agree(range_of(*node_.samples_per_second), exact(*done) / range_of(*node_.seconds))) return;
    std::string but = fmt::format("{} samples in {} s are {} samples/s", *done, plain_figure(node_.seconds->value),
                                  plain_figure(samples_per_second_over_run(node_).value_or(0)));
    const auto inverse = node_.mean_latency_ms ? exactly(1000) / range_of(*node_.mean_latency_ms) : FigureRange{0, 0};
    if (agree(range_of(*node_.samples_per_second), inverse)) {
      but += fmt::format("; the stated rate is the inverse of the mean latency of {} ms",
                         plain_figure(node_.mean_latency_ms->value));
    }
    contradiction(fmt::format("{} samples/s", plain_figure(node_.samples_per_second->value)), but);
  }

  void steps_and_tokens() {
    if (node_.kind == NodeResultKind::inference) return;
    if (node_.tokens_per_second && node_.samples_per_second && node_.seq_length) {
      const FigureRange tokens = range_of(*node_.samples_per_second) * exact(*node_.seq_length);
      if (!agree(range_of(*node_.tokens_per_second), tokens)) {
        contradiction(
            fmt::format("{} tokens/s", plain_figure(node_.tokens_per_second->value)),
            fmt::format("{} samples/s of {} tokens are {}", plain_figure(node_.samples_per_second->value),
                        *node_.seq_length,
                        plain_figure(node_.samples_per_second->value * static_cast<double>(*node_.seq_length))));
      }
    }
    if (node_.seconds_per_step && node_.seconds && node_.steps && *node_.steps > 0) {
      const FigureRange each = range_of(*node_.seconds) / exact(*node_.steps);
      if (!agree(range_of(*node_.seconds_per_step), each)) {
        contradiction(fmt::format("{} s per step", plain_figure(node_.seconds_per_step->value)),
                      fmt::format("{} s over {} steps are {}", plain_figure(node_.seconds->value), *node_.steps,
                                  plain_figure(node_.seconds->value / static_cast<double>(*node_.steps))));
      }
    }
  }

  void cost() {
    if (!price_) return;
    const double hourly = price_->value * static_cast<double>(node_.gpus.value_or(1));
    if (node_.cost_per_1000_samples_usd && node_.samples_per_second) {
      const double of_thousand = hourly * 1000 / kSecondsPerHour;
      compare_cost("per 1,000 samples", *node_.cost_per_1000_samples_usd,
                   exactly(of_thousand) / range_of(*node_.samples_per_second),
                   of_thousand / node_.samples_per_second->value,
                   fmt::format("{} samples/s", plain_figure(node_.samples_per_second->value)));
    }
    if (node_.cost_total_usd && node_.seconds) {
      const double of_second = hourly / kSecondsPerHour;
      compare_cost("in all", *node_.cost_total_usd, exactly(of_second) * range_of(*node_.seconds),
                   of_second * node_.seconds->value, fmt::format("{} s", plain_figure(node_.seconds->value)));
    }
  }

  void compare_cost(std::string_view what, const Stated& stated, const FigureRange& range, double cost,
                    const std::string& at) {
    if (agree(range_of(stated), range)) return;
    const std::int64_t gpus = node_.gpus.value_or(1);
    contradiction(fmt::format("${} {}", plain_figure(stated.value), what),
                  fmt::format("{} on {} GPU{} at ${} an hour cost ${}", at, gpus, gpus == 1 ? "" : "s",
                              plain_figure(price_->value), plain_figure(cost)));
  }

  void latencies() {
    if (node_.latencies_ms.empty()) return;
    const auto count = static_cast<double>(node_.latencies_ms.size());
    const double mean = std::accumulate(node_.latencies_ms.begin(), node_.latencies_ms.end(), 0.0) / count;
    if (node_.mean_latency_ms && !agree(range_of(*node_.mean_latency_ms), exactly(mean))) {
      contradiction(fmt::format("a mean latency of {} ms", plain_figure(node_.mean_latency_ms->value)),
                    fmt::format("its {} samples have {} ms", node_.latencies_ms.size(), plain_figure(mean)));
    }
    if (node_.samples_done && *node_.samples_done != static_cast<std::int64_t>(node_.latencies_ms.size())) {
      contradiction(fmt::format("{} samples done", *node_.samples_done),
                    fmt::format("lists {} latencies", node_.latencies_ms.size()));
    }
    const auto [lowest, highest] = std::minmax_element(node_.latencies_ms.begin(), node_.latencies_ms.end());
    for (const auto& [percentile, value] : node_.latency_percentiles_ms) {
      if (agree(range_of(value), {*lowest, *highest})) continue;
      contradiction(fmt::format("a {}th percentile of {} ms", plain_figure(percentile), plain_figure(value.value)),
                    fmt::format("its samples are between {} and {} ms", plain_figure(*lowest), plain_figure(*highest)));
    }
    token_rate();
  }

  /// The mean of the samples' own rates is not the node's rate, but it must at least be that mean.
  void token_rate() {
    if (!node_.tokens_per_second || node_.output_tokens.size() != node_.latencies_ms.size()) return;
    double sum = 0;
    for (std::size_t i = 0; i < node_.latencies_ms.size(); ++i) {
      if (node_.latencies_ms[i] <= 0) return;
      sum += 1000 * node_.output_tokens[i] / node_.latencies_ms[i];
    }
    const double mean = sum / static_cast<double>(node_.latencies_ms.size());
    if (agree(range_of(*node_.tokens_per_second), exactly(mean))) return;
    contradiction(fmt::format("{} tokens/s", plain_figure(node_.tokens_per_second->value)),
                  fmt::format("its samples were generated at {} tokens/s on average", plain_figure(mean)));
  }

  const NodeResult& node_;
  std::string about_;
  std::vector<Flag>& flags_;
  std::optional<Stated> price_;
};

/// A claim of scaling needs a measured run on one GPU with the same work.
void check_scaling_claims(const std::vector<NodeResult>& nodes, std::vector<Flag>& flags) {
  for (const auto& node : nodes) {
    const auto& claim = node.scaling_efficiency_percent_claimed;
    if (!claim || node.rank.value_or(0) != 0) continue;
    const auto baseline = std::find_if(nodes.begin(), nodes.end(), [&](const NodeResult& one) {
      const bool alone = one.gpus.value_or(one.kind == NodeResultKind::training ? 1 : 0) == 1;
      return alone && one.samples_per_second && tokens_per_sample(one) == tokens_per_sample(node);
    });
    const std::string stated = fmt::format("{} % scaling efficiency", plain_figure(claim->value));
    if (baseline == nodes.end()) {
      flags.push_back({"unmeasured_baseline", label_of(node),
                       fmt::format("claims {}, but no run on one GPU with the same work was imported", stated)});
      continue;
    }
    if (!node.samples_per_second || !node.gpus) continue;
    const FigureRange efficiency = range_of(*node.samples_per_second) * exactly(100) /
                                   (range_of(*baseline->samples_per_second) * exact(*node.gpus));
    if (agree(range_of(*claim), efficiency)) continue;
    flags.push_back({"contradiction", label_of(node),
                     fmt::format("states {}, but {} samples/s on {} GPUs against {} on one are {} %", stated,
                                 plain_figure(node.samples_per_second->value), *node.gpus,
                                 plain_figure(baseline->samples_per_second->value),
                                 plain_figure(100 * node.samples_per_second->value /
                                              baseline->samples_per_second->value / static_cast<double>(*node.gpus)))});
  }
}

/// Samples per second cannot be compared where a sample is more work here than there.
void check_equal_work(const std::vector<NodeResult>& nodes, std::vector<Flag>& flags) {
  std::vector<const NodeResult*> kinds;  // one node for each length of a sample
  for (const auto& node : nodes) {
    const auto tokens = tokens_per_sample(node);
    if (!tokens || !(*tokens > 0) || kinds.size() == kMostLengths) continue;
    const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const NodeResult* one) {
      return std::abs(*tokens_per_sample(*one) / *tokens - 1) < kSameLength;
    });
    if (!known) kinds.push_back(&node);
  }
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    const NodeResult* first = kinds.front();
    const NodeResult* node = kinds[i];
    std::string message = fmt::format("a sample has {:.0f} tokens here and {:.0f} in {}", *tokens_per_sample(*node),
                                      *tokens_per_sample(*first), label_of(*first));
    const bool rates = node->samples_per_second && first->samples_per_second && node->tokens_per_second &&
                       first->tokens_per_second && node->samples_per_second->value > 0 &&
                       node->tokens_per_second->value > 0;
    if (rates) {
      message +=
          fmt::format(": the ratio of {} to {} samples/s is {:.2f}, that of {} to {} tokens/s is {:.2f}",
                      plain_figure(first->samples_per_second->value), plain_figure(node->samples_per_second->value),
                      first->samples_per_second->value / node->samples_per_second->value,
                      plain_figure(first->tokens_per_second->value), plain_figure(node->tokens_per_second->value),
                      first->tokens_per_second->value / node->tokens_per_second->value);
    }
    flags.push_back({"unequal_work", label_of(*node), std::move(message)});
  }
}

/// A summary's claims against the nodes it is about.
class SummaryChecks {
 public:
  SummaryChecks(const InferenceSummary& summary, const std::vector<NodeResult>& all, std::vector<Flag>& flags)
      : summary_(summary), flags_(flags) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(nodes_),
                 [&](const NodeResult& node) { return node.source == summary.source; });
    done_ = samples_done_by(nodes_);
  }

  void run() {
    samples();
    rates();
    if (summary_.scaling_efficiency_percent && !summary_.baseline_measured) {
      const auto& baseline = summary_.baseline_samples_per_second;
      flag(
          "unmeasured_baseline",
          fmt::format(
              "claims {} % scaling efficiency, but {}", plain_figure(summary_.scaling_efficiency_percent->value),
              baseline ? fmt::format("the {} samples/s it is based on were not measured", plain_figure(baseline->value))
                       : "no run on one node is given"));
    }
    const bool capacity =
        std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node.memory_capacity_gb; });
    if (summary_.memory_efficiency_percent && !capacity) {
      flag("unsupported_claim", fmt::format("claims {} % memory efficiency, but no memory capacity is given",
                                            plain_figure(summary_.memory_efficiency_percent->value)));
    }
  }

 private:
  void flag(std::string_view kind, std::string message) {
    flags_.push_back({std::string(kind), summary_.source, std::move(message)});
  }
  void contradiction(std::string_view states, std::string_view but) {
    flag("contradiction", fmt::format("states {}, but {}", states, but));
  }

  void samples() {
    const auto asked = summary_.samples_asked ? summary_.samples_asked : samples_asked_of(nodes_);
    if (!done_) return;
    if (summary_.samples_done && *summary_.samples_done != *done_) {
      contradiction(fmt::format("{} samples done", *summary_.samples_done), fmt::format("its nodes did {}", *done_));
    }
    if (!asked || *asked <= 0) return;
    const std::int64_t lost = *asked - *done_;
    if (summary_.samples_failed && *summary_.samples_failed != lost) {
      contradiction(fmt::format("{} failures", *summary_.samples_failed),
                    fmt::format("{} of {} samples are missing", lost, *asked));
    }
    const double share = 100 * static_cast<double>(*done_) / static_cast<double>(*asked);
    if (summary_.success_rate_percent && !agree(range_of(*summary_.success_rate_percent), exactly(share))) {
      contradiction(fmt::format("a success rate of {} %", plain_figure(summary_.success_rate_percent->value)),
                    fmt::format("{} of {} samples are {} %", *done_, *asked, plain_figure(share)));
    }
  }

  void rates() {
    const auto latency = mean_latency_ms_of(nodes_);
    if (latency && summary_.mean_latency_ms && !agree(range_of(*summary_.mean_latency_ms), latency_range(*latency))) {
      contradiction(fmt::format("a mean latency of {} ms", plain_figure(summary_.mean_latency_ms->value)),
                    fmt::format("the mean over all samples is {} ms", plain_figure(*latency)));
    }
    if (!done_ || !summary_.wall_clock_seconds) return;
    const FigureRange rate = exact(*done_) / range_of(*summary_.wall_clock_seconds);
    const double seconds = summary_.wall_clock_seconds->value;
    if (summary_.samples_per_second && !agree(range_of(*summary_.samples_per_second), rate)) {
      contradiction(fmt::format("{} samples/s", plain_figure(summary_.samples_per_second->value)),
                    fmt::format("{} samples in {} s are {}", *done_, plain_figure(seconds),
                                plain_figure(static_cast<double>(*done_) / seconds)));
    }
    if (!summary_.tokens_per_second || !summary_.mean_output_tokens) return;
    const FigureRange tokens = rate * range_of(*summary_.mean_output_tokens);
    if (!agree(range_of(*summary_.tokens_per_second), tokens)) {
      contradiction(
          fmt::format("{} tokens/s", plain_figure(summary_.tokens_per_second->value)),
          fmt::format("{} samples of {} tokens in {} s are {}", *done_,
                      plain_figure(summary_.mean_output_tokens->value), plain_figure(seconds),
                      plain_figure(static_cast<double>(*done_) / seconds * summary_.mean_output_tokens->value)));
    }
  }

  FigureRange latency_range(double mean) const {
    double half_unit = 0;
    for (const auto& node : nodes_)
      half_unit = std::max(half_unit, node.mean_latency_ms ? node.mean_latency_ms->half_unit : 0);
    return {mean - half_unit, mean + half_unit};
  }

  const InferenceSummary& summary_;
  std::vector<Flag>& flags_;
  std::vector<NodeResult> nodes_;
  std::optional<std::int64_t> done_;
};

void check_parts(const std::vector<SuitePart>& parts, std::vector<Flag>& flags) {
  for (const auto& part : parts) {
    if (!says_failure(part.status) && part.exit_code.value_or(0) == 0 && part.error.empty()) continue;
    std::string message = part.status.empty() ? "did not succeed" : fmt::format("status '{}'", part.status);
    if (part.exit_code) message += fmt::format(", exit code {}", *part.exit_code);
    if (part.seconds) message += fmt::format(", after {} s", plain_figure(part.seconds->value));
    if (!part.error.empty()) message += ": " + part.error;
    flags.push_back({"part_failed", part.name, std::move(message)});
  }
}

}  // namespace

std::string label_of(const NodeResult& node) {
  return node.configuration.empty() ? fmt::format("{} ({})", node.node, node.source)
                                    : fmt::format("{} / {} ({})", node.node, node.configuration, node.source);
}

bool says_failure(std::string_view status) {
  const std::string lower = lower_case(status);
  return !lower.empty() && lower != "success" && lower != "successful" && lower != "ok" && lower != "completed" &&
         lower != "passed" && lower != "done";
}

std::vector<Flag> check_node_results(const NodeResults& results, const std::optional<Price>& price) {
  std::vector<Flag> flags;
  for (const auto& node : results.nodes) NodeChecks(node, price, flags).run();
  check_equal_work(results.nodes, flags);
  check_scaling_claims(results.nodes, flags);
  for (const auto& summary : results.summaries) SummaryChecks(summary, results.nodes, flags).run();
  check_parts(results.parts, flags);
  return flags;
}

std::optional<std::int64_t> samples_done_by(const NodeResult& node) {
  if (node.samples_done) return node.samples_done;
  if (!node.steps || !node.batch_size) return std::nullopt;
  std::int64_t samples = *node.steps;
  for (const std::int64_t factor : {*node.batch_size, node.accumulation.value_or(1), node.gpus.value_or(1)}) {
    if (__builtin_mul_overflow(samples, factor, &samples)) return std::nullopt;
  }
  return samples;
}

std::optional<double> samples_per_second_over_run(const NodeResult& node) {
  const auto done = samples_done_by(node);
  if (!done || !node.seconds || !(node.seconds->value > 0)) return std::nullopt;
  return static_cast<double>(*done) / node.seconds->value;
}

std::optional<double> tokens_per_sample(const NodeResult& node) {
  if (node.kind == NodeResultKind::inference) return std::nullopt;
  if (node.seq_length) return static_cast<double>(*node.seq_length);
  if (!node.tokens_per_second || !node.samples_per_second || !(node.samples_per_second->value > 0)) return std::nullopt;
  return node.tokens_per_second->value / node.samples_per_second->value;
}

namespace {

std::optional<std::int64_t> sum_of(const std::vector<NodeResult>& nodes,
                                   std::optional<std::int64_t> NodeResult::* field) {
  std::int64_t sum = 0;
  for (const auto& node : nodes) {
    // A node that failed and says no more has done nothing.
    const bool none = field == &NodeResult::samples_done && !node.error.empty();
    if (!(node.*field) && !none) return std::nullopt;
    if (__builtin_add_overflow(sum, (node.*field).value_or(0), &sum)) return std::nullopt;
  }
  return nodes.empty() ? std::nullopt : std::optional(sum);
}

}  // namespace

std::optional<std::int64_t> samples_asked_of(const std::vector<NodeResult>& nodes) {
  return sum_of(nodes, &NodeResult::samples_asked);
}

std::optional<std::int64_t> samples_done_by(const std::vector<NodeResult>& nodes) {
  return sum_of(nodes, &NodeResult::samples_done);
}

std::optional<double> mean_latency_ms_of(const std::vector<NodeResult>& nodes) {
  double sum = 0;
  double samples = 0;
  for (const auto& node : nodes) {
    if (!node.mean_latency_ms || !node.samples_done) continue;
    sum += node.mean_latency_ms->value * static_cast<double>(*node.samples_done);
    samples += static_cast<double>(*node.samples_done);
  }
  return samples > 0 ? std::optional(sum / samples) : std::nullopt;
}

}  // namespace assay
