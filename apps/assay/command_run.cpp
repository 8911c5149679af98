#include <fmt/format.h>

#include <memory>

#include "base/hash.h"
#include "base/text.h"
#include "base/version.h"
#include "cluster_run.h"
#include "commands.h"
#include "launch_places.h"
#include "live_view.h"
#include "machine/doctor.h"
#include "redact/redact.h"
#include "run_services.h"
#include "run_view.h"
#include "spec/spec.h"
#include "stop_signals.h"
#include "store/resolve.h"
#include "store/run_store.h"

namespace assay {
namespace {

struct RunOptions {
  std::vector<std::string> files;
  std::vector<std::string> assignments;
  std::vector<std::string> tags;
  std::string name;
  std::string resume;
  std::string node;
  std::string on;
  std::vector<std::string> gpus;
  bool no_wait = false;
  bool verbose = false;
};

/// --leader, or --node for the leader of the data folder, means a cluster.
bool is_for_cluster(const Context& context, const RunOptions& options) {
  return !context.leader.url.empty() || !options.node.empty();
}

std::vector<std::string> all_tags(const Spec& spec, const RunOptions& options) {
  auto tags = tags_of(spec);
  tags.insert(tags.end(), options.tags.begin(), options.tags.end());
  return tags;
}

/// Does what one or several specifications ask for, and tells the user.
class RunCommand {
 public:
  RunCommand(Context& context, const RunOptions& options) : context_(context), options_(options) {}

  int run() {
    if (options_.files.empty() == options_.resume.empty()) {
      return context_.fail({.kind = ErrorKind::usage,
                            .message = "name a specification file, or a study or run with --resume, but not both",
                            .hint = "For example: assay run examples/command.yaml"});
    }
    if (auto opened = open_where_asked(); !opened) return context_.fail(opened.error());
    if (is_for_cluster(context_, options_)) return ask_cluster();
    if (options_.no_wait || !options_.gpus.empty()) {
      return context_.fail({.kind = ErrorKind::usage,
                            .message = "--no-wait and --gpus are for runs on a cluster",
                            .hint = "Name the node: --node gpu03."});
    }
    auto specs = read_specs(context_, options_.files, options_.assignments);
    if (!specs) return context_.fail(specs.error());
    auto store = context_.open_store();
    if (!store) return context_.fail(store.error());
    store_ = std::move(store).value();
    if (!options_.resume.empty()) return resume();
    look_at_machine();
    int worst = 0;
    for (const auto& spec : *specs) {
      const int code = run_spec(spec);
      // With several specifications, the first that went wrong decides.
      if (worst == 0) worst = code;
      if (signals_.requested()) break;
    }
    return worst;
  }

 private:
  /// As --on says.
  Result<void> open_where_asked() {
    if (!options_.on.empty() && is_for_cluster(context_, options_)) {
      return Error{.kind = ErrorKind::usage,
                   .message =
                       "--on names a place that this machine uses by itself, --leader and --node one of a leader: "
                       "not both",
                   .hint = "Leave one of them away; --on node:NODE is the same as --node NODE."};
    }
    ASSAY_TRY(place_, open_place(options_.on, context_));
    if (!place_.node.empty()) options_.node = place_.node;
    return {};
  }

  /// Goes on with a study, or with a run whose job has outlived its owner.
  int resume() {
    const auto study = resolve_study(*store_, options_.resume);
    if (study) return resume_study(*study);
    if (study.error().kind != ErrorKind::not_found) return context_.fail(study.error());
    const auto run = resolve_run(*store_, options_.resume);
    if (run) return resume_single(*run);
    if (run.error().kind != ErrorKind::not_found) return context_.fail(run.error());
    return context_.fail({.kind = ErrorKind::not_found,
                          .message = fmt::format("there is neither a study nor a run '{}'", printable(options_.resume)),
                          .hint = "`assay runs` lists what there is."});
  }

  int resume_study(const std::string& id) {
    auto study = store_->find_study(id);
    if (!study) return context_.fail(study.error());
    if (auto opened = open_place_of(*study); !opened) return context_.fail(opened.error());
    // What the leader of this data folder was asked for is its nodes' to do.
    const auto is_placed = [&](const PlannedRun& planned) {
      if (!planned.node.empty() || planned.run.empty()) return !planned.node.empty();
      const auto run = store_->find_run(planned.run);
      return run && !run->placement.node.empty();
    };
    if (place_.is_this_machine() && std::any_of(study->plan.begin(), study->plan.end(), is_placed)) {
      return ask_cluster();
    }
    look_at_machine();
    return finish_study(id);
  }

  int resume_single(const std::string& id) {
    auto run = store_->find_run(id);
    if (!run) return context_.fail(run.error());
    if (auto opened = open_place_of(*run); !opened) return context_.fail(opened.error());
    LiveView view = make_view();
    auto done = resume_run(id, make_services(context_, *store_, place_, view, signals_.fd()));
    if (!done) return context_.fail(done.error());
    return report_run(context_, *done, *store_);
  }

  /// Where it was begun, unless --on names a place.
  Result<void> open_place_of(const Run& run) {
    if (!options_.on.empty() || run.placement.place.empty()) return {};
    ASSAY_TRY(place_, open_place(run.placement.place, context_));
    return {};
  }
  Result<void> open_place_of(const Study& study) {
    for (const auto& planned : study.plan) {
      if (planned.run.empty()) continue;
      const auto run = store_->find_run(planned.run);
      if (run && !run->placement.place.empty()) return open_place_of(*run);
    }
    return {};
  }

