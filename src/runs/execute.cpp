#include "runs/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/byte_stream.h"
#include "base/crash_point.h"
#include "base/files.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/text.h"
#include "launch/launcher.h"
#include "machine/job_place.h"
#include "runs/follow.h"
#include "runs/judge.h"
#include "runs/recorder.h"
#include "runs/run_marks.h"
#include "runs/workload.h"
#include "store/lease.h"
#include "store/run_store.h"
#include "telemetry/metric_source.h"

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

/// A run elsewhere was done by the machine that its place describes, not by this one. What its owner knows better
/// stays.
void take_machine(Run& run, const RunningJob& job) {
  const auto machine = job.machine();
  if (machine.empty()) return;
  auto there = provenance_from_json(machine);
  if (!there) return log_warning("what the place says of its machine cannot be read: {}", there.error().text());
  auto here = std::exchange(run.provenance, std::move(*there));
  run.provenance.assay_version = std::move(here.assay_version);
  run.provenance.assay_commit = std::move(here.assay_commit);
  run.provenance.git_commit = std::move(here.git_commit);
  run.provenance.git_dirty = here.git_dirty;
  run.provenance.command = std::move(here.command);
  run.provenance.seeds = std::move(here.seeds);
  if (!here.working_directory.empty()) run.provenance.working_directory = std::move(here.working_directory);
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

Error left_to_others(const Run& run) {
  return {.kind = ErrorKind::interrupted,
          .message = fmt::format("run '{}' goes on, and whoever followed it was told to go", run.id)};
}

bool outlives_owner(const Run& run) { return !run.placement.place.empty(); }

/// What it takes to follow the workload, for whoever attaches to its job later.
json::object watch_of(const Workload& workload) {
  json::array patterns;
  for (const auto& pattern : workload.patterns) {
    patterns.push_back({{"name", pattern.name}, {"expression", pattern.expression}});
  }
  return {{"patterns", std::move(patterns)},
          {"output_limit", workload.output_limit},
          {"time_limit_ns", workload.time_limit.count()},
          {"grace_ns", workload.job.grace.count()},
          {"artifacts", workload.artifacts.string()}};
}

Result<Workload> workload_from(const json::value& watch) {
  JsonFields fields(watch, "watch");
  Workload workload;
  for (const auto& item : fields.array_or_empty("patterns")) {
    JsonFields pattern(item, "pattern");
    workload.patterns.push_back({.name = pattern.text("name"), .expression = pattern.text("expression")});
    ASSAY_CHECK(pattern.finish());
  }
  workload.output_limit = static_cast<std::size_t>(fields.integer("output_limit"));
  workload.time_limit = Nanos(fields.integer("time_limit_ns"));
  workload.job.grace = Nanos(fields.integer("grace_ns"));
  workload.artifacts = fields.text("artifacts");
  ASSAY_CHECK(fields.finish());
  return workload;
}

/// The mark that stands in the journal before the job is started, with the keys of a recorder that has seen nothing.
std::string first_mark(const Workload& workload, WallTime now) {
  const std::int64_t nanos = now.time_since_epoch().count();
  return json::serialize(json::object{{"watch", watch_of(workload)}, {"started", nanos}, {"at", nanos}});
}

Outcome follow_job(RunningJob& job, RunRecorder& recorder, const Workload& workload, const RunServices& services,
                   Nanos elapsed) {
  // What is sampled here says nothing of another machine: there the place does it.
  auto sources = services.place.empty() ? services.make_sources(job.first_process())
                                        : std::vector<std::unique_ptr<MetricSource>>();
  const FollowOptions options{
      .time_limit = workload.time_limit, .elapsed = elapsed, .grace = workload.job.grace, .stop_fd = services.stop_fd};
  Outcome outcome{follow(job, recorder, sources, services.observer, options, services.clock), {}};
  outcome.facts = recorder.facts();
  return outcome;
}

/// Of a job that is in a queue of its place, among the marks.
constexpr std::string_view kQueuedMark = "queued";

/// Until it is the job's turn; the run starts then, not while it waits. `was_queued`: it was when its owner before
/// died. Whoever looks at the record sees no start before that. True where it starts now, or is not to start any more.
bool wait_in_queue(Run& run, RunningJob& job, bool was_queued, RunRecorder& recorder, const RunServices& services) {
  const bool is_queued = !job.waiting().empty();
  if (is_queued) {
    recorder.remember(kQueuedMark, true);
    recorder.flush();
    await_turn(job, services.observer, services.stop_fd, services.clock);
  }
  if (!is_queued && !was_queued) return false;
  recorder.start_now();
  run.started = recorder.started();
  if (!job.waiting().empty()) return true;
  recorder.remember(kQueuedMark, false);
  recorder.flush();
  return true;
}

/// Whoever looks at the record is to see from when on the run's time counts.
void tell_start(const Run& run, const RunningJob& job, RunWriter& writer) {
  if (!job.waiting().empty()) return;
  if (auto told = writer.update(run); !told) log_warning("run '{}': {}", run.id, told.error().text());
}

void end_in_queue(Run& run, WallTime now) {
  run.started = {};
  run.duration = {};
  run.ended = now;
}

/// Starts and follows the workload; fills in the times of `run`. `token`: see Job.
Result<Outcome> record_workload(Run& run, RunWriter& writer, std::string token, const Workload& workload,
                                const RunServices& services) {
  ASSAY_TRY(auto patterns, TextMetrics::make(workload.patterns));
  Job job = workload.job;
  job.name = run.name;
  job.token = std::move(token);
  job.environment["ASSAY_RUN_ID"] = writer.run_id();
  const bool outlives = outlives_owner(run);
  if (outlives) job.reading_period = FollowOptions().sample_period;
  const std::size_t gpus = run.placement.gpus ? run.placement.gpus->size() : 0;
  if (outlives && gpus > 0) {
    // Which of its own they are, such a place decides.
    if (!job.devices && !job.gpus_per_node) job.gpus_per_node = static_cast<std::int64_t>(gpus);
  } else if (!job.devices) {
    // A kind that uses none is shown none, wherever it is placed.
    job.devices = run.placement.gpus;
  }

  if (outlives) ASSAY_CHECK(writer.mark(first_mark(workload, services.clock.wall())));
  SteadyTime started = services.clock.now();
  ASSAY_TRY(const auto running, services.launcher.start(job));
  crash_point("workload-started");
  if (outlives) {
    // Reaching another machine and bringing everything there is not the run's time.
    started = services.clock.now();
    run.started = services.clock.wall();
  }
  RunRecorder recorder(writer, std::move(patterns), {.output_limit = workload.output_limit, .marks = outlives},
                       services.clock);
  if (outlives) {
    recorder.remember("job", json::value_from(running->handle()));
    recorder.flush();
  }
  const bool was_queued = wait_in_queue(run, *running, false, recorder, services);
  if (was_queued) started = services.clock.now();
  if (outlives || was_queued) tell_start(run, *running, writer);
  services.observer.on_start(run);
  Outcome outcome = follow_job(*running, recorder, workload, services, Nanos(0));
  take_machine(run, *running);
  run.duration = outcome.ending.job.ran_for.value_or(services.clock.now() - started);
  // The verdict is on all of it.
  if (services.await_peers) outcome.ending.peer = services.await_peers(outcome.ending);
  run.ended = run.started + run.duration;
  if (outcome.ending.never_began) end_in_queue(run, services.clock.wall());
  return outcome;
}

/// Judges the run and stores what became of it.
void close_run(Run& run, RunWriter& writer, Outcome outcome, const Workload& workload, const RunServices& services) {
  take_versions(run, outcome.facts);
  crash_point("workload-ended");
  keep_artifacts(run, workload, services.store, outcome.facts);
  run.series = writer.summaries();
  run.state = RunState::ended;
  judge(run, outcome.facts, outcome.ending);
  if (auto finished = writer.finish(run); !finished) {
    log_error("the run was done, but its result could not be stored: {}", finished.error().text());
    if (!outcome.facts.recording_error) outcome.facts.recording_error = std::move(finished).error();
    judge(run, outcome.facts, outcome.ending);
  }
  services.observer.on_recorded(outcome.facts);
  services.observer.on_end(run);
}

void end_unstarted(Run& run, const Error& why, WallTime now) {
  run.ended = now;
  run.state = RunState::ended;
  run.verdict = Verdict::failed;
  run.error = RunError{.kind = why.kind, .message = why.text(), .hint = why.hint};
}

/// Goes on with the run from what its marks say; fills in its times. Of the launcher's errors, `not_found` means that
/// there is nothing to go on with.
Result<Outcome> record_rest(Run& run, RunWriter& writer, const MarkCollector& marks, const Workload& workload,
                            const RunServices& services) {
  ASSAY_TRY(auto patterns, TextMetrics::make(workload.patterns));
  RunRecorder recorder(writer, std::move(patterns), {.output_limit = workload.output_limit, .marks = true},
                       services.clock);
  ASSAY_CHECK(recorder.restore(marks.state()));
  // Where the launcher puts what the job leaves. The one who made it is gone, and it may be, too.
  if (!workload.artifacts.empty()) ASSAY_CHECK(make_folders(workload.artifacts));
  // Whoever died between the start of the job and the mark after it knew the token alone.
  const auto* handle = marks.state().if_contains("job");
  const std::string job = handle && handle->is_string() ? std::string(handle->get_string()) : run.id;
  ASSAY_TRY(const auto running, services.launcher.attach(job, recorder.taken()));
  recorder.flush();
  const auto* queued = marks.state().if_contains(kQueuedMark);
  const bool was_queued = queued && queued->is_bool() && queued->get_bool();
  if (!wait_in_queue(run, *running, was_queued, recorder, services)) run.started = recorder.started();
  tell_start(run, *running, writer);
  services.observer.on_start(run);
  const auto elapsed = [&] { return std::max(Nanos(0), services.clock.wall() - recorder.started()); };
  Outcome outcome = follow_job(*running, recorder, workload, services, elapsed());
  take_machine(run, *running);
  if (marks.damage() && !outcome.facts.recording_error) {
    outcome.facts.recording_error = Error{.kind = ErrorKind::bad_file, .message = *marks.damage()};
  }
  run.duration = outcome.ending.job.ran_for.value_or(elapsed());
  // Nobody may have seen it leave the queue.
  run.started = std::min(run.started, services.clock.wall() - run.duration);
  run.ended = run.started + run.duration;
  if (outcome.ending.never_began) end_in_queue(run, services.clock.wall());
  return outcome;
}

}  // namespace

