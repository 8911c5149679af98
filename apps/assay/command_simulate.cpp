#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <memory>

#include "analysis/intervals.h"
#include "analysis/statistics.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "commands.h"
#include "report/text/style.h"
#include "report/text/table.h"
#include "report_output.h"
#include "scheduler/simulate/policy_grid.h"
#include "scheduler/simulate/run_figures.h"
#include "scheduler/simulate/synthetic.h"
#include "scheduler/simulate/timeline.h"
#include "scheduler/simulate/trace_reader.h"
#include "stop_signals.h"

namespace assay {
namespace {

/// A dump of a million jobs has some 150 MB.
constexpr std::size_t kMostTraceBytes = std::size_t{2} << 30;

struct SimulateOptions {
  std::string trace;
  std::string nodes;
  std::vector<std::string> policies;
  std::size_t seeds = 0;
  std::uint64_t seed = 1;
  SyntheticTrace synthetic;
  std::string mean = "300s";
  std::string svg;
};

Error wrong_simulation(std::string message, std::string hint = "") {
  return Error{.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

/// What one policy did, once for each seed.
struct PolicyAnswer {
  PolicyKind kind = PolicyKind::two_tier;
  std::vector<RunFigures> runs;

  std::vector<double> values(double RunFigures::* member) const {
    std::vector<double> numbers;
    for (const RunFigures& figures : runs) numbers.push_back(figures.*member);
    return numbers;
  }
  double average(double RunFigures::* member) const { return mean(values(member)); }
};

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "–";
  return format_duration(Nanos(std::llround(std::min(seconds, 9e9) * 1e9)));
}

std::string ratio_text(const GridRatio& ratio) {
  if (!std::isfinite(ratio.ratio)) return "–";
  if (!ratio.interval) return fmt::format("{:.2f}×", ratio.ratio);
  return fmt::format("{:.2f}× [{:.2f}, {:.2f}]", ratio.ratio, ratio.interval->low, ratio.interval->high);
}

json::object ratio_json(const GridRatio& ratio) {
  json::object object{{"ratio", finite(ratio.ratio)}};
  if (ratio.interval) object["interval"] = json::array{ratio.interval->low, ratio.interval->high};
  return object;
}

class SimulateCommand {
 public:
  SimulateCommand(const Context& context, const SimulateOptions& options) : context_(context), options_(options) {}

  int run() { return options_.trace == "grid" ? run_grid() : run_trace(); }

 private:
  bool go_on(const std::string& what) {
    if (!context_.quiet && !context_.json && ::isatty(STDERR_FILENO) == 1) {
      print_error(fmt::format("\r  {}\x1b[K", what));
      shown_ = true;
    }
    return !signals_.requested();
  }

  void clear_line() {
    if (shown_) print_error("\r\x1b[K");
    shown_ = false;
  }

  int run_grid() {
    if (!options_.svg.empty() || !options_.nodes.empty() || !options_.policies.empty()) {
      return context_.fail(wrong_simulation("the grid has its own nodes and policies, and no timeline",
                                            "`assay simulate synthetic` takes --nodes, --policy and --svg."));
    }
    const std::size_t seeds = options_.seeds == 0 ? 8 : options_.seeds;
    std::size_t done = 0;
    const std::size_t all = seeds * grid_cases().size();
    const auto rows = compare_on_grid(seeds, options_.seed, {},
                                      [&] { return go_on(fmt::format("{} of {} simulations", 6 * done++, 6 * all)); });
    clear_line();
    if (!rows) return context_.fail(rows.error());
    if (!context_.json && !context_.quiet) print(text_of(*rows, seeds));
    return context_.succeed(json_of(*rows, seeds));
  }

  std::string text_of(const std::vector<GridRow>& rows, std::size_t seeds) const {
    std::string text = fmt::format(
        "\n  Mean completion time against round robin + FCFS, {}\n  4 nodes with a GPU each, "
        "jobs "
        "of 300 s in the mean; ~: estimates off by σ = 0.5 of their logarithm\n\n",
        seeds == 1 ? std::string("1 seed") : fmt::format("{} seeds, 95 % intervals", seeds));
    Table means({{"Case"},
                 {"Least work + SJF", Align::right, false, 3},
                 {"Central SJF", Align::right, false, 2},
                 {"Central SJF ~", Align::right},
                 {"Two-tier", Align::right, false, 1},
                 {"Two-tier ~", Align::right},
                 {"Goal", Align::right}});
    Table tails({{"Case"},
                 {"Central SJF ~ p99", Align::right},
                 {"Two-tier ~ p99", Align::right},
                 {"Two-tier ~ longest wait", Align::right}});
    for (const GridRow& row : rows) {
      means.add({row.name, ratio_text(row.least_work), ratio_text(row.central), ratio_text(row.central_unsure),
                 ratio_text(row.two_tier), ratio_text(row.two_tier_unsure),
                 row.goal ? fmt::format("{:.2f}×", *row.goal) : std::string("–")});
      tails.add(
          {row.name, ratio_text(row.central_p99), ratio_text(row.two_tier_p99), ratio_text(row.two_tier_longest_wait)});
    }
    text += means.render(context_.out_style());
    text += "\n  99th percentile of completion times and the longest wait, against the same\n\n";
    text += tails.render(context_.out_style());
    return text + "\n";
  }

  static json::object json_of(const std::vector<GridRow>& rows, std::size_t seeds) {
    json::array cases;
    for (const GridRow& row : rows) {
      json::object object{{"case", row.name},
                          {"least_work_sjf", ratio_json(row.least_work)},
                          {"central_sjf", ratio_json(row.central)},
                          {"central_sjf_unsure", ratio_json(row.central_unsure)},
                          {"two_tier", ratio_json(row.two_tier)},
                          {"two_tier_unsure", ratio_json(row.two_tier_unsure)},
                          {"central_sjf_unsure_p99", ratio_json(row.central_p99)},
                          {"two_tier_unsure_p99", ratio_json(row.two_tier_p99)},
                          {"two_tier_unsure_longest_wait", ratio_json(row.two_tier_longest_wait)}};
      if (row.goal) object["goal"] = *row.goal;
      cases.push_back(std::move(object));
    }
    return {{"baseline", "rr-fcfs"}, {"seeds", seeds}, {"cases", std::move(cases)}};
  }

  Result<std::vector<PolicyKind>> chosen_policies() const {
    std::vector<PolicyKind> kinds;
    std::vector<std::string> names;
    for (const PolicyKind kind : all_policies()) names.emplace_back(name_of(kind));
    for (const std::string& name : options_.policies) {
      const auto kind = policy_from(name);
      if (!kind) {
        std::string message = fmt::format("'--policy {}' is not known.", name);
        if (const auto meant = nearest(name, names)) message += fmt::format(" Did you mean '{}'?", *meant);
        return wrong_simulation(message, fmt::format("Policies: {}", join(names, ", ")));
      }
      kinds.push_back(*kind);
    }
    if (kinds.empty()) kinds.assign(all_policies().begin(), all_policies().end());
    return kinds;
  }

  Result<void> prepare() {
    ASSAY_TRY(kinds_, chosen_policies());
    const bool synthetic = options_.trace == "synthetic";
    if (!synthetic && options_.nodes.empty()) {
      return wrong_simulation("which nodes are to run the trace?", "For example: --nodes 100x8");
    }
    ASSAY_TRY(nodes_, parse_simulated_nodes(options_.nodes.empty() ? "4" : options_.nodes));
    if (!synthetic) {
      if (options_.seeds > 1)
        return wrong_simulation("a recorded trace is the same for every seed", "Leave --seeds out.");
      ASSAY_TRY(const std::string text, read_file(options_.trace, kMostTraceBytes));
      ASSAY_TRY(trace_, read_trace(text, options_.trace));
      return {};
    }
    rule_ = options_.synthetic;
    auto mean_length = parse_duration(options_.mean);
    if (!mean_length)
      return wrong_simulation(fmt::format("'--mean {}' {}", options_.mean, mean_length.error().message));
    rule_.mean_seconds = seconds_of(*mean_length);
    if (rule_.mean_seconds <= 0) return wrong_simulation("'--mean' must be more than 0");
    return {};
  }

  Trace trace_of(std::uint64_t seed) const {
    std::size_t gpus = 0;
    std::size_t widest = 1;
    for (const NodeOffer& node : nodes_) {
      gpus += node.gpus.size();
      widest = std::max(widest, node.gpus.size());
    }
    return make_trace(rule_, gpus, static_cast<int>(widest), seed);
  }

  int run_trace() {
    if (const auto ready = prepare(); !ready) return context_.fail(ready.error());
    const bool synthetic = options_.trace == "synthetic";
    const std::size_t seeds = synthetic ? std::max<std::size_t>(1, options_.seeds) : 1;
    std::vector<PolicyAnswer> answers;
    for (const PolicyKind kind : kinds_) answers.push_back({.kind = kind});
    std::string picture;
    for (std::size_t i = 0; i < seeds; ++i) {
      if (synthetic) trace_ = trace_of(options_.seed + i);
      for (PolicyAnswer& answer : answers) {
        auto one = simulate_one(answer.kind, i + 1 == seeds && &answer == &answers.back() ? &picture : nullptr);
        clear_line();
        if (!one) return context_.fail(one.error());
        answer.runs.push_back(*one);
      }
    }
    if (!options_.svg.empty()) {
      if (const int code = write_output(context_, options_.svg, picture); code != 0) return code;
    }
    if (!context_.json && !context_.quiet && options_.svg != "-") print(text_of(answers, seeds));
    return context_.succeed(json_of(answers, seeds));
  }

  Result<RunFigures> simulate_one(PolicyKind kind, std::string* picture) {
    SimulationOptions how;
    how.go_on = [&](std::size_t ended) {
      return go_on(fmt::format("{}: {} of {} jobs", title_of(kind), ended, trace_.jobs.size()));
    };
    if (picture != nullptr && !options_.svg.empty()) how.timeline_rows = kTimelineRows;
    ASSAY_TRY(const SimulatedRun simulated, simulate(trace_, nodes_, kind, how));
    if (how.timeline_rows > 0) {
      *picture = timeline_svg(fmt::format("{}: {}", title_of(kind), options_.trace), trace_, nodes_, simulated);
    }
    return figures_of(trace_, simulated);
  }

  static const PolicyAnswer* baseline_of(const std::vector<PolicyAnswer>& answers) {
    for (const PolicyAnswer& answer : answers) {
      if (answer.kind == PolicyKind::rr_fcfs) return &answer;
    }
    return nullptr;
  }

  static GridRatio against(const PolicyAnswer& baseline, const PolicyAnswer& answer) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < answer.runs.size(); ++i) {
      ratios.push_back(baseline.runs[i].mean_completion / answer.runs[i].mean_completion);
    }
    return ratio_over_seeds(ratios);
  }

