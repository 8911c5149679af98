#include "report/build/sections.h"

#include <fmt/format.h>

#include <array>

namespace assay {
namespace {

constexpr std::array kSections = {
    ReportSection{"summary", "Summary", "always",
                  "the answer in a sentence each: sizes and their efficiency, the recommended configuration, nodes out "
                  "of tolerance, samples finished, hosts that became slower; how many problems and warnings there are",
                  summary_section},
    ReportSection{
        "serving", "Inference results", "runs of single nodes state how many samples were asked for and finished",
        "whether the result would be valid by MLPerf's rules, all nodes together and each by itself, lost samples",
        serving_section},
    ReportSection{"latency", "Latency", "a run recorded percentiles of latencies",
                  "mean and percentiles of latency, counted from when a request was due; its distribution as a chart; "
                  "how late the client sent its requests",
                  latency_section},
    ReportSection{"token_times", "Token times", "a run recorded times to the first token, per token or between tokens",
                  "mean and percentiles of each, and their distributions as charts", token_times_section},
    ReportSection{"load_curve", "Load curve",
                  "loads of `kind: serve` differ in `rate` or `concurrency`, or a search probed several rates",
                  "throughput against latency, from the lightest load to the heaviest; which loads were too heavy; the "
                  "knee",
                  load_curve_section},
    ReportSection{"load_maps", "Loads over two settings", "exactly two settings differ between loads of `kind: serve`",
                  "throughput, latency, time to the first token and goodput over both, as heat maps",
                  load_maps_section},
    ReportSection{"endpoints", "Endpoints", "the load of a run went to two endpoints or more",
                  "requests, failures, latency and tokens of each endpoint", endpoints_section},
    ReportSection{
        "clients", "Clients", "several clients sent the load of a run",
        "requests, failures, lateness and waiting of each client, how well its clock is known, why one was lost",
        clients_section},
    ReportSection{"answers", "Answers", "a run of `kind: serve` had answers",
                  "how long answers were, why they ended, how many were empty, cut off or of the wrong format; ROUGE "
                  "against references",
                  answers_section},
    ReportSection{
        "nodes", "Results per node", "two nodes or more did the same work, each by itself",
        "each node against the median of all: speed, memory, temperature, cost, and whether it is within tolerance",
        nodes_section},
    ReportSection{"scaling", "Scaling", "two sizes or more of one workload",
                  "time, speed-up and efficiency of each size, its verdict, whether accuracy stayed the same, fits of "
                  "Amdahl's and the universal scalability law, likely causes of losses",
                  scaling_section},
    ReportSection{"matrix", "Configurations",
                  "settings differ between runs of one size, and samples a second were reported",
                  "which configuration is faster, slower, of no difference that could be told, failed; which to use "
                  "and why; speed against quality and memory; then what else came out, as below",
                  matrix_section},
    ReportSection{"configurations", "Configurations",
                  "settings differ between runs of one size, and no samples a second were reported",
                  "settings against figures, each figure tested against the baseline, the time to a level of "
                  "validation loss, the metric over two settings, expectations that were missed",
                  configurations_section},
    ReportSection{"metrics", "Final figures", "one or two runs, or runs that nothing above has an answer for",
                  "the final value of every metric", metrics_section},
    ReportSection{"history", "History", "a host did the same work ten times or more",
                  "trend and change of level of each host against its own past and its peers", history_section},
    ReportSection{"leaderboard", "Models, devices, software",
                  "models, devices or software differ and tokens a second were reported",
                  "who is fastest, at which cost, and where noise leaves it open", leaderboard_section},
    ReportSection{"runs", "Runs", "always", "each run with its verdict, exit code, duration, host and last error",
                  runs_section},
    ReportSection{"cost", "Cost and energy", "a price is known, or the energy of GPUs was recorded",
                  "cost of a run, of 1,000 samples and of a million tokens against the baseline, of a production job; "
                  "energy and CO₂",
                  cost_section},
    ReportSection{"tokens", "Tokens", "a run reported tokens a second or output tokens",
                  "tokens a second, per sample, in and out, and the model FLOPs utilisation", tokens_section},
    ReportSection{"roofline", "Roofline", "operations, bytes and the measured ceilings of both were reported",
                  "how close each configuration comes to the roof, and what bounds it", roofline_section},
    ReportSection{"curves", "Curves", "a metric of learning has a course",
                  "loss, validation loss and accuracy, perplexity, time of a step; one line for each configuration",
                  curves_section},
    ReportSection{
        "resources", "Resources", "telemetry was recorded",
        "mean and highest utilisation, memory, temperature, power and clocks of each run and, of several, each node",
        resources_section},
    ReportSection{"settings", "Settings", "runs have settings",
                  "every setting with its value, or its values where runs differ", settings_section},
    ReportSection{
        "environment", "Environment", "anything is known of the machines",
        "hosts, devices, drivers, software and seeds; what vendors state of the devices beside what was measured",
        environment_section},
    ReportSection{"preflight", "Pre-flight", "`assay run` looked at the machine first", "what it found, with its level",
                  preflight_section},
    ReportSection{"issues", "Issues", "always", "what was found wrong, by the [rules](report-rules.md)",
                  issues_section},
    ReportSection{"recommendations", "Recommendations", "always", "what to do next, each from an issue or an answer",
                  recommendations_section},
    ReportSection{"method", "Method and validity", "always",
                  "which runs were used, how figures are computed and tested, hashes of the settings, the version that "
                  "recorded them",
                  method_section},
};

}  // namespace

std::span<const ReportSection> report_sections() { return kSections; }

std::string section_reference() {
  std::string text =
      "# Sections of a report\n\n"
      "What `assay report` shows, in this order; a section that the runs have nothing for is left out. The id is what "
      "links\n"
      "(`report.html#cost`) and `--json` call it.\n\n"
      "| section | id | appears when | says |\n|---|---|---|---|\n";
  for (const auto& section : kSections)
    text += fmt::format("| {} | `{}` | {} | {} |\n", section.title, section.id, section.when, section.says);
  return text;
}

}  // namespace assay
