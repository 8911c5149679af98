#include "runs/study_run.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/log.h"
#include "redact/redact.h"
#include "runs/follow.h"
#include "runs/judge.h"
#include "runs/workload.h"
#include "spec/spec.h"
#include "store/run_store.h"
#include "store/run_writer.h"

namespace assay {
namespace {

/// A specification may carry a credential (`env: {HF_TOKEN: …}`); what is recorded of it must not.
json::value without_secrets(std::string_view key, const json::value& value) {
  if (const auto* object = value.if_object()) {
    json::object copy;
    for (const auto& member : *object) copy[member.key()] = without_secrets(member.key(), member.value());
    return copy;
  }
  if (const auto* array = value.if_array()) {
    json::array copy;
    for (const auto& item : *array) copy.push_back(without_secrets({}, item));
    return copy;
  }
  const auto* text = value.if_string();
  if (!text) return value;
  // The name of a setting tells as much as its value: HF_TOKEN=… is looked at as a whole.
  const std::string prefix = key.empty() ? std::string() : std::string(key) + "=";
  const std::string redacted = redact(prefix + std::string(*text));
  return redacted.starts_with(prefix) ? json::value(redacted.substr(prefix.size())) : json::value(redact(*text));
}

/// A run of the plan that could not even be started is a result of the study, too.
Result<Run> store_failed_run(Run run, const Error& error, const RunServices& services) {
  run.created = run.started = run.ended = services.clock.wall();
  run.state = RunState::running;
  ASSAY_TRY(auto writer, begin_run(services.store, run));
  run.state = RunState::ended;
  run.verdict = Verdict::failed;
  run.error = RunError{.kind = error.kind, .message = error.text(), .hint = error.hint};
  ASSAY_CHECK(writer->finish(run));
  services.observer.on_end(run);
  return run;
}

void count(StudyOutcome& outcome, Run run) {
  if (run.verdict == Verdict::valid) {
    ++outcome.valid;
  } else {
    ++outcome.not_valid;
  }
  outcome.runs.push_back(std::move(run));
}

/// The run that did this entry of the plan already, unless it has to be done again.
std::optional<Run> done_already(RunStore& store, const PlannedRun& planned) {
  if (planned.run.empty()) return std::nullopt;
  auto run = store.find_run(planned.run);
  if (!run || run->state != RunState::ended || run->verdict == Verdict::interrupted) return std::nullopt;
  return std::move(run).value();
}

/// The runs that are under way at their place while nobody records them. A study that somebody is doing right now must
/// not be done a second time beside it: `busy`. Runs that ended with their process are closed by looking at them.
Result<std::vector<std::string>> runs_without_owner(RunStore& store, const Study& study) {
  std::vector<std::string> without;
  for (const auto& planned : study.plan) {
    if (planned.run.empty()) continue;
    const auto run = store.find_run(planned.run);
    if (!run || run->state == RunState::ended) continue;
    ASSAY_TRY(const bool is_without, is_without_owner(store, *run));
    if (is_without) {
      without.push_back(run->id);
      continue;
    }
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("the study '{}' still runs: its run {} ({}) has not ended", study.name,
                                        planned.run, planned.variant),
                 .hint = "Wait for it, or stop it with Ctrl-C where it was started."};
  }
  return without;
}

}  // namespace

Run prepare_run(const PlannedRun& planned, std::string name, std::vector<std::string> tags) {
  Run run;
  run.name = std::move(name);
  run.tags = std::move(tags);
  run.kind = std::string(planned.spec.at("kind").as_string());
  run.variant = planned.variant;
  run.repeat = planned.repeat;
  run.ranks = planned.ranks;
  run.nodes = planned.nodes;
  run.spec = without_secrets({}, planned.spec).as_object();
  run.spec_hash = content_hash(json::serialize(planned.spec));
  if (const auto* seed = find_setting(planned.spec, "seed"); seed && seed->is_number()) {
    run.provenance.seeds["run"] = static_cast<std::uint64_t>(seed->to_number<double>());
  }
  return run;
}

Result<Run> execute_planned(const PlannedRun& planned, Run run, const StudyOptions& options,
                            const RunServices& services) {
  const TemporaryFolder scratch;
  ASSAY_TRY(const auto workload, make_workload(planned, scratch.path(), options.secret));
  // What is known of the run already stays: its seeds.
  auto seeds = std::move(run.provenance.seeds);
  run.provenance = options.provenance;
  run.provenance.seeds = std::move(seeds);
  run.provenance.command = redact_command(workload.job.arguments);
  if (workload.job.folder) run.provenance.working_directory = workload.job.folder->string();
  return execute_run(std::move(run), workload, services);
}

int exit_code_of(const StudyOutcome& outcome) {
  // A study none of which this machine can do is not a workload that failed.
  const auto cannot = [](const Run& run) { return exit_code_of(run) == 3; };
  if (!outcome.interrupted && !outcome.runs.empty() && std::all_of(outcome.runs.begin(), outcome.runs.end(), cannot))
    return 3;
  if (outcome.interrupted || outcome.valid == 0) return 1;
  return outcome.not_valid == 0 ? 0 : 4;
}

Result<Run> run_single(const PlannedRun& planned, std::string name, std::vector<std::string> tags,
                       const StudyOptions& options, const RunServices& services) {
  Run run = prepare_run(planned, std::move(name), std::move(tags));
  run.variant.clear();  // there is nothing it is a variant of
  return execute_planned(planned, std::move(run), options, services);
}

Result<StudyOutcome> run_study(const std::string& study_id, const StudyOptions& options, const RunServices& services) {
  ASSAY_TRY(const Study study, services.store.find_study(study_id));
  ASSAY_TRY(const auto without_owner, runs_without_owner(services.store, study));
  // First of all, so that nothing runs beside them. What came of them is found below.
  for (const auto& run : without_owner) ASSAY_CHECK(resume_run(run, services));
  StudyOutcome outcome;
  for (std::size_t i = 0; i < study.plan.size(); ++i) {
    const PlannedRun& planned = study.plan[i];
    if (auto done = done_already(services.store, planned)) {
      count(outcome, std::move(*done));
      continue;
    }
    if (options.stop_requested()) {
      outcome.interrupted = true;
      break;
    }
    options.on_next(planned, i);
    Run run = prepare_run(planned, study.name, study.tags);
    run.study = study.id;
    run.id = new_id();
    // Written down before the run begins, so that a killed study knows its unfinished run.
    ASSAY_CHECK(services.store.note_planned_run(study.id, i, run.id));
    auto result = execute_planned(planned, run, options, services);
    if (!result) result = store_failed_run(std::move(run), result.error(), services);
    if (!result) return std::move(result).error();
    if (result->verdict == Verdict::interrupted) {
      outcome.interrupted = true;
      outcome.runs.push_back(std::move(result).value());
      break;
    }
    count(outcome, std::move(result).value());
  }
  return outcome;
}

}  // namespace assay