  std::string text_of(const std::vector<PolicyAnswer>& answers, std::size_t seeds) const {
    std::size_t gpus = 0;
    for (const NodeOffer& node : nodes_) gpus += node.gpus.size();
    std::string text = fmt::format(
        "\n  {} jobs of {} users on {} nodes with {} GPUs{}\n", format_count(static_cast<double>(trace_.jobs.size())),
        trace_.users.size(), format_count(static_cast<double>(nodes_.size())), format_count(static_cast<double>(gpus)),
        seeds > 1 ? fmt::format(", means over {} seeds", seeds) : "");
    if (!trace_.notes.empty()) text += fmt::format("  left out: {}\n", join(trace_.notes, ", "));
    if (answers.front().runs.front().misfits > 0) {
      text += fmt::format("  left out, since they fit on no node: {}\n", answers.front().runs.front().misfits);
    }
    Table table({{"Policy"},
                 {"Mean", Align::right},
                 {"p50", Align::right, false, 3},
                 {"p99", Align::right},
                 {"Mean wait", Align::right},
                 {"p99 wait", Align::right, false, 2},
                 {"Longest wait", Align::right},
                 {"In use", Align::right},
                 {"Fairness", Align::right, false, 1},
                 {"Against RR + FCFS", Align::right}});
    const PolicyAnswer* baseline = baseline_of(answers);
    for (const PolicyAnswer& answer : answers) {
      const auto time = [&](double RunFigures::* member) { return seconds_text(answer.average(member)); };
      table.add(
          {std::string(title_of(answer.kind)), time(&RunFigures::mean_completion), time(&RunFigures::p50_completion),
           time(&RunFigures::p99_completion), time(&RunFigures::mean_wait), time(&RunFigures::p99_wait),
           time(&RunFigures::longest_wait), fmt::format("{:.1f} %", answer.average(&RunFigures::utilisation) * 100),
           fmt::format("{:.3f}", answer.average(&RunFigures::fairness)),
           baseline != nullptr && baseline != &answer ? ratio_text(against(*baseline, answer)) : std::string("–")});
    }
    return text + "\n" + table.render(context_.out_style()) + "\n";
  }

