#include "report/build/issue_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace assay {
namespace {

constexpr std::array kRules = {
    IssueRule{
        "lost_samples", Severity::problem, "fewer samples were finished than asked for",
        "Look at the logs of the nodes that lost them, then repeat: figures of an incomplete run describe another "
        "workload."},
    IssueRule{"timed_out", Severity::problem, "a run ended at its time limit",
              "Check that all ranks and nodes reach every synchronisation point (rendezvous address, firewall, NCCL or "
              "Gloo interface), then raise `time_limit`."},
    IssueRule{"failed_set_up", Severity::problem,
              "a run failed within 2 s of its start, or with exit code 2, 126 or 127",
              "Run `assay doctor` on that node; check the command, its paths and the environment."},
    IssueRule{"out_of_memory", Severity::problem, "a run ended out of memory",
              "Use a smaller batch, a shorter sequence, gradient checkpointing or a smaller optimiser state."},
    IssueRule{"failed_run", Severity::problem, "a run failed in another way", "See `assay logs` of that run."},
    IssueRule{"interrupted_run", Severity::warning, "a run was ended from outside before it finished",
              "Repeat it; `assay run` goes on with a study where it stopped."},
    IssueRule{"invalid_run", Severity::problem, "a run finished, but its figures must not be used",
              "Remove the reason and repeat the run; nothing in this report is computed from it."},
    IssueRule{"flagged", Severity::warning, "a run or the study carries a flag",
              "Read the flag before you use the figure it is about."},
    IssueRule{"not_comparable", Severity::problem,
              "sizes of a scaling study differ in more than their size, or their accuracy differs",
              "Measure all sizes with the same settings; scale the learning rate with the effective batch."},
    IssueRule{"poor_scaling", Severity::warning, "the efficiency of a size is fair or poor for its topology",
              "See the causes under Scaling; without telemetry of the ranks none can be named."},
    IssueRule{"latency_spread", Severity::warning,
              "the mean latency of the slowest node is more than 5 % above that of the fastest",
              "Compare clocks, temperatures and other load of the two nodes."},
    IssueRule{"throughput_imbalance", Severity::warning, "the rates of two nodes differ by more than 5 %",
              "Give nodes work in proportion to their speed, or find out what slows the slower one."},
    IssueRule{"uneven_distribution", Severity::warning,
              "a node's share of the finished samples is more than 10 % off an even one",
              "Distribute requests by outstanding work rather than in fixed shares."},
    IssueRule{"node_outside_tolerance", Severity::warning,
              "a node's speed (±5 %), GPU memory (±2 %) or temperature (±10 °C) is off the median of all nodes",
              "Drain the node and run `assay doctor` there."},
    IssueRule{"degraded_host", Severity::problem,
              "the same work on one host has become slower, by its own past and that of its peers (History)",
              "Run `assay doctor` there and look at its clocks, temperatures and ECC errors since that run."},
    IssueRule{"throttling", Severity::warning, "GPU clocks were held down during more than 1 % of a run",
              "Check cooling and power limit; figures of a throttled run describe the cooling."},
    IssueRule{
        "power_capped_gpu", Severity::warning,
        "the power limit held one GPU's clocks down in 25 % more of its readings than the run's other GPUs (median)",
        "Compare its power limit (`nvidia-smi -q -d POWER`) and its cooling with those of the others."},
    IssueRule{"hot_gpu", Severity::warning, "a GPU reached 85 °C", "Check cooling and air flow."},
    IssueRule{"input_wait", Severity::warning, "waiting for data took more than 10 % of the step",
              "Raise `data.workers` or `data.prefetch`, or tokenise ahead of the training."},
    IssueRule{"low_gpu_utilisation", Severity::warning, "GPUs were busy less than half of the time",
              "Raise the batch size; see whether data or communication holds the GPU up."},
    IssueRule{"memory_headroom", Severity::note, "the peak memory is below 70 % of the GPU's",
              "A larger batch would fit and usually raises throughput."},
    IssueRule{"unequal_work", Severity::warning,
              "samples of two configurations differ in length, so that samples/s do not compare", "Compare tokens/s."},
    IssueRule{"missed_expectation", Severity::warning,
              "the mean of a configuration's repeats is worse than its `expect` by more than 5 %",
              "See which settings differ from the recommended configuration, or correct the expectation."},
    IssueRule{"one_seed", Severity::note, "the repeats of a training share one seed",
              "Remove `seeds: same`: each repeat then gets a seed of its own."},
    IssueRule{"noisy_repeats", Severity::warning, "repeats of one configuration spread by more than 5 %",
              "Look for other load on the machine; repeat more often."},
    IssueRule{"too_few_repeats", Severity::note, "configurations are compared with fewer than 5 repeats each",
              "Set `repeat: 5` or more: without it no difference can be told from noise."},
    IssueRule{"mixed_environment", Severity::warning,
              "runs that are compared had different GPUs, drivers or software versions",
              "Repeat them in one environment, or read the difference as that of the environments."},
};

std::string_view word(Severity severity) { return name_of(severity); }

}  // namespace

const IssueRule& rule_called(std::string_view name) {
  const auto found = std::find_if(kRules.begin(), kRules.end(), [&](const auto& rule) { return rule.name == name; });
  ASSAY_ASSERT(found != kRules.end());
  return *found;
}

std::string rule_reference() {
  std::string text =
      "# Rules behind issues and recommendations\n\n"
      "Every issue in a report was found by one of these rules in recorded data; a figure that was not recorded finds\n"
      "nothing. Recommendations repeat the remedies of the issues that were found, the configuration that the matrix\n"
      "recommends, and the size that the scaling laws predict to be best.\n\n"
      "| rule | severity | found when | remedy |\n|---|---|---|---|\n";
  for (const auto& rule : kRules) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", rule.name, word(rule.severity), rule.when, rule.remedy);
  }
  return text;
}

}  // namespace assay
