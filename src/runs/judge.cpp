#include "runs/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "model/flag_kinds.h"
#include "model/metric.h"
#include "runs/recorder.h"
#include "spec/gpu_traits.h"
#include "spec/spec.h"

namespace assay {
namespace {

/// An expectation is missed when the value is worse by more than this.
constexpr double kExpectTolerance = 0.05;

/// Flags that tell something about the recording without touching the figures: they leave a verdict `valid`.
bool is_remark(const Flag& flag) {
  const FlagKind* kind = find_flag_kind(flag.kind);
  return kind && kind->effect == FlagKind::Effect::stays_valid;
}

bool mentions_out_of_memory(std::string_view text) {
  return text.find("OutOfMemoryError") != std::string_view::npos ||
         text.find("out of memory") != std::string_view::npos || text.find("MemoryError") != std::string_view::npos ||
         text.find("Cannot allocate memory") != std::string_view::npos;
}

RunError error_from_exit(const Run& run, const RunFacts& facts, const JobEnding& job) {
  const std::string& said = facts.last_error_line;
  const std::string suffix = said.empty() ? "" : fmt::format(": {}", said);
  if (job.out_of_memory) {
    return {.kind = ErrorKind::oom,
            .message = fmt::format("ended by the kernel: it took more memory than this node gives a run{}", suffix),
            .hint = "Give it less to do, or raise `run_memory` of the node's agent."};
  }
  if (job.signal) {
    RunError error{.kind = ErrorKind::crash,
                   .message = fmt::format("ended by signal {} ({}){}", *job.signal, strsignal(*job.signal), suffix)};
    if (*job.signal == SIGKILL) {
      error.hint = "Somebody killed it. If it was the kernel, for lack of memory, `dmesg | grep -i oom` says so.";
    }
    return error;
  }
  if (mentions_out_of_memory(said)) {
    return {.kind = ErrorKind::oom,
            .message = fmt::format("out of memory (exit code {}){}", *job.exit_code, suffix),
            .hint = "Try a smaller batch, a shorter sequence, or gradient checkpointing."};
  }
  return {.kind = ErrorKind::crash,
          .message = fmt::format("ended with exit code {}{}", *job.exit_code, suffix),
          .hint = fmt::format("`assay logs {}` shows what it printed.", run.id)};
}

/// Whether the cause is what another node says, and not what this one says itself. A process that missed its peer knows
/// which one, but not why it is gone.
bool blames_peer(const RunFacts& facts, const Ending& ending) {
  const bool missed_it = facts.error && facts.error->kind == ErrorKind::lost_peer;
  if (missed_it) return ending.peer->kind != ErrorKind::lost_peer && ending.peer->kind != ErrorKind::interrupted;
  if (ending.by == EndedBy::lost_peer) return true;
  return !facts.error && !ending.lost && !ending.job.signal && ending.job.exit_code.value_or(0) == 0;
}

std::optional<RunError> find_error(const Run& run, const RunFacts& facts, const Ending& ending) {
  if (ending.by == EndedBy::user) {
    return RunError{.kind = ErrorKind::interrupted,
                    .message = ending.never_began ? "stopped by the user before it began"
                                                  : "stopped by the user after " + format_duration(run.duration)};
  }
  if (ending.by == EndedBy::time_limit) {
    return RunError{
        .kind = ErrorKind::timeout,
        .message = fmt::format("still running at its time limit, stopped after {}", format_duration(run.duration)),
        .hint = "Raise `time_limit`, or give it less to do."};
  }
  if (ending.peer && blames_peer(facts, ending)) {
    return RunError{.kind = ending.peer->kind, .message = ending.peer->text(), .hint = ending.peer->hint};
  }
  if (facts.error) return facts.error;
  if (ending.lost) {
    return RunError{.kind = ending.lost->kind, .message = ending.lost->text(), .hint = ending.lost->hint};
  }
  if (ending.job.signal || ending.job.exit_code.value_or(0) != 0) return error_from_exit(run, facts, ending.job);
  return std::nullopt;
}

std::string unknown_types_message(const RunFacts& facts) {
  static const std::vector<std::string> kKnown = {"hello",  "step",  "steps",   "epoch", "eval",
                                                  "sample", "phase", "warning", "error", "result"};
  std::string message;
  for (const auto& [type, count] : facts.unknown_types) {
    if (!message.empty()) message += "; ";
    message += fmt::format("{} event{} of the unknown type '{}'", count, count == 1 ? "" : "s", type);
    if (const auto meant = nearest(type, kKnown)) message += fmt::format(" (did you mean '{}'?)", *meant);
  }
  if (facts.unknown_left_out) message += fmt::format("; {} of further types", facts.unknown_left_out);
  return message + ": kept, but not read.";
}

void add_protocol_flags(Run& run, const RunFacts& facts) {
  const auto flag = [&](std::string kind, std::string about, std::string message) {
    run.flags.push_back({std::move(kind), std::move(about), std::move(message)});
  };
  if (facts.malformed) {
    flag("malformed_events", "protocol",
         fmt::format("{} line{} meant as events could not be read, the first because: {}.", facts.malformed,
                     facts.malformed == 1 ? "" : "s", facts.first_malformed));
  }
  if (facts.newer) {
    flag("newer_protocol", "protocol",
         fmt::format("{} event{} of a newer protocol version were not read. Update assay on this machine.", facts.newer,
                     facts.newer == 1 ? "" : "s"));
  }
  if (!facts.unknown_types.empty()) flag("unknown_events", "protocol", unknown_types_message(facts));
  if (facts.over_long_lines) {
    flag("over_long_lines", "output",
         fmt::format("{} line{} over 1 MiB, not searched for events or metrics.", facts.over_long_lines,
                     facts.over_long_lines == 1 ? "" : "s"));
  }
  if (facts.output_dropped) {
    flag("output_truncated", "output",
         fmt::format("The last {} of output were not kept (`output_limit`).", format_bytes({facts.output_dropped})));
  }
  if (facts.recording_error) {
    flag("recording_incomplete", "journal",
         fmt::format("Recording stopped in the middle: {}.", facts.recording_error->text()));
  }
}

/// The null workload counted what it sent; whatever is missing was lost on the way.
void check_for_lost_events(Run& run, const RunFacts& facts) {
  const auto sent = facts.results.find("events_sent");
  if (run.kind != "null" || sent == facts.results.end()) return;
  const auto recorded = facts.events - 2;  // hello and result
  run.metrics["events_recorded"] = static_cast<double>(recorded);
  if (static_cast<double>(recorded) == sent->second) return;
  run.flags.push_back(
      {"lost_events", "protocol", fmt::format("{} of {:.0f} events were recorded.", recorded, sent->second)});
}

/// What the workload reported or left, and the recording does not have.
void add_loss_flags(Run& run, const RunFacts& facts) {
  if (facts.values_left_out) {
    run.flags.push_back(
        {"metrics_left_out", facts.first_left_out,
         fmt::format(
             "{} value{} of metrics beyond the first {} names, or with a name over {} characters, {} not kept. A "
             "name with a step number in it is the usual cause.",
             facts.values_left_out, facts.values_left_out == 1 ? "" : "s", kMostMetrics, kLongestMetricName,
             facts.values_left_out == 1 ? "was" : "were")});
  }
  if (facts.flags_left_out) {
    run.flags.push_back({"flags_left_out", "workload",
                         fmt::format("It warned {} more time{}; the first {} warnings are kept as flags.",
                                     facts.flags_left_out, facts.flags_left_out == 1 ? "" : "s", kMostWarnings)});
  }
  if (facts.artifacts_lost) {
    run.flags.push_back({"artifact_lost", "artifacts",
                         fmt::format("{} file{} that it left could not be kept: {}{}", facts.artifacts_lost,
                                     facts.artifacts_lost == 1 ? "" : "s", facts.first_artifact_lost,
                                     facts.artifacts_lost == 1 ? "." : ", and others.")});
  }
  check_for_lost_events(run, facts);
}

/// What is not known of a run that had no owner for a while.
void add_gap_flags(Run& run, const RunFacts& facts, const Ending& ending) {
  for (const auto& gap : facts.gaps) {
    run.flags.push_back(
        {"recording_gap", "recording",
         fmt::format("Nobody recorded it from {} to {} ({}). What it wrote meanwhile was read afterwards and has that "
                     "time; system metrics have their own.",
                     iso8601(gap.from), iso8601(gap.to), format_duration(gap.to - gap.from))});
  }
  if (facts.gaps.empty() || !ending.at_first_look || ending.job.ran_for) return;
  run.flags.push_back({"end_unseen", "duration_seconds",
                       fmt::format("It ended while nobody recorded it: its run time is known to {} only.",
                                   format_duration(facts.gaps.back().to - facts.gaps.back().from))});
}

/// Where it ran, machines can be measured by their place alone. What was not is said, not silently absent.
void add_telemetry_flags(Run& run, const RunFacts& facts, const Ending& ending) {
  // Whoever hosted the job knows how long it ran; one that nobody hosted had nothing to measure.
  const bool hosted = !run.placement.place.empty() && ending.job.ran_for;
  if (hosted && facts.nodes_measured < run.nodes) {
    run.flags.push_back({"telemetry_missing", "system metrics",
                         fmt::format("{} of {} nodes sent no system metrics: the assay there is an older one, or could "
                                     "not write them.",
                                     run.nodes - facts.nodes_measured, run.nodes)});
  }
  for (const auto& [source, why] : facts.silent_sources) {
    if (why.empty()) continue;
    run.flags.push_back({"telemetry_missing", source, fmt::format("'{}' gave no system metrics: {}.", source, why)});
  }
}

void add_reading_flags(Run& run, const RunFacts& facts) {
  for (const auto& [name, why] : facts.doubtful) {
    run.flags.push_back({"doubtful_reading", name,
                         fmt::format("'{}' in its output may not mean what was read: {}. Check it, or say what to read "
                                     "with `--metric '{}=REGEX'`.",
                                     name, why, name)});
  }
}

/// A value that is not finite is never passed over. At the end of a metric's course it takes the result with it.
/// Earlier ones are flagged, all but gradient norms: with fp16, loss scaling finds its factor by overflowing.
void add_non_finite_flags(Run& run, const RunFacts& facts) {
  const auto ends_finite = [&](const std::string& name) {
    const auto last = facts.last.find(name);
    const auto result = facts.results.find(name);
    return (last == facts.last.end() || std::isfinite(last->second)) &&
           (result == facts.results.end() || std::isfinite(result->second));
  };
  for (const auto& [name, value] : run.metrics) {
    if (ends_finite(name)) continue;
    run.flags.push_back({"non_finite", name, fmt::format("The last value of '{}' is not a finite number.", name)});
  }
  for (const auto& [name, count] : facts.non_finite) {
    if (!ends_finite(name) || name.ends_with("grad_norm")) continue;
    run.flags.push_back({"non_finite_values", name,
                         fmt::format("{} value{} of '{}' in the course of the run {} not a finite number.", count,
                                     count == 1 ? "" : "s", name, count == 1 ? "was" : "were")});
  }
}

void add_machine_flags(Run& run, const Ending& ending) {
  if (!ending.job.left_behind.empty()) {
    run.flags.push_back(
        {"left_processes", "workload",
         fmt::format("It left {} process{} running, which were ended: {}.", ending.job.left_behind.size(),
                     ending.job.left_behind.size() == 1 ? "" : "es", join(ending.job.left_behind, ", "))});
  }
  if (!ending.job.still_running.empty()) {
    run.flags.push_back({"left_processes", "workload",
                         fmt::format("Even SIGKILL did not end {}: hanging in a driver, or not ours to end.",
                                     join(ending.job.still_running, ", "))});
  }
  // srun and mpirun bind each rank to cores of its own: then the machine's cores are what they share.
  const int cores = run.provenance.job.empty() ? run.provenance.cpu_cores : run.provenance.machine_cores;
  if (cores > 0 && run.ranks > cores * run.nodes) {
    run.flags.push_back(
        {"oversubscribed", "ranks",
         fmt::format("{} ranks shared {} cores: they measured each other.", run.ranks, cores * run.nodes)});
  }
}

/// Where no leader places a run, it may find itself on another GPU than its specification asks for.
void add_gpu_flags(Run& run) {
  const auto traits = gpu_traits(run.spec);
  if (traits.model.empty() && traits.memory.count == 0) return;
  const auto* device = find_setting(run.spec, "device");
  if (device && *device == "cpu") return;
  const auto& given = run.placement.gpus;
  std::vector<std::string> others;
  std::size_t used = 0;
  for (const auto& gpu : run.provenance.gpus) {
    if (given && std::find(given->begin(), given->end(), gpu.uuid) == given->end()) continue;
    ++used;
    if (!traits.fits(gpu.name, {gpu.memory_bytes})) {
      others.push_back(fmt::format("{} with {}", gpu.name, format_bytes({gpu.memory_bytes})));
    }
  }
  if (used > 0 && others.empty()) return;
  run.flags.push_back({"other_gpu", "gpu",
                       fmt::format("{} was asked for, and it had {}.", in_words(traits),
                                   used == 0 ? "none that is known" : join(others, ", "))});
}

void add_expectation_flags(Run& run) {
  const auto* expect = find_setting(run.spec, "expect");
  if (!expect || !expect->is_object()) return;
  for (const auto& member : expect->get_object()) {
    json::error_code code;
    const double expected = member.value().to_number<double>(code);
    if (code) continue;
    const std::string name(member.key());
    const auto measured = run.metrics.find(name);
    if (measured == run.metrics.end()) {
      run.flags.push_back({"expect_missed", name, fmt::format("'{}' was expected but not measured.", name)});
      continue;
    }
    const MetricInfo* info = find_metric(name);
    const auto better = info ? info->better : MetricInfo::Better::neither;
    const double change = (measured->second - expected) / std::abs(expected);
    const bool missed = better == MetricInfo::Better::higher  ? change < -kExpectTolerance
                        : better == MetricInfo::Better::lower ? change > kExpectTolerance
                                                              : std::abs(change) > kExpectTolerance;
    if (!missed) continue;
    const std::string_view unit = info ? info->unit : "";
    run.flags.push_back({"expect_missed", name,
                         fmt::format("'{}' is {}, expected {} ({:+.1f} %).", name, format_value(measured->second, unit),
                                     format_value(expected, unit), change * 100)});
  }
}

void collect_metrics(Run& run, const RunFacts& facts, const Ending& ending) {
  for (const auto& [name, value] : facts.last) run.metrics[name] = value;
  for (const auto& [name, value] : facts.results) run.metrics[name] = value;
  run.metrics["duration_seconds"] = seconds_of(run.duration);
  if (!ending.job.usage) return;
  run.metrics["cpu_seconds"] = seconds_of(ending.job.usage->user_time + ending.job.usage->system_time);
  run.metrics["host_rss_peak_bytes"] = static_cast<double>(ending.job.usage->peak_rss_bytes);
}

}  // namespace

int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::oom:
    case ErrorKind::nan:
    case ErrorKind::crash:
    case ErrorKind::lost_peer:
    case ErrorKind::timeout:
    case ErrorKind::interrupted:
    case ErrorKind::internal: return 1;
    case ErrorKind::usage:
    case ErrorKind::bad_spec:
    case ErrorKind::missing_file:
    case ErrorKind::bad_file:
    case ErrorKind::not_found: return 2;
    case ErrorKind::unsupported:
    case ErrorKind::no_device:
    case ErrorKind::no_engine:
    case ErrorKind::unreachable:
    case ErrorKind::denied:
    case ErrorKind::busy:
    case ErrorKind::io: return 3;
  }
  return 1;
}

