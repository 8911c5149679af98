#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "base/hash.h"
#include "base/units.h"
#include "commands.h"
#include "launch/local/local_launcher.h"
#include "live_view.h"
#include "machine/job_place.h"
#include "redact/redact.h"
#include "run_services.h"
#include "runs/judge.h"
#include "runs/workload.h"
#include "stop_signals.h"
#include "store/run_store.h"

namespace assay {
namespace {

struct ExecOptions {
  std::string name;
  std::vector<std::string> tags;
  std::vector<std::string> metrics;
  std::string time_limit;
  std::string grace;
};

/// `--metric accuracy` or `--metric latency=took ([0-9.]+) ms`.
MetricPattern parse_metric(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) return {.name = text, .expression = ""};
  return {.name = text.substr(0, equals), .expression = text.substr(equals + 1)};
}

Result<Workload> make_exec_workload(const std::vector<std::string>& arguments, const ExecOptions& options) {
  Workload workload;
  workload.job.arguments = arguments;
  workload.job.inherit_input = true;
  for (const auto& metric : options.metrics) workload.patterns.push_back(parse_metric(metric));
  const auto duration = [](std::string_view flag, const std::string& text) -> Result<Nanos> {
    auto parsed = parse_duration(text);
    if (parsed) return parsed;
    return Error{.kind = ErrorKind::usage, .message = fmt::format("'{} {}' {}", flag, text, parsed.error().message)};
  };
  if (!options.time_limit.empty()) {
    ASSAY_TRY(workload.time_limit, duration("--time-limit", options.time_limit));
  }
  if (!options.grace.empty()) {
    ASSAY_TRY(workload.job.grace, duration("--grace", options.grace));
  }
  return workload;
}

Run describe_exec(const std::vector<std::string>& arguments, const ExecOptions& options) {
  Run run;
  run.kind = "command";
  run.name = options.name.empty() ? std::filesystem::path(arguments.front()).filename().string() : options.name;
  run.tags = options.tags;
  run.provenance = describe_this_machine();
  run.provenance.command = redact_command(arguments);
  run.spec = {{"kind", "command"}, {"command", json::value_from(run.provenance.command)}};
  run.spec_hash = content_hash(json::serialize(run.spec));
  return run;
}

int exec(const Context& context, const PassedArguments& passed, const ExecOptions& options) {
  if (!passed || passed->empty() || passed->front().empty()) {
    return context.fail(
        {.kind = ErrorKind::usage, .message = "no command to run", .hint = "For example: assay exec python3 train.py"});
  }
  auto workload = make_exec_workload(*passed, options);
  if (!workload) return context.fail(workload.error());
  auto store = context.open_store();
  if (!store) return context.fail(store.error());

  StopSignals signals;
  const auto launcher = make_local_launcher();
  const auto place = job_place(context.environment, ::getppid());
  const bool joins = place && place->rank > 0;
  LiveView view({.show_output = true,
                 .output_to_error = context.json,
                 .show_progress = !context.quiet && !joins,
                 .show_read = !context.quiet && !joins},
                context.error_style());
  const auto services = make_services(context, **store, *launcher, view, signals.fd(), !joins);
  Run run = describe_exec(*passed, options);
  if (place) {
    run.ranks = place->size;
    // Nodes are counted where the launcher tells; one process per core of a single machine is the common rest.
    if (const auto nodes = context.environment.find("SLURM_STEP_NUM_NODES"); nodes != context.environment.end()) {
      run.nodes = std::max(1, std::atoi(nodes->second.c_str()));
    }
  }
  if (joins) {
    auto joined = join_run(std::move(run), *place, *workload, services);
    return joined ? exit_code_of(*joined) : context.fail(joined.error());
  }
  if (place) {
    auto id = id_for_job(**store, *place);
    if (!id) return context.fail(id.error());
    run.id = *id;
  }
  auto done = execute_run(std::move(run), *workload, services);
  if (!done) return context.fail(done.error());
  return report_run(context, *done, **store, true);
}

}  // namespace

Action add_exec(CLI::App& app, Context& context, const PassedArguments& passed) {
  auto options = std::make_shared<ExecOptions>();
  auto* command = app.add_subcommand("exec", "Run any command and record it: assay exec COMMAND…")->group("Run");
  command->add_option("--name", options->name, "Name of the run [the program's name]");
  command->add_option("--tag", options->tags, "Tag: key=value or a word; may be repeated")->allow_extra_args(false);
  command
      ->add_option(
          "--metric", options->metrics,
          "Metric to read from the output: NAME, or NAME=REGEX with one group around the number; may be repeated")
      ->type_name("NAME[=REGEX]")
      ->allow_extra_args(false);
  command->add_option("--time-limit", options->time_limit, "Stop it after this long: 30min")->type_name("DURATION");
  command
      ->add_option("--grace", options->grace,
                   "Time between the signals that stop it: SIGINT on Ctrl-C, SIGTERM, SIGKILL [5s]")
      ->type_name("DURATION");
  command->footer(R"(
The command begins with the first word that is no option of assay; two dashes before it are allowed, too. Its output
appears as usual; `loss=0.12`, `Val Acc: 95.3%` and what the usual frameworks print is read from it
(docs/guides/reading-output.md), and so are events of the workload protocol (docs/guides/workload-protocol.md). Under
srun, mpirun or torchrun all ranks make one run.

Examples:
  assay exec python3 train.py --epochs 3
  assay exec --name resnet --tag gpu=a100 --metric 'img/s=([0-9.]+) img/s' -- python3 bench.py
  srun -n 8 assay exec -- python3 train.py)");
  return [&context, &passed, options] { return exec(context, passed, *options); };
}

}  // namespace assay