Result<Run> execute_run(Run run, const Workload& workload, const RunServices& services) {
  run.placement.place = services.place;
  // Bringing a job elsewhere and waiting there for its turn is not the run's time.
  run.started = outlives_owner(run) ? WallTime() : services.clock.wall();
  if (run.created == WallTime{}) run.created = services.clock.wall();
  ASSAY_TRY(auto writer, begin_run(services.store, run));
  auto outcome = record_workload(run, *writer, run.id, workload, services);
  if (!outcome) {
    // Nothing was measured: a mistyped program name should not litter the list of runs. Who looks until it is gone is
    // to see why it ended, not a run that has lost its owner.
    end_unstarted(run, outcome.error(), services.clock.wall());
    if (auto finished = writer->finish(run); !finished) log_warning("{}", finished.error().text());
    writer.reset();
    if (auto removed = services.store.remove_run(run.id); !removed) log_warning("{}", removed.error().text());
    return std::move(outcome).error();
  }
  if (outcome->ending.left) return left_to_others(run);
  close_run(run, *writer, std::move(*outcome), workload, services);
  return run;
}

Result<Run> resume_run(const std::string& id, const RunServices& services) {
  RunStore& store = services.store;
  ASSAY_TRY(auto run, store.find_run(id));
  if (run.state != RunState::ended && !outlives_owner(run)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("run '{}' cannot be taken up: its workload ends with whoever started it", id)};
  }
  if (run.state != RunState::ended && run.placement.place != services.place) {
    return Error{
        .kind = ErrorKind::usage,
        .message = fmt::format("run '{}' goes on at '{}', not at '{}'", id, run.placement.place, services.place),
        .hint = "Leave --on away: its record says where it is."};
  }
  ASSAY_TRY(const auto before, store.find_lease(id));
  ASSAY_TRY(const auto lease, store.take_run(id, {}));
  MarkCollector marks;
  auto writer = continue_run(store, lease, run, marks);
  if (!writer) {
    store.give_up(lease);
    return std::move(writer).error();
  }
  const auto close = [&](const Error& why) -> Result<Run> {
    log_info("run '{}' is closed: {}", id, why.text());
    ASSAY_TRY(auto closed, close_interrupted(store, lease, before ? before->owner : "", services.clock.wall()));
    services.observer.on_end(closed);
    return closed;
  };
  const auto* watch = marks.state().if_contains("watch");
  if (!watch) return close({.kind = ErrorKind::not_found, .message = "its owner was gone before its job was started"});
  ASSAY_TRY(const auto workload, workload_from(*watch).within("reading the marks of its journal"));
  auto outcome = record_rest(run, **writer, marks, workload, services);
  if (!outcome && outcome.error().kind == ErrorKind::not_found) return close(outcome.error());
  if (!outcome) return std::move(outcome).error();
  if (outcome->ending.left) return left_to_others(run);
  close_run(run, **writer, std::move(*outcome), workload, services);
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
