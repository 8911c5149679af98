#include "runs/judge.h"

#include <gmock/gmock.h>

#include <cmath>
#include <csignal>

#include "base/files.h"
#include "base/text.h"
#include "support/source_tree.h"

namespace assay {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

Ending finished(int exit_code = 0) { return {.job = {.exit_code = exit_code}}; }

Run judged(const RunFacts& facts, const Ending& ending, Run run = {}) {
  judge(run, facts, ending);
  return run;
}

auto has_flag(const std::string& kind) { return Contains(Field(&Flag::kind, kind)); }

TEST(Judge, ACleanRunIsValid) {
  RunFacts facts;
  facts.last = {{"loss", 0.1}};
  facts.results = {{"mfu", 0.4}};
  const auto run = judged(facts, finished());
  EXPECT_EQ(run.verdict, Verdict::valid);
  EXPECT_THAT(run.flags, IsEmpty());
  EXPECT_EQ(run.metrics.at("loss"), 0.1);
  EXPECT_EQ(run.metrics.at("mfu"), 0.4);
  EXPECT_EQ(exit_code_of(run), 0);
}

TEST(Judge, ARunElsewhereSaysWhatItsPlaceDidNotMeasure) {
  assay::Run run;
  run.placement.place = "ssh:gpu01,gpu02";
  run.nodes = 2;
  RunFacts facts;
  facts.nodes_measured = 1;
  Ending ending = finished();
  EXPECT_THAT(judged(facts, ending, run).flags, IsEmpty()) << "nobody hosted it";
  ending.job.ran_for = std::chrono::seconds(3);
  const auto some = judged(facts, ending, run);
  EXPECT_EQ(some.verdict, Verdict::valid) << "its own figures are as good as ever";
  EXPECT_THAT(some.flags.at(0).message, HasSubstr("1 of 2 nodes sent no system metrics"));
  facts.nodes_measured = 2;
  facts.silent_sources = {{"nvml of gpu01", "no answer"}, {"nvml of gpu02", ""}};
  const auto silent = judged(facts, ending, run);
  ASSERT_EQ(silent.flags.size(), 1U);
  EXPECT_EQ(silent.flags[0].kind, "telemetry_missing");
  EXPECT_EQ(silent.flags[0].about, "nvml of gpu01");
  EXPECT_EQ(silent.verdict, Verdict::valid);
}

TEST(Judge, ALoadWhoseClientWasLateIsInvalidOneWithFailedRequestsFlagged) {
  RunFacts facts;
  facts.flags = {{"failed_requests", "target", "1 of 100 requests did not end well: 1 timeout."}};
  EXPECT_EQ(judged(facts, finished()).verdict, Verdict::flagged);
  facts.flags.push_back({"client_late", "client", "The client sent requests late."});
  EXPECT_EQ(judged(facts, finished()).verdict, Verdict::invalid);
}

TEST(Judge, AnExitCodeIsAFailureWithTheLastWords) {
  RunFacts facts;
  facts.last_error_line = "ModuleNotFoundError: No module named 'torch'";
  const auto run = judged(facts, finished(1));
  EXPECT_EQ(run.verdict, Verdict::failed);
  EXPECT_EQ(run.error->kind, ErrorKind::crash);
  EXPECT_THAT(run.error->message, HasSubstr("exit code 1: ModuleNotFoundError"));
  EXPECT_EQ(exit_code_of(run), 1);
}

TEST(Judge, OutOfMemoryIsRecognisedWithAHint) {
  RunFacts facts;
  facts.last_error_line = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB";
  const auto run = judged(facts, finished(1));
  EXPECT_EQ(run.error->kind, ErrorKind::oom);
  EXPECT_THAT(run.error->hint, HasSubstr("smaller batch"));
}

TEST(Judge, ALimitOfTheNodeIsToldFromAKill) {
  const auto run = judged({}, {.job = {.signal = SIGKILL, .out_of_memory = true}});
  EXPECT_EQ(run.error->kind, ErrorKind::oom);
  EXPECT_THAT(run.error->hint, HasSubstr("run_memory"));
}

TEST(Judge, SignalsAreNamed) {
  const auto run = judged({}, {.job = {.signal = SIGSEGV}});
  EXPECT_EQ(run.error->kind, ErrorKind::crash);
  EXPECT_THAT(run.error->message, HasSubstr("signal 11 (Segmentation fault)"));
  EXPECT_EQ(run.signal, SIGSEGV);
  EXPECT_FALSE(run.exit_code);
}

TEST(Judge, TheWorkloadsOwnErrorIsTheCause) {
  RunFacts facts;
  facts.error = RunError{.kind = ErrorKind::unsupported, .message = "flash attention needs CUDA"};
  const auto run = judged(facts, finished(3));
  EXPECT_EQ(run.error->message, "flash attention needs CUDA");
  EXPECT_EQ(exit_code_of(run), 3) << "this machine cannot";
  facts.error = RunError{.kind = ErrorKind::missing_file, .message = "no corpus.txt"};
  EXPECT_EQ(exit_code_of(judged(facts, finished(2))), 2) << "the request is wrong";
  facts.error = RunError{.kind = ErrorKind::oom, .message = "too large"};
  EXPECT_EQ(exit_code_of(judged(facts, finished(1))), 1);
}

TEST(Judge, WhatWentWrongOnAnotherNodeIsTheRunsOwnError) {
  const Error gone{.kind = ErrorKind::lost_peer, .message = "gpu02 is gone"};
  const Error full{.kind = ErrorKind::oom, .message = "on gpu02: out of memory"};
  const auto kind_and_words = [](const assay::Run& run) {
    return std::pair(run.error.value_or(RunError()).kind, run.error.value_or(RunError()).message);
  };
  // It ended well here, and not there.
  const auto half = judged({}, {.job = {.exit_code = 0}, .peer = full});
  EXPECT_EQ(half.verdict, Verdict::failed);
  EXPECT_EQ(kind_and_words(half), std::pair(ErrorKind::oom, full.message));
  // It was ended here since the other is gone.
  const auto ended = judged({}, {.by = EndedBy::lost_peer, .job = {.signal = SIGTERM}, .peer = gone});
  EXPECT_EQ(ended.verdict, Verdict::failed);
  EXPECT_EQ(kind_and_words(ended), std::pair(ErrorKind::lost_peer, gone.message));
  // Who missed it knows which one, but only that one knows why.
  RunFacts missed;
  missed.error = RunError{.kind = ErrorKind::lost_peer, .message = "rank 1 died", .hint = ""};
  EXPECT_EQ(judged(missed, {.job = {.exit_code = 1}, .peer = gone}).error->message, "rank 1 died");
  EXPECT_EQ(judged(missed, {.job = {.exit_code = 1}, .peer = full}).error->message, full.message);
  // What failed here failed there, too.
  RunFacts own;
  own.error = RunError{.kind = ErrorKind::nan, .message = "the loss is not a number", .hint = ""};
  EXPECT_EQ(judged(own, {.job = {.exit_code = 1}, .peer = gone}).error->kind, ErrorKind::nan);
  EXPECT_EQ(judged({}, {.job = {.exit_code = 3}, .peer = gone}).error->kind, ErrorKind::crash);
  // Whoever stopped it did.
  EXPECT_EQ(judged({}, {.by = EndedBy::user, .job = {.signal = SIGTERM}, .peer = gone}).verdict, Verdict::interrupted);
}

TEST(Judge, StoppedByTheUserOrTheTimeLimit) {
  const auto stopped = judged({}, {.by = EndedBy::user, .job = {.signal = SIGTERM}});
  EXPECT_EQ(stopped.verdict, Verdict::interrupted);
  EXPECT_EQ(stopped.error->kind, ErrorKind::interrupted);
  const auto late = judged({}, {.by = EndedBy::time_limit, .job = {.signal = SIGTERM}});
  EXPECT_EQ(late.verdict, Verdict::failed);
  EXPECT_EQ(late.error->kind, ErrorKind::timeout);
  EXPECT_EQ(exit_code_of(late), 1);
}

TEST(Judge, ANonFiniteLossIsInvalid) {
  RunFacts facts;
  facts.last = {{"loss", std::nan("")}};
  const auto run = judged(facts, finished());
  EXPECT_EQ(run.verdict, Verdict::invalid);
  EXPECT_THAT(run.flags, has_flag("non_finite"));
  EXPECT_EQ(exit_code_of(run), 4);
}

TEST(Judge, AResultThatIsNotFiniteIsInvalid) {
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    RunFacts facts;
    facts.last = {{"loss", 0.5}};
    facts.results = {{"val_loss", value}};
    const auto run = judged(facts, finished());
    EXPECT_EQ(run.verdict, Verdict::invalid) << value;
    EXPECT_THAT(run.flags, Contains(Field(&Flag::about, "val_loss")));
  }
  RunFacts covered_up;
  covered_up.last = {{"loss", std::nan("")}};
  covered_up.results = {{"loss", 0.5}};
  EXPECT_EQ(judged(covered_up, finished()).verdict, Verdict::invalid);
}

