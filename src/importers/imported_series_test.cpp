#include <cmath>

#include "importers/imported_study_fixture.h"
#include "importers/text/import_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ImportedCsv, ATrackersHistoryIsOneRunWithItsLastValues) {
  const auto imported = import_fixtures(ImportFormat::csv, {"csv/wandb-history.csv"});
  ASSERT_THAT(imported.runs, SizeIs(1));
  const auto& run = imported.runs[0].run;
  EXPECT_EQ(run.name, "wandb-history");
  EXPECT_EQ(run.kind, "import");
  EXPECT_EQ(run.metrics.at("loss"), 0.5217);
  EXPECT_EQ(run.metrics.at("val_loss"), 0.4391);
  EXPECT_EQ(run.metrics.at("learning_rate"), 0.0005);
  const auto* accuracy = find_series(imported.runs[0], "val_accuracy");
  ASSERT_TRUE(accuracy);
  EXPECT_EQ(accuracy->unit, "ratio");
  EXPECT_THAT(accuracy->points, SizeIs(3));
  EXPECT_NEAR(run.metrics.at("duration_seconds"), 21.74, 0.01);
  EXPECT_NE(run.started, WallTime{});
}

TEST(ImportedCsv, SeveralRunsOfAFileAreSeveralRuns) {
  const auto imported = import_fixtures(ImportFormat::csv, {"csv/wandb-chart.csv"});
  ASSERT_THAT(imported.runs, SizeIs(2));
  EXPECT_EQ(imported.runs[0].run.name, "spiral-1gpu");
  EXPECT_EQ(imported.runs[1].run.variant, "spiral-4gpu");
  EXPECT_EQ(imported.runs[1].run.metrics.at("val_loss"), 0.1192);
  EXPECT_EQ(imported.runs[0].run.started, WallTime{}) << "the file has no times";
}

TEST(ImportedCsv, FilesAboutOtherMetricsOfTheSameRunsAreJoined) {
  const auto imported = import_texts(ImportFormat::csv, {{"loss.csv", "Step,a - loss,b - loss\n1,0.5,0.6\n2,0.4,0.5\n"},
                                                         {"acc.csv", "Step,a - val_acc,b - val_acc\n1,0.7,0.8\n"}});
  ASSERT_THAT(imported.runs, SizeIs(2));
  EXPECT_EQ(imported.runs[0].run.metrics.at("loss"), 0.4);
  EXPECT_EQ(imported.runs[0].run.metrics.at("val_accuracy"), 0.7);
  EXPECT_THAT(imported.runs[0].series, SizeIs(2));
}

TEST(ImportedCsv, TheSameMetricOfTheSameNameIsAnotherRun) {
  const auto imported = import_texts(ImportFormat::csv, {{"x/1.csv", "Step,a - loss,b - loss\n1,0.5,0.6\n"},
                                                         {"x/2.csv", "Step,a - loss,b - loss\n1,0.3,0.4\n"}});
  ASSERT_THAT(imported.runs, SizeIs(4));
  EXPECT_EQ(imported.runs[2].run.variant, "a (2.csv)");
}

TEST(ImportedCsv, ARunThatEndsInNanIsInvalid) {
  const auto imported = import_texts(ImportFormat::csv, {{"a.csv", "step,loss,lr\n1,0.5,0.1\n2,NaN,0.1\n"}});
  const auto& run = imported.runs.at(0).run;
  EXPECT_EQ(run.verdict, Verdict::invalid);
  EXPECT_TRUE(has_flag(run.flags, "non_finite"));
  EXPECT_FALSE(run.metrics.contains("loss"));
}

TEST(ImportedCsv, AHeaderAloneIsNothingToImport) {
  const auto error = error_of(ImportFormat::csv, {{"a.csv", "step,loss\n"}});
  EXPECT_EQ(error.kind, ErrorKind::bad_file);
  EXPECT_THAT(error.text(), HasSubstr("'a.csv': there is a header and nothing below it"));
}

TEST(ImportedCsv, FlagsAboutAFileAreTheRunsWhereThereIsOne) {
  const std::string ragged = "step,loss,lr\n1,0.5,0.1\n2,0.4\n3,0.3,0.1\n";
  const auto one = import_texts(ImportFormat::csv, {{"a.csv", ragged}});
  EXPECT_EQ(one.runs.at(0).run.verdict, Verdict::flagged);
  EXPECT_TRUE(has_flag(one.runs.at(0).run.flags, "ragged_rows"));
  EXPECT_THAT(one.study.flags, IsEmpty());
}

