#include "runs/execute.h"

#include <fmt/format.h>

#include <thread>

#include "base/byte_stream.h"
#include "base/crash_point.h"
#include "base/files.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/text.h"

namespace assay {
namespace {

/// How long a further rank waits for rank 0 to begin recording.
constexpr Nanos kJoinPatience = std::chrono::seconds(30);
constexpr Nanos kJoinPause = std::chrono::milliseconds(100);
constexpr int kMostAttempts = 10'000;

void take_versions(Run& run, const RunFacts& facts) {
  const auto* versions = facts.hello.if_contains("versions");
  if (!versions || !versions->is_object()) return;
  const auto take = [&](std::string_view key, std::string& into) {
    const auto* value = versions->get_object().if_contains(key);
    if (value && value->is_string()) into = std::string(value->get_string());
  };
  take("engine", run.provenance.engine_version);
  take("torch", run.provenance.torch_version);
  take("python", run.provenance.python_version);
}

Result<void> keep_artifact(const std::string& run, const std::filesystem::directory_entry& entry, RunStore& store) {
  std::error_code code;
  if (!entry.is_regular_file(code)) {
    return Error{.kind = ErrorKind::unsupported, .message = "only files are kept, not folders and what is in them"};
  }
  ASSAY_TRY(const auto content, file_source(entry.path()));
  return store.attach(run, entry.path().filename().string(), *content);
}

/// Keeps the files that the workload left for its run. One that cannot be kept is counted, for the judge to see.
void keep_artifacts(const Run& run, const Workload& workload, RunStore& store, RunFacts& facts) {
  if (workload.artifacts.empty()) return;
  const auto lost = [&](const std::string& name, const std::string& why) {
    if (facts.artifacts_lost++ == 0) facts.first_artifact_lost = fmt::format("'{}' ({})", printable(name), why);
  };
  std::error_code code;
  std::filesystem::directory_iterator entry(workload.artifacts, code);
  while (!code && entry != std::filesystem::directory_iterator()) {
    const auto kept = keep_artifact(run.id, *entry, store);
    if (!kept) lost(entry->path().filename().string(), kept.error().text());
    entry.increment(code);
  }
  if (code) lost(workload.artifacts.filename().string(), code.message());
}

struct Outcome {
  Ending ending;
  RunFacts facts;
};

/// Starts and follows the workload; fills in the times of `run`. `token`: see Job.
Result<Outcome> record_workload(Run& run, RunWriter& writer, std::string token, const Workload& workload,
                                const RunServices& services) {
  ASSAY_TRY(auto patterns, TextMetrics::make(workload.patterns));
  Job job = workload.job;
  job.name = run.name;
  job.token = std::move(token);
  job.environment["ASSAY_RUN_ID"] = writer.run_id();
  // A kind that uses none is shown none, wherever it is placed.
  if (!job.devices) job.devices = run.placement.gpus;

  SteadyTime started = services.clock.now();
  ASSAY_TRY(const auto running, services.launcher.start(job));
  crash_point("workload-started");
  if (!running->waiting().empty()) {
    await_turn(*running, services.observer, services.stop_fd, services.clock);
    started = services.clock.now();
    run.started = services.clock.wall();
  }
  RunRecorder recorder(writer, std::move(patterns), {.output_limit = workload.output_limit}, services.clock);
  auto sources = services.make_sources(running->first_process());
  services.observer.on_start(run);
  const FollowOptions options{.time_limit = workload.time_limit, .grace = job.grace, .stop_fd = services.stop_fd};
  Outcome outcome{follow(*running, recorder, sources, services.observer, options, services.clock), {}};
  outcome.facts = recorder.facts();
  run.duration = services.clock.now() - started;
  run.ended = run.started + run.duration;
  return outcome;
}

}  // namespace

Result<Run> execute_run(Run run, const Workload& workload, const RunServices& services) {
  run.started = services.clock.wall();
  if (run.created == WallTime{}) run.created = run.started;
  ASSAY_TRY(auto writer, begin_run(services.store, run));
  auto outcome = record_workload(run, *writer, run.id, workload, services);
  if (!outcome) {
    // Nothing was measured: a mistyped program name should not litter the list of runs.
    writer.reset();
    if (auto removed = services.store.remove_run(run.id); !removed) log_warning("{}", removed.error().text());
    return std::move(outcome).error();
  }
  take_versions(run, outcome->facts);
  crash_point("workload-ended");
  keep_artifacts(run, workload, services.store, outcome->facts);
  run.series = writer->summaries();
  run.state = RunState::ended;
  judge(run, outcome->facts, outcome->ending);
  if (auto finished = writer->finish(run); !finished) {
    log_error("the run was done, but its result could not be stored: {}", finished.error().text());
    if (!outcome->facts.recording_error) outcome->facts.recording_error = std::move(finished).error();
    judge(run, outcome->facts, outcome->ending);
  }
  services.observer.on_recorded(outcome->facts);
  services.observer.on_end(run);
  return run;
}

std::string job_run_id(const JobPlace& place, int attempt) {
  return id_from(fmt::format("{}/{}/{}", place.launcher, place.job, attempt));
}

Result<std::string> id_for_job(RunStore& store, const JobPlace& place) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto id = job_run_id(place, attempt);
    const auto found = store.find_run(id);
    if (!found && found.error().kind == ErrorKind::not_found) return id;
  }
  return Error{.kind = ErrorKind::busy,
               .message = fmt::format("the job '{}' has recorded {} runs already", place.job, kMostAttempts)};
}

Result<Run> join_run(Run run, const JobPlace& place, const Workload& workload, const RunServices& services) {
  const std::string name = fmt::format("rank-{}", place.rank);
  const SteadyTime deadline = services.clock.now() + kJoinPatience;
  std::unique_ptr<RunWriter> writer;
  int attempt = 0;
  while (!writer) {
    const std::string id = job_run_id(place, attempt);
    const auto found = services.store.find_run(id);
    if (found && found->state == RunState::ended) {
      // An earlier run of the same job; ours is a later one.
      ++attempt;
      continue;
    }
    if (found) {
      auto joined = join_run(services.store, id, name);
      if (joined) {
        writer = std::move(joined).value();
        break;
      }
      if (joined.error().kind != ErrorKind::busy) return std::move(joined).error();
      ++attempt;
      continue;
    }
    if (found.error().kind != ErrorKind::not_found) return found.error();
    if (services.clock.now() > deadline) {
      return Error{
          .kind = ErrorKind::timeout,
          .message =
              fmt::format("rank {}: rank 0 of the job '{}' did not begin recording within 30 s", place.rank, place.job),
          .hint = "Every rank must be started with `assay exec`, and see the same data folder (--data or ASSAY_DATA)."};
    }
    std::this_thread::sleep_for(kJoinPause);
  }
  run.id = writer->run_id();
  run.started = services.clock.wall();
  ASSAY_TRY(auto outcome, record_workload(run, *writer, run.id + "/" + name, workload, services));
  judge(run, outcome.facts, outcome.ending);
  run.state = RunState::ended;
  if (auto finished = writer->finish(run); !finished) log_error("rank {}: {}", place.rank, finished.error().text());
  services.observer.on_end(run);
  return run;
}

}  // namespace assay