TEST(Judge, ANonFiniteValueInTheMiddleIsNeverValid) {
  RunFacts facts;
  facts.last = {{"loss", 0.5}, {"grad_norm", 1}};
  facts.non_finite = {{"loss", 3}};
  const auto run = judged(facts, finished());
  EXPECT_EQ(run.verdict, Verdict::flagged);
  EXPECT_THAT(run.flags, Contains(Field(&Flag::message, HasSubstr("3 values of 'loss'"))));
  facts.non_finite = {{"grad_norm", 1}};
  EXPECT_EQ(judged(facts, finished()).verdict, Verdict::valid) << "loss scaling overflows to find its factor";
}

TEST(Judge, WhatWasLostOnTheWayIsFlagged) {
  RunFacts metrics;
  metrics.values_left_out = 7;
  metrics.first_left_out = "loss_at_step_2000";
  EXPECT_EQ(judged(metrics, finished()).verdict, Verdict::flagged);
  EXPECT_THAT(judged(metrics, finished()).flags, has_flag("metrics_left_out"));
  RunFacts artifacts;
  artifacts.artifacts_lost = 2;
  artifacts.first_artifact_lost = "'trace.json' (too large)";
  EXPECT_EQ(judged(artifacts, finished()).verdict, Verdict::flagged);
  EXPECT_THAT(judged(artifacts, finished()).flags, Contains(Field(&Flag::message, HasSubstr("2 files"))));
  RunFacts warnings;
  warnings.flags_left_out = 1;
  EXPECT_EQ(judged(warnings, finished()).verdict, Verdict::flagged);
}