TEST(ImportedLoadgen, AValidServerRunHasItsFiguresInSeconds) {
  const auto imported = import_fixtures(
      ImportFormat::loadgen, {"loadgen/server/mlperf_log_summary.txt", "loadgen/server/mlperf_log_detail.txt"});
  ASSERT_THAT(imported.runs, SizeIs(1));
  const auto& run = imported.runs[0].run;
  EXPECT_EQ(run.verdict, Verdict::valid) << listed(run.flags);
  EXPECT_EQ(run.name, "server");
  EXPECT_EQ(run.kind, "serve");
  EXPECT_EQ(run.variant, "server");
  EXPECT_EQ(run.metrics.at("samples_per_second"), 19.61);
  EXPECT_EQ(run.metrics.at("scheduled_samples_per_second"), 19.94);
  EXPECT_EQ(run.metrics.at("tokens_per_second"), 2498.71);
  EXPECT_DOUBLE_EQ(run.metrics.at("latency_p99_9_seconds"), 6.321098765);
  EXPECT_DOUBLE_EQ(run.metrics.at("latency_min_seconds"), 0.812345678);
  EXPECT_DOUBLE_EQ(run.metrics.at("mean_ttft_seconds"), 0.312345678);
  EXPECT_DOUBLE_EQ(run.metrics.at("ttft_p99_seconds"), 1.423456789);
  EXPECT_DOUBLE_EQ(run.metrics.at("tpot_p50_seconds"), 0.021987654);
  EXPECT_EQ(run.spec.at("scenario"), "server");
  EXPECT_EQ(run.spec.at("rate"), 20.0);
  EXPECT_EQ(run.spec.at("min_duration"), 600.0);
  EXPECT_EQ(run.spec.at("samples"), 100);
  EXPECT_EQ(run.spec.at("params").at("schedule_rng_seed"), "18209322760996052031") << "no digit is lost";
}

TEST(ImportedLoadgen, InvalidAndContradictoryResultsAreMarked) {
  const auto imported = import_fixtures(
      ImportFormat::loadgen, {"loadgen/offline-invalid/mlperf_log_summary.txt", "loadgen/server/mlperf_log_summary.txt",
                              "loadgen/contradictory/mlperf_log_summary.txt"});
  ASSERT_THAT(imported.runs, SizeIs(3));
  EXPECT_EQ(imported.study.name, "loadgen");
  EXPECT_EQ(imported.runs[0].run.verdict, Verdict::invalid);
  EXPECT_TRUE(has_flag(imported.runs[0].run.flags, "invalid_result", "minimum duration"));
  EXPECT_EQ(imported.runs[0].run.metrics.at("samples_per_second"), 0.677);
  EXPECT_EQ(imported.runs[0].run.variant, "offline");
  EXPECT_EQ(imported.runs[1].run.verdict, Verdict::valid) << listed(imported.runs[1].run.flags);
  EXPECT_EQ(imported.runs[2].run.verdict, Verdict::flagged);
  EXPECT_EQ(imported.runs[2].run.variant, "server, loadgen/contradictory") << "not a repeat of the other server run";
  EXPECT_THAT(imported.study.flags, IsEmpty());
}

RunWithSeries recorded_run() {
  RunWithSeries recorded;
  Run& run = recorded.run;
  run.id = "r0000000aa";
  run.name = "mnist";
  run.kind = "train";
  run.tags = {"paper"};
  run.study = "s0000000aa";
  run.variant = "ranks=4";
  run.ranks = 4;
  run.state = RunState::ended;
  run.verdict = Verdict::flagged;
  run.flags = {{"left_processes", "", "2 processes were left"}};
  run.started = *parse_iso8601("2026-11-15T04:05:06.789Z");
  run.duration = std::chrono::milliseconds(1500);
  run.exit_code = 0;
  run.spec = {{"kind", "train"}, {"batch_size", 32}};
  run.spec_hash = "0123";
  run.provenance.hostname = "gpu01";
  run.provenance.gpus = {{"GPU-1", "A100", 1 << 20}};
  run.metrics = {{"loss", 0.1 + 0.2}, {"grad_norm", std::nan("")}};
  recorded.series.push_back({.key = {"loss", {{"rank", "1"}}}, .unit = "", .points = {{5, 1, 0.1}, {9, 2, 1.0 / 3}}});
  return recorded;
}