  json::object json_of(const std::vector<PolicyAnswer>& answers, std::size_t seeds) const {
    json::array policies;
    const PolicyAnswer* baseline = baseline_of(answers);
    for (const PolicyAnswer& answer : answers) {
      json::object object{{"policy", name_of(answer.kind)},
                          {"jobs", answer.runs.front().jobs},
                          {"misfits", answer.runs.front().misfits}};
      const auto add = [&](std::string_view key, double RunFigures::* member) {
        object[key] = finite(answer.average(member));
      };
      add("mean_completion_s", &RunFigures::mean_completion);
      add("p50_completion_s", &RunFigures::p50_completion);
      add("p99_completion_s", &RunFigures::p99_completion);
      add("mean_wait_s", &RunFigures::mean_wait);
      add("p99_wait_s", &RunFigures::p99_wait);
      add("longest_wait_s", &RunFigures::longest_wait);
      add("utilisation", &RunFigures::utilisation);
      add("fairness", &RunFigures::fairness);
      add("makespan_s", &RunFigures::makespan);
      const std::vector<double> means = answer.values(&RunFigures::mean_completion);
      if (const auto interval = t_interval(means)) {
        object["mean_completion_interval_s"] = json::array{interval->low, interval->high};
      }
      if (baseline != nullptr) object["against_rr_fcfs"] = ratio_json(against(*baseline, answer));
      policies.push_back(std::move(object));
    }
    json::array notes;
    for (const std::string& note : trace_.notes) notes.emplace_back(note);
    return {{"trace", options_.trace}, {"jobs", trace_.jobs.size()},   {"nodes", nodes_.size()},
            {"seeds", seeds},          {"left_out", std::move(notes)}, {"policies", std::move(policies)}};
  }

