#include "run_services.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/version.h"
#include "gpu_source.h"
#include "launch_places.h"
#include "machine/machine.h"
#include "mistakes.h"
#include "run_view.h"
#include "runs/follow.h"
#include "runs/judge.h"
#include "store/run_store.h"
#include "telemetry/metric_source.h"
#include "telemetry/procfs/procfs_source.h"

namespace assay {

Result<std::vector<Spec>> read_specs(const Context& context, const std::vector<std::string>& files,
                                     const std::vector<std::string>& assignments) {
  const SpecOverrides overrides{.assignments = assignments, .environment = context.environment};
  std::vector<Spec> specs;
  std::vector<Diagnostic> mistakes;
  for (const auto& file : files) {
    ASSAY_TRY(auto reading, read_spec_file(file, overrides));
    mistakes.insert(mistakes.end(), reading.diagnostics.begin(), reading.diagnostics.end());
    if (reading.spec) specs.push_back(std::move(*reading.spec));
  }
  if (mistakes.empty()) return specs;
  return mistakes_error(context, mistakes,
                        "docs/reference/spec.md explains every setting; `assay schema` helps editors.");
}

std::vector<std::unique_ptr<MetricSource>> machine_sources(bool with_gpus) {
  std::vector<std::unique_ptr<MetricSource>> sources;
  sources.push_back(make_procfs_source({}));
  if (with_gpus && has_nvidia_gpu()) sources.push_back(make_gpu_source());
  return sources;
}

std::vector<std::unique_ptr<MetricSource>> run_sources(std::optional<pid_t> workload, bool with_gpus) {
  auto sources = machine_sources(with_gpus);
  if (workload) sources.push_back(make_process_tree_source(*workload));
  return sources;
}

RunServices make_services(const Context& context, RunStore& store, Launcher& launcher, RunObserver& observer,
                          int stop_fd, bool with_gpus) {
  return RunServices{
      .store = store,
      .launcher = launcher,
      .clock = context.clock,
      .observer = observer,
      .make_sources = [with_gpus](std::optional<pid_t> workload) { return run_sources(workload, with_gpus); },
      .stop_fd = stop_fd};
}

RunServices make_services(const Context& context, RunStore& store, const LaunchPlace& place, RunObserver& observer,
                          int stop_fd) {
  auto services = make_services(context, store, *place.launcher, observer, stop_fd);
  services.place = place.text;
  return services;
}

Programs find_programs() {
  const auto self = self_path();
  return {.self = self, .engine = find_engine(self)};
}

Provenance describe_this_machine() {
  std::error_code code;
  const auto folder = std::filesystem::current_path(code);
  Provenance provenance = inspect_machine(MachineView::real(), folder, true);
  provenance.machine_cores = static_cast<int>(std::max(0L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  provenance.assay_version = version();
  provenance.assay_commit = git_commit();
  provenance.working_directory = folder.string();
  return provenance;
}

Provenance describe_owner() {
  const Provenance here = describe_this_machine();
  Provenance owner;
  owner.assay_version = here.assay_version;
  owner.assay_commit = here.assay_commit;
  owner.git_commit = here.git_commit;
  owner.git_dirty = here.git_dirty;
  return owner;
}

int report_run(const Context& context, const Run& run, RunStore& store, bool to_error) {
  if (!context.json && !context.quiet) {
    const std::string text =
        describe_run(run, store, context.folder_of_runs(), to_error ? context.error_style() : context.out_style());
    to_error ? print_error(text) : print(text);
  }
  json::object error;
  if (run.error) error = to_json(*run.error);
  return context.answer(exit_code_of(run), to_json(run), run.error ? &error : nullptr);
}

int report_study(const Context& context, const Study& study, const StudyOutcome& outcome) {
  if (!context.json && !context.quiet) print(describe_study(study, outcome, context.out_style()));
  json::array runs;
  for (const auto& run : outcome.runs) runs.push_back(to_json(run));
  return context.answer(exit_code_of(outcome),
                        {{"study", study.id},
                         {"name", study.name},
                         {"planned", study.plan.size()},
                         {"valid", outcome.valid},
                         {"not_valid", outcome.not_valid},
                         {"interrupted", outcome.interrupted},
                         {"runs", std::move(runs)}},
                        nullptr);
}

}  // namespace assay