TEST(ImportedExport, ARunComesBackAsItWasButForItsPlaceInTheStore) {
  const RunWithSeries before = recorded_run();
  const auto imported = import_texts(ImportFormat::run, {{"run.json", write_run_json(before)}});
  ASSERT_THAT(imported.runs, SizeIs(1));
  const auto& after = imported.runs[0].run;
  EXPECT_EQ(after.id, "");
  EXPECT_EQ(after.study, "");
  EXPECT_THAT(after.tags, ElementsAre("paper", "imported", "imported=run"));
  EXPECT_EQ(after.name, before.run.name);
  EXPECT_EQ(after.kind, before.run.kind);
  EXPECT_EQ(after.variant, before.run.variant);
  EXPECT_EQ(after.ranks, 4);
  EXPECT_EQ(after.verdict, Verdict::flagged);
  EXPECT_EQ(after.flags, before.run.flags);
  EXPECT_EQ(after.started, before.run.started);
  EXPECT_EQ(after.duration, before.run.duration);
  EXPECT_EQ(after.exit_code, 0);
  EXPECT_EQ(after.spec, before.run.spec);
  EXPECT_EQ(after.spec_hash, before.run.spec_hash);
  EXPECT_EQ(after.provenance, before.run.provenance);
  EXPECT_EQ(after.metrics.at("loss"), 0.1 + 0.2);
  EXPECT_TRUE(std::isnan(after.metrics.at("grad_norm")));
  ASSERT_THAT(imported.runs[0].series, SizeIs(1));
  EXPECT_EQ(imported.runs[0].series[0].key, before.series[0].key);
  EXPECT_EQ(imported.runs[0].series[0].points[1].value, 1.0 / 3);
  EXPECT_THAT(imported.study.source, HasSubstr("r0000000aa")) << "where it came from";
  EXPECT_EQ(imported.study.name, "mnist");
}

TEST(ImportedExport, ListsOfRunsAndOurOwnCsvAreRead) {
  const std::vector<RunWithSeries> two = {recorded_run(), recorded_run()};
  EXPECT_THAT(import_texts(ImportFormat::run, {{"runs.json", write_runs_json(two)}}).runs, SizeIs(2));
  const std::string csv = write_series_csv(two[0].series);
  for (const auto format : {ImportFormat::run, ImportFormat::csv}) {
    const auto imported = import_texts(format, {{"run.csv", csv}});
    ASSERT_THAT(imported.runs, SizeIs(1));
    ASSERT_THAT(imported.runs[0].series, SizeIs(1));
    EXPECT_EQ(imported.runs[0].series[0].key, two[0].series[0].key);
    EXPECT_EQ(imported.runs[0].series[0].points[1].value, 1.0 / 3);
    EXPECT_EQ(imported.runs[0].series[0].points[1].step, 2);
  }
}

TEST(ImportedExport, ARunThatHadNotEndedIsInterrupted) {
  RunWithSeries early = recorded_run();
  early.run.state = RunState::running;
  early.run.verdict = Verdict::none;
  const auto imported = import_texts(ImportFormat::run, {{"run.json", write_run_json(early)}});
  EXPECT_EQ(imported.runs.at(0).run.state, RunState::ended);
  EXPECT_EQ(imported.runs.at(0).run.verdict, Verdict::interrupted);
  EXPECT_TRUE(has_flag(imported.runs.at(0).run.flags, "exported_early"));
}

TEST(ImportedExport, HostileNamesAreMadePrintable) {
  RunWithSeries hostile = recorded_run();
  hostile.run.name = "a\x1b[2Jb";
  hostile.run.flags[0].message = "x\x1b]0;title\x07y";
  const auto imported = import_texts(ImportFormat::run, {{"run.json", write_run_json(hostile)}});
  EXPECT_EQ(imported.runs.at(0).run.name, "ab");
  EXPECT_EQ(imported.runs.at(0).run.flags.at(0).message, "xy");
}

TEST(ImportedExport, WhatIsWrongInAListIsNamed) {
  const std::string good = write_run_json(recorded_run());
  const auto error = error_of(ImportFormat::run, {{"runs.json", "[" + good + ", {\"format\": \"assay-run\"}]"}});
  EXPECT_EQ(error.kind, ErrorKind::bad_file);
  EXPECT_THAT(error.text(), AllOf(HasSubstr("runs.json"), HasSubstr("run 2"), HasSubstr("'schema' is missing")));
  EXPECT_THAT(error_of(ImportFormat::run, {{"runs.json", "[]"}}).text(), HasSubstr("no run"));
}