  const Context& context_;
  const SimulateOptions& options_;
  const StopSignals signals_;
  bool shown_ = false;
  std::vector<PolicyKind> kinds_;
  std::vector<NodeOffer> nodes_;
  SyntheticTrace rule_;
  Trace trace_;
};

}  // namespace

Action add_simulate(CLI::App& app, Context& context) {
  auto options = std::make_shared<SimulateOptions>();
  options->synthetic.load = 0.9;
  auto* command =
      app.add_subcommand("simulate", "Try the scheduler on recorded or made-up jobs, beside others")->group("Cluster");
  command->add_option("TRACE", options->trace, "A file (CSV, or of sacct --parsable2), 'synthetic' or 'grid'")
      ->required();
  command->add_option("--nodes", options->nodes, "Nodes: 4, 100x8, 60x8:H200,40x4:V100@0.5 [4 for synthetic]")
      ->type_name("NODES");
  command->add_option("--policy", options->policies, "rr-fcfs, lwl-sjf, central-sjf or two-tier; may be repeated [all]")
      ->type_name("POLICY")
      ->allow_extra_args(false);
  command->add_option("--seeds", options->seeds, "How many times, each with other jobs [1; grid: 8]")
      ->check(CLI::Range(1, 10'000));
  command->add_option("--seed", options->seed, "The first of them [1]");
  command->add_option("--svg", options->svg, "Draw who had which GPU when, under the last policy")->type_name("FILE");
  auto& synthetic = options->synthetic;
  command->add_option("--jobs", synthetic.jobs, "synthetic: number of jobs [2000]")->check(CLI::Range(1, 10'000'000));
  command->add_option("--load", synthetic.load, "synthetic: share of the GPUs that is asked for; 0: a burst [0.9]")
      ->check(CLI::Range(0.0, 10.0));
  command->add_option("--mean", options->mean, "synthetic: mean length of a job [300s]")->type_name("DURATION");
  command->add_option("--cv", synthetic.variation, "synthetic: spread of lengths, coefficient of variation [1]")
      ->check(CLI::Range(0.0, 20.0));
  command->add_option("--error", synthetic.log_error, "synthetic: error of estimates, σ of their logarithm [0]")
      ->check(CLI::Range(0.0, 5.0));
  command->add_option("--users", synthetic.users, "synthetic: users; the k-th has 1/k of the first one's jobs [1]")
      ->check(CLI::Range(1, 100'000));
  command->add_option("--gangs", synthetic.gang_share, "synthetic: share of jobs that need several GPUs [0]")
      ->check(CLI::Range(0.0, 1.0));
  command->footer(R"(
The scheduler is the one that a leader runs, on a clock that jumps from event to event. A CSV file has the titles submit and
duration (seconds) and, as wanted, estimate, user, gpus, nodes, gpu_model, priority, name, limit. Without estimates they are
learnt from the jobs that have ended. 'grid' compares the policies on seven settings.
Exit codes: 0 simulated, 1 stopped, 2 the request or the file is wrong.
Examples:
  assay simulate grid --seeds 16
  assay simulate synthetic --nodes 32x8 --jobs 20000 --users 10 --gangs 0.2 --error 0.5 --svg timeline.svg
  sacct -aX --parsable2 --format=JobID,JobName,User,Submit,ElapsedRaw,State,NNodes,AllocTRES,TimelimitRaw \
      -S 2026-01-01 >jobs.txt && assay simulate jobs.txt --nodes 60x8:h200)");
  return [&context, options] { return SimulateCommand(context, *options).run(); };
}

}  // namespace assay