  int ask_cluster() const {
    return run_on_cluster(context_, {.files = options_.files,
                                     .resume = options_.resume,
                                     .assignments = options_.assignments,
                                     .tags = options_.tags,
                                     .name = options_.name,
                                     .node = options_.node,
                                     .gpus = options_.gpus,
                                     .no_wait = options_.no_wait,
                                     .verbose = options_.verbose});
  }

  int run_spec(const Spec& spec) {
    auto plan = expand(spec);
    if (!plan) return context_.fail(plan.error());
    const std::string name = options_.name.empty() ? default_name(spec) : options_.name;
    return plan->size() == 1 ? run_one(plan->front(), name, spec) : start_study(std::move(plan).value(), name, spec);
  }

  /// What the machine was like before anything ran on it: the pre-flight table of reports.
  void look_at_machine() {
    if (!place_.is_this_machine()) return;
    json::array findings;
    for (const auto& finding : examine(MachineView::real(), {.data_folder = context_.data_folder(), .quick = true})) {
      findings.push_back(to_json(finding));
    }
    preflight_ = json::serialize(findings);
  }
  void attach_preflight(const std::string& run) {
    if (!preflight_.empty()) (void)attach_text(*store_, run, "preflight.json", preflight_).ok();
  }

  StudyOptions study_options(LiveView& view, std::size_t planned) const {
    StudyOptions options;
    options.provenance = place_.is_this_machine() ? describe_this_machine() : describe_owner();
    options.on_next = [&view, planned](const PlannedRun& next, std::size_t index) {
      view.set_title(planned > 1 ? fmt::format("{}/{} {}", index + 1, planned, next.variant) : "");
    };
    options.stop_requested = [this] { return signals_.requested(); };
    return options;
  }

  LiveView make_view() const {
    return LiveView({.show_output = options_.verbose,
                     .output_to_error = context_.json,
                     .show_progress = !context_.quiet,
                     .show_read = !context_.quiet},
                    context_.error_style());
  }

  int run_one(const PlannedRun& planned, const std::string& name, const Spec& spec) {
    LiveView view = make_view();
    const auto services = make_services(context_, *store_, place_, view, signals_.fd());
    auto run = run_single(planned, name, all_tags(spec, options_), study_options(view, 1), services);
    if (!run) return context_.fail(run.error());
    (void)attach_text(*store_, run->id, "spec.yaml", redact(spec.source)).ok();
    attach_preflight(run->id);
    return report_run(context_, *run, *store_);
  }

  int start_study(std::vector<PlannedRun> plan, const std::string& name, const Spec& spec) {
    Study study{.name = name,
                .tags = all_tags(spec, options_),
                .created = context_.clock.wall(),
                .source = spec.source,
                .spec_hash = content_hash(json::serialize(spec.settings)),
                .plan = std::move(plan)};
    if (auto created = store_->create_study(study); !created) return context_.fail(created.error());
    return finish_study(study.id);
  }

  int finish_study(const std::string& id) {
    auto study = store_->find_study(id);
    if (!study) return context_.fail(study.error());
    LiveView view = make_view();
    const auto services = make_services(context_, *store_, place_, view, signals_.fd());
    auto outcome = run_study(id, study_options(view, study->plan.size()), services);
    if (!outcome) return context_.fail(outcome.error());
    if (!outcome->runs.empty()) attach_preflight(outcome->runs.front().id);
    return report_study(context_, *study, *outcome);
  }

  Context& context_;
  RunOptions options_;
  StopSignals signals_;
  std::unique_ptr<RunStore> store_;
  LaunchPlace place_;
  std::string preflight_;
};

}  // namespace

Action add_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  auto* command = app.add_subcommand("run", "Run what specifications say and record it")->group("Run");
  command->add_option("SPEC", options->files, "YAML files; - reads standard input");
  command->add_option("--set", options->assignments, "Change a setting: --set batch_size=64 --set lora.rank=8")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--name", options->name, "Name of the run or study [the file's name]");
  command->add_option("--tag", options->tags, "Tag: key=value or a word; may be repeated")->allow_extra_args(false);
  command
      ->add_option("--resume", options->resume,
                   "Go on with an interrupted study, or with a run that has outlived its owner")
      ->type_name("STUDY|RUN");
  command->add_option("--on", options->on, "Elsewhere, with this machine as its owner: a place as below")
      ->type_name("PLACE");
  command
      ->add_option("--node", options->node,
                   "On this node of the cluster [as the specification says, else wherever it fits]")
      ->type_name("NODE");
  command->add_option("--gpus", options->gpus, "On these GPUs of the node, by UUID [as many as it needs]")
      ->delimiter(',')
      ->type_name("UUID,…");
  command->add_flag("--no-wait", options->no_wait, "On a cluster: print its id and do not wait for its end");
  command->add_flag("-v,--verbose", options->verbose, "Show what the workload prints");
  command->footer(fmt::format(R"(
Places:
{}
Examples:
  assay run examples/command.yaml
  assay run bench.yaml --on ssh:gpu01,gpu02
  assay run bench.yaml --set repeat=5 --tag node=gpu03
  assay run --resume @last
  assay run --resume @last --leader https://head:8443
  assay run bench.yaml --leader https://head:8443              on a node of that cluster, wherever it fits
  assay run bench.yaml --leader https://head:8443 --node gpu03)",
                              describe_places()));
  return [&context, options] { return RunCommand(context, *options).run(); };
}

}  // namespace assay