TEST(ImportFiles, MoreRunsThanAStudyMayHaveAreRefused) {
  std::string csv = "run,step,loss\n";
  for (std::size_t i = 0; i <= kMostImportedRuns; ++i) csv += fmt::format("r{},1,0.5\n", i);
  EXPECT_THAT(error_of(ImportFormat::csv, {{"runs.csv", csv}}).text(), HasSubstr("10001 runs"));
}

TEST(ImportedCsv, ATableOfRunsTellsHowTheyEnded) {
  const auto imported = import_texts(ImportFormat::csv, {{"runs.csv",
                                                          "Name,State,Created,Runtime,lr,optimizer,val_acc\n"
                                                          "a,finished,2025-11-11T09:14:02.000Z,371,0.001,adam,0.91\n"
                                                          "b,crashed,2025-11-12T09:14:02.000Z,12,0.01,adam,0.50\n"
                                                          "c,killed,2025-11-13T09:14:02.000Z,12,0.01,sgd,0.50\n"
                                                          "d,running,2025-11-13T10:14:02.000Z,12,0.01,sgd,0.50\n"}});
  ASSERT_EQ(imported.runs.size(), 4U);
  const auto verdict = [&](const char* name) { return find_run(imported, name)->verdict; };
  EXPECT_EQ(verdict("a"), Verdict::valid);
  EXPECT_EQ(verdict("b"), Verdict::failed);
  EXPECT_EQ(verdict("c"), Verdict::interrupted);
  EXPECT_EQ(verdict("d"), Verdict::interrupted);
  const auto& first = *find_run(imported, "a");
  EXPECT_EQ(iso8601(first.created), "2025-11-11T09:14:02.000Z");
  EXPECT_EQ(first.spec.at("learning_rate").to_number<double>(), 0.001);
  EXPECT_EQ(first.spec.at("optimizer").as_string(), "adam");
  EXPECT_FALSE(first.metrics.contains("lr"));
  EXPECT_EQ(first.metrics.at("val_accuracy"), 0.91);
  EXPECT_EQ(first.metrics.at("duration_seconds"), 371);
  EXPECT_EQ(find_run(imported, "b")->variant, "learning_rate=0.01, optimizer=adam");
}

TEST(ImportedCsv, FilesOfTensorboardMakeOneRun) {
  const std::string text = "Wall time,Step,Value\n1762852449.81,0,0.7\n1762852457.05,313,0.6\n";
  const auto imported =
      import_texts(ImportFormat::csv, {{"run-exp-tag-Loss_train.csv", text}, {"run-exp-tag-Loss_val.csv", text}});
  ASSERT_EQ(imported.runs.size(), 1U);
  EXPECT_EQ(imported.runs[0].run.name, "exp");
  EXPECT_EQ(imported.runs[0].run.metrics.at("loss"), 0.6);
  EXPECT_EQ(imported.runs[0].run.metrics.at("val_loss"), 0.6);
  EXPECT_EQ(imported.runs[0].run.created, imported.runs[0].run.started);
}

TEST(ImportedCsv, LatenciesOfRequestsGivePercentiles) {
  std::string text = "request,latency_ms,ttft_ms\n";
  for (int i = 1; i <= 100; ++i) text += fmt::format("{},{},{}\n", i, i * 10, i);
  const auto imported = import_texts(ImportFormat::csv, {{"requests.csv", text}});
  const auto& run = imported.runs.at(0).run;
  EXPECT_DOUBLE_EQ(run.metrics.at("latency_p50_seconds"), 0.51) << "sorted[⌊n·p⌋], as LoadGen counts";
  EXPECT_DOUBLE_EQ(run.metrics.at("latency_p99_seconds"), 1.0);
  EXPECT_DOUBLE_EQ(run.metrics.at("mean_latency_seconds"), 0.505);
  EXPECT_DOUBLE_EQ(run.metrics.at("ttft_p90_seconds"), 0.091);
  EXPECT_FALSE(run.metrics.contains("latency_ms")) << "the last request is no result";
  EXPECT_NE(find_series(imported.runs[0], "sample.latency_seconds"), nullptr);
}

TEST(ImportedCsv, NaNInTheMiddleIsNeverValid) {
  const auto imported = import_texts(ImportFormat::csv, {{"m.csv", "step,loss\n1,0.5\n2,nan\n3,0.4\n"}});
  EXPECT_EQ(imported.runs.at(0).run.verdict, Verdict::flagged);
}

}  // namespace
}  // namespace assay
