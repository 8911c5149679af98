#include "model/flag_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/flag.h"

namespace assay {
namespace {

// A test (scripts/flag_kinds_test.py) holds this against the flags that the code sets.
constexpr auto flag_kind_table() {
  using enum FlagKind::Effect;
  using enum FlagKind::Of;
  return std::to_array<FlagKind>({
      {"non_finite", invalid, run,
       "the last value of a metric, or its value in a `result`, is NaN, infinite or `null` (in an import: flagged)"},
      {"recording_incomplete", invalid, run,
       "events, points or output could not be written (disk full), or the leader ended the run since it had recorded "
       "`bytes_per_run`"},
      {"oversubscribed", invalid, run, "more ranks than cores, counted over all nodes"},
      {"newer_protocol", invalid, run, "events of a protocol version this assay cannot read"},
      {"lost_events", invalid, run, "`kind: null` recorded fewer events than were sent"},
      {"non_finite_values", flagged, run,
       "an earlier value of a metric was NaN or infinite; not for `grad_norm`, which overflows on purpose with fp16"},
      {"left_processes", flagged, run, "the workload left processes running; they were ended, or could not be"},
      {"metrics_left_out", flagged, run,
       "values of metrics beyond the first 2,000 names, or with a name over 200 characters, were not kept"},
      {"artifact_lost", flagged, run,
       "files in `ASSAY_ARTIFACTS` could not be kept: a folder, a full disk, no room for it at the leader "
       "(`bytes_per_run`)"},
      {"doubtful_reading", flagged, run,
       "a metric in ordinary output could be read in two ways ([reading-output.md](../guides/reading-output.md))"},
      {"workload_warning", flagged, run,
       "a `warning` event that names no kind of its own; a warning, or a flag in a `result`, that names one has that"},
      {"flags_left_out", flagged, run, "the workload warned more than 100 times"},
      {"malformed_events", flagged, run, "events that the workload sent could not be read"},
      {"unknown_events", flagged, run, "the workload sent events of a type that this assay does not know"},
      {"over_long_lines", flagged, run, "lines of the workload were too long to be read"},
      {"other_gpu", flagged, run,
       "`gpu:` asks for a model or for memory that a GPU of the run does not have: where no leader places runs, nobody "
       "sees to that before"},
      {"expect_missed", flagged, run,
       "a metric is more than 5 % worse than `expect:` says (for metrics without a better direction: off by more than "
       "5 %), or was not measured"},
      {"end_unseen", flagged, run,
       "it ended while nobody recorded it, and its place cannot tell how long it ran: `duration_seconds` is too long "
       "by "
       "up to that time"},
      {"recording_gap", stays_valid, run,
       "nobody recorded it for a while: its owner was gone, its job went on, and another owner took it up. Nothing "
       "that "
       "it wrote is lost; it has the time at which it was read, system metrics of the machines have their own"},
      {"telemetry_missing", stays_valid, run,
       "a run elsewhere (ssh, Slurm, Kubernetes): a node sent no system metrics, or a source there (`nvml`) gave none "
       "in "
       "its first five readings or ever after"},
      {"output_truncated", stays_valid, run,
       "output beyond `output_limit` was not kept; metrics were read from it all the same"},

      {"client_late", invalid, load,
       "a client (of several: the one that is named) sent requests late: p99 beyond 1 % of the latency limit, or of "
       "the "
       "p99 latency where there is none, and beyond 100 µs"},
      {"client_starved", invalid, load,
       "a client waited over 1 % of the time for a CPU, or lost over 1 % of it to its hypervisor"},
      {"client_saturated", invalid, load,
       "in a load of a second or more, a thread of a client that reads answers was on its CPU over 90 % of the time, "
       "so "
       "that the client may be what limits the load; `target.threads` and `clients` give it room"},
      {"load_not_delivered", invalid, load, "a client sent less than 99 % of what was asked for"},
      {"client_lost", invalid, load,
       "of several clients one was gone or silent before it handed in its records; its requests count as lost"},
      {"too_short", invalid, load, "less than `min_duration` asks for, after the warm-up"},
      {"too_few", invalid, load, "fewer requests than `samples` asks for, after the warm-up"},
      {"no_requests", invalid, load, "no request was due after the warm-up"},
      {"limit_missed", invalid, load, "a latency limit was not kept"},
      {"limit_not_shown", invalid, load, "the requests are too few to say with 99 % confidence that a limit was kept"},
      {"no_peak", invalid, load, "a search: no rate kept the limits"},
      {"client_limited", invalid, load, "a search: the client gave out before the server"},
      {"target_fault", invalid, load, "a target reported a request twice, or one that was never sent"},
      {"failed_requests", flagged, load,
       "requests failed, timed out or were lost; they count against success, throughput and limits"},
      {"answers_cut_short", flagged, load,
       "streams ended in good order, but with neither a `finish_reason` nor `[DONE]`, so that the server may have "
       "broken "
       "them off; they count as answers"},
      {"clocks_apart", flagged, load,
       "the clock of one of several clients is known to no better than 1 % of the latency limit (or 100 µs), so that "
       "its "
       "requests may lie so far beside the common schedule; latencies are right"},
      {"interrupted", flagged, load, "it was stopped before its end"},
      {"answers_of_one_token", flagged, load,
       "a limit on the time per token is of fewer answers than there were: the others had fewer than two tokens"},
      {"prompts_repeated", flagged, load,
       "prompts of a file were asked for more than once, in one load or in several of a search, and the server did not "
       "say that its prefix cache had none of them"},
      {"tokens_estimated", flagged, load, "a server did not count tokens, so that chunks were counted"},
      {"waited_for_connection", flagged, load, "requests waited in the client for a connection"},
      {"target_problems", flagged, load, "what the server said of requests that failed"},
      {"peak_imprecise", flagged, load, "a search: it ended before the peak was known to 5 %"},

      {"lost_samples", invalid, imported, "fewer samples were done than asked for, or than the node's share"},
      {"invalid_result", invalid, imported, "LoadGen calls the result INVALID"},
      {"contradiction", flagged, imported, "a stated figure is not what the other figures make of it"},
      {"unequal_work", flagged, imported, "nodes that are compared did not do the same amount of work for each sample"},
      {"unmeasured_baseline", flagged, imported,
       "a scaling factor or an efficiency whose one-node baseline was not measured"},
      {"unsupported_claim", flagged, imported, "a stated figure that nothing in the file supports"},
      {"outside_tolerance", flagged, imported, "a node lies further from its peers than the tolerances allow"},
      {"part_failed", flagged, imported, "a part of a suite has failed"},
      {"missing_ranks", flagged, imported, "results of some of a job's ranks are not among the files"},
      {"ranks_disagree", flagged, imported, "the ranks of a job state different figures"},
      {"restarted", flagged, imported, "the job was started several times; the figures are those of its last start"},
      {"incomplete", flagged, imported, "a log ends before the training does"},
      {"fewer_epochs", flagged, imported, "fewer epochs were seen than were planned"},
      {"exported_early", flagged, imported, "the run had not ended when it was exported"},
      {"no_verdict", flagged, imported, "LoadGen says neither VALID nor INVALID"},
      {"no_performance", flagged, imported, "LoadGen's files have no performance figures"},
      {"loadgen_errors", flagged, imported, "LoadGen reported errors"},
      {"unreadable", flagged, imported, "a file could not be read; the others were"},
      {"empty", flagged, imported, "a file is empty"},
      {"nothing_found", flagged, imported, "nothing of a training job was found in a file"},
      {"cut_file", flagged, imported, "a file ends before its end; what may be cut is not used"},
      {"no_line_end", flagged, imported, "the last line of a table has no end, so that it may be cut"},
      {"nul_bytes", flagged, imported, "zero bytes, as a crash leaves them, were left out"},
      {"percent_assumed", flagged, imported, "accuracies or ratios above 1 were taken as percent"},
      {"ambiguous_number", flagged, imported, "a comma may be decimal or between thousands; such numbers are not read"},
      {"not_a_number", flagged, imported, "cells of a column of numbers are none"},
      {"ragged_rows", flagged, imported, "rows of a table have more or fewer cells than its header"},
      {"duplicate_column", flagged, imported, "several columns of a table have one name"},
      {"no_rows", flagged, imported, "a table has a header and nothing below it"},
      {"no_step", flagged, imported, "steps of a table are no whole numbers; their points have none"},
      {"no_time", flagged, imported, "times of a table could not be read"},
      {"too_many_runs", flagged, imported, "a table has rows of more runs than can be read at once"},
  });
}
constexpr auto kFlagKinds = flag_kind_table();

std::string_view effect_in_words(FlagKind::Effect effect) {
  using enum FlagKind::Effect;
  switch (effect) {
    case stays_valid: return "stays valid";
    case flagged: return "flagged";
    case invalid: return "invalid";
  }
  return "";
}

std::string flag_rules(FlagKind::Of of, std::string_view title, std::string_view introduction) {
  std::string text = fmt::format("\n## {}\n\n{}| flag | when | makes it |\n|---|---|---|\n", title, introduction);
  for (const auto& kind : kFlagKinds) {
    if (kind.of == of) text += fmt::format("| `{}` | {} | {} |\n", kind.name, kind.when, effect_in_words(kind.effect));
  }
  return text;
}

}  // namespace

std::span<const FlagKind> known_flag_kinds() { return kFlagKinds; }

const FlagKind* find_flag_kind(std::string_view name) {
  const auto* found =
      std::find_if(kFlagKinds.begin(), kFlagKinds.end(), [&](const FlagKind& kind) { return kind.name == name; });
  return found == kFlagKinds.end() ? nullptr : found;
}

bool invalidates(const Flag& flag) {
  const FlagKind* kind = find_flag_kind(flag.kind);
  return kind && kind->effect == FlagKind::Effect::invalid;
}

std::string verdict_reference() {
  return R"(# Verdicts and flags

<!-- Made from src/model/flag_kinds.cpp by verdict_reference(); a test compares the two. -->

Every run that has ended has one verdict. A figure without `valid` beside it comes with the reason why not.

| verdict | meaning | exit code |
|---|---|---|
| `valid` | finished, nothing found wrong | 0 |
| `flagged` | finished; read the flags before you use the figures | 4 |
| `invalid` | finished, but the figures must not be used | 4 |
| `failed` | the workload failed; `error` says how | 1; 2 if it says that the request is wrong (a missing or damaged file), 3 if this machine cannot |
| `interrupted` | ended from outside; everything up to then is kept | 1 |
)" + flag_rules(FlagKind::Of::run, "Rules", "Of every run. A workload's own kinds make it flagged.\n\n") +
         flag_rules(FlagKind::Of::load, "Rules of a load", "Of runs of `kind: serve`, beside those above.\n\n") +
         flag_rules(
             FlagKind::Of::imported, "Rules of an import",
             "What `assay import` finds in results that were recorded elsewhere; exit code 4 if there is any.\n\n") +
         R"(
Everything that could change a verdict is known before it is given; nothing changes it afterwards.

The error of a failed run is, in this order: stopped by the user, the time limit, what went wrong on another of its nodes (unless
this one failed by itself, and not for want of a peer), the workload's own `error` event, the guard, the signal or exit code. An exit code with "out of memory" in the last line of standard error is of kind `oom`.
)";
}

}  // namespace assay