TEST(Judge, EventsOfTheNullWorkloadThatAreMissingMakeItInvalid) {
  assay::Run run;
  run.kind = "null";
  RunFacts facts;
  facts.results = {{"events_sent", 1000}};
  facts.events = 1002;
  EXPECT_EQ(judged(facts, finished(), run).verdict, Verdict::valid);
  EXPECT_EQ(judged(facts, finished(), run).metrics.at("events_recorded"), 1000);
  facts.events = 1001;
  EXPECT_EQ(judged(facts, finished(), run).verdict, Verdict::invalid);
  EXPECT_THAT(judged(facts, finished(), run).flags, has_flag("lost_events"));
}

TEST(Judge, JudgingTwiceSaysTheSame) {
  RunFacts facts;
  facts.last = {{"loss", std::nan("")}};
  facts.values_left_out = 1;
  const auto once = judged(facts, finished());
  const auto twice = judged(facts, finished(), once);
  EXPECT_EQ(once.flags, twice.flags);
  EXPECT_EQ(once.verdict, twice.verdict);
}

TEST(Judge, ProcessesThatCannotBeEndedAreFlagged) {
  Ending ending = finished();
  ending.job.still_running = {"nvidia-hang"};
  EXPECT_THAT(judged({}, ending).flags, Contains(Field(&Flag::message, HasSubstr("nvidia-hang"))));
}

TEST(Judge, WhatWasNotRecordedIsInvalid) {
  RunFacts facts;
  facts.recording_error = Error{.kind = ErrorKind::io, .message = "No space left on device"};
  const auto run = judged(facts, finished());
  EXPECT_EQ(run.verdict, Verdict::invalid);
  EXPECT_THAT(run.flags, has_flag("recording_incomplete"));
}

TEST(Judge, ProtocolTroubleIsFlagged) {
  RunFacts facts;
  facts.malformed = 2;
  facts.first_malformed = "syntax error";
  facts.unknown_types = {{"stpe", 3}};
  const auto run = judged(facts, finished());
  EXPECT_EQ(run.verdict, Verdict::flagged);
  EXPECT_THAT(run.flags, has_flag("malformed_events"));
  EXPECT_THAT(run.flags, Contains(Field(&Flag::message, HasSubstr("did you mean 'step'"))));
  facts.newer = 1;
  EXPECT_EQ(judged(facts, finished()).verdict, Verdict::invalid);
}

TEST(Judge, DroppedOutputIsARemarkOnly) {
  RunFacts facts;
  facts.output_dropped = 1 << 20;
  const auto run = judged(facts, finished());
  EXPECT_EQ(run.verdict, Verdict::valid);
  EXPECT_THAT(run.flags, has_flag("output_truncated"));
}