int exit_code_of(const Run& run) {
  switch (run.verdict) {
    case Verdict::valid: return 0;
    case Verdict::flagged:
    case Verdict::invalid: return 4;
    case Verdict::failed:
      // A workload that says that the request is wrong or that this machine cannot is believed.
      return run.error ? exit_code_of(run.error->kind) : 1;
    case Verdict::interrupted:
    case Verdict::none: return 1;
  }
  return 1;
}

void judge(Run& run, const RunFacts& facts, const Ending& ending) {
  run.exit_code = ending.job.exit_code;
  run.signal = ending.job.signal;
  collect_metrics(run, facts, ending);
  run.flags = facts.flags;
  add_protocol_flags(run, facts);
  add_loss_flags(run, facts);
  add_gap_flags(run, facts, ending);
  add_telemetry_flags(run, facts, ending);
  add_reading_flags(run, facts);
  add_non_finite_flags(run, facts);
  add_machine_flags(run, ending);
  run.error = find_error(run, facts, ending);
  if (run.error) {
    run.verdict = ending.by == EndedBy::user ? Verdict::interrupted : Verdict::failed;
    return;
  }
  add_gpu_flags(run);
  add_expectation_flags(run);
  if (std::any_of(run.flags.begin(), run.flags.end(), invalidates)) {
    run.verdict = Verdict::invalid;
  } else if (!std::all_of(run.flags.begin(), run.flags.end(), is_remark)) {
    run.verdict = Verdict::flagged;
  } else {
    run.verdict = Verdict::valid;
  }
}

}  // namespace assay