TEST(Judge, ProcessesLeftBehindAreFlagged) {
  Ending ending = finished();
  ending.job.left_behind = {"redis-server", "sleep"};
  const auto run = judged({}, ending);
  EXPECT_EQ(run.verdict, Verdict::flagged);
  EXPECT_THAT(run.flags, Contains(Field(&Flag::message, HasSubstr("redis-server, sleep"))));
}

TEST(Judge, MoreRanksThanCoresIsInvalidOnOneNode) {
  assay::Run run;
  run.ranks = 8;
  run.provenance.cpu_cores = 2;
  EXPECT_THAT(judged({}, finished(), run).flags, has_flag("oversubscribed"));
  run.ranks = 2;
  EXPECT_EQ(judged({}, finished(), run).verdict, Verdict::valid);
  run.ranks = 8;
  run.nodes = 4;
  EXPECT_EQ(judged({}, finished(), run).verdict, Verdict::valid);
}

TEST(Judge, RanksThatALauncherBoundShareTheMachinesCores) {
  assay::Run run;
  run.ranks = 2;
  run.provenance.cpu_cores = 1;
  run.provenance.machine_cores = 2;
  run.provenance.job = {{"OMPI_COMM_WORLD_SIZE", "2"}};
  EXPECT_EQ(judged({}, finished(), run).verdict, Verdict::valid);
  run.ranks = 3;
  EXPECT_THAT(judged({}, finished(), run).flags, has_flag("oversubscribed"));
}

TEST(Judge, AnotherGpuThanWasAskedForIsFlagged) {
  assay::Run run;
  run.spec = {{"kind", "train"}, {"gpu", {{"model", "H200"}, {"memory", 100'000'000'000}}}};
  EXPECT_THAT(judged({}, finished(), run).flags, has_flag("other_gpu")) << "none is known";
  run.provenance.gpus = {{.uuid = "GPU-1", .name = "NVIDIA H200", .memory_bytes = 150'754'820'096},
                         {.uuid = "GPU-2", .name = "Tesla V100", .memory_bytes = 34'359'738'368}};
  const auto mixed = judged({}, finished(), run);
  EXPECT_EQ(mixed.verdict, Verdict::flagged);
  EXPECT_THAT(mixed.flags.at(0).message, HasSubstr("H200 with 93.1 GiB was asked for, and it had Tesla V100"));
  run.placement.gpus = {"GPU-1"};
  EXPECT_EQ(judged({}, finished(), run).verdict, Verdict::valid) << "it was given the right one of the two";
  run.placement.gpus = {"GPU-2"};
  run.spec["device"] = "cpu";
  EXPECT_EQ(judged({}, finished(), run).verdict, Verdict::valid) << "it uses none";
}

TEST(Judge, ExpectationsMissInTheBadDirectionOnly) {
  assay::Run run;
  run.spec = {{"expect", {{"samples_per_second", 100}, {"gpu_memory_peak_bytes", 1000}}}};
  RunFacts facts;
  facts.last = {{"samples_per_second", 150}, {"gpu_memory_peak_bytes", 900}};
  EXPECT_EQ(judged(facts, finished(), run).verdict, Verdict::valid);
  facts.last = {{"samples_per_second", 94}, {"gpu_memory_peak_bytes", 1060}};
  const auto missed = judged(facts, finished(), run);
  EXPECT_EQ(missed.verdict, Verdict::flagged);
  EXPECT_EQ(missed.flags.size(), 2U);
  facts.last = {{"samples_per_second", 96}};
  EXPECT_THAT(judged(facts, finished(), run).flags, Contains(Field(&Flag::message, HasSubstr("not measured"))));
}

TEST(ExitCodes, EveryKindOfErrorStandsOnTheirPage) {
  const auto page = read_file(test::source_folder() / "docs/reference/errors.md");
  ASSERT_TRUE(page.ok());
  for (int i = 0; i <= static_cast<int>(ErrorKind::internal); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    const std::string row = "| " + std::to_string(exit_code_of(kind)) + " |";
    bool found = false;
    for (const auto line : split(*page, '\n')) {
      found = found || (line.starts_with(row) && line.find("`" + std::string(name_of(kind)) + "`") != line.npos);
    }
    EXPECT_TRUE(found) << "docs/reference/errors.md does not have " << name_of(kind) << " at exit code "
                       << exit_code_of(kind);
  }
}

}  // namespace
}  // namespace assay
