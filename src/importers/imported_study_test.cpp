#include "importers/imported_study.h"

#include "importers/imported_study_fixture.h"
#include "importers/text/import_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(ImportedSlurm, TheScalingStudyHasItsGoldenFigures) {
  const auto imported =
      import_fixtures(ImportFormat::slurm, {"slurm/slurm-48211.out", "slurm/slurm-48212.out", "slurm/slurm-48213.out"});
  EXPECT_EQ(listed(all_flags(imported)), "");
  ASSERT_THAT(imported.runs, SizeIs(3));
  std::vector<std::string> rows;
  for (const auto& [run, series] : imported.runs) {
    const auto& metrics = run.metrics;
    rows.push_back(fmt::format("{} {} {}x{} {} {:.2f} {:.4f} {:.4f} {:.1f} {}", run.name, run.variant, run.ranks,
                               run.nodes, metrics.at("train_seconds"), metrics.at("seconds_per_epoch"),
                               metrics.at("val_loss"), metrics.at("val_accuracy"), metrics.at("samples_per_second"),
                               name_of(run.verdict)));
  }
  EXPECT_THAT(rows, ElementsAre("spiral-1gpu ranks=1 1x1 362.45 7.25 0.1187 0.9530 1379.5 valid",
                                "spiral-4gpu ranks=4 4x1 95.23 1.90 0.1192 0.9525 5250.4 valid",
                                "spiral-8gpu ranks=8, nodes=2 8x2 57.14 1.14 0.1190 0.9527 8750.4 valid"));
  const auto& four = imported.runs[1].run;
  EXPECT_EQ(four.kind, "train");
  EXPECT_EQ(four.state, RunState::ended);
  EXPECT_THAT(four.tags, ElementsAre("imported", "imported=slurm"));
  EXPECT_EQ(four.metrics.at("duration_seconds"), 104);
  EXPECT_EQ(seconds_of(four.duration), 104);
  EXPECT_EQ(four.metrics.at("epochs_done"), 50);
  EXPECT_EQ(four.metrics.at("samples_done"), 500'000);
  EXPECT_EQ(four.spec.at("batch_size"), 32);
  EXPECT_EQ(four.spec.at("effective_batch"), 128);
  EXPECT_EQ(four.spec.at("epochs"), 50);
  EXPECT_EQ(four.spec.at("dataset").at("samples"), 10'000);
  EXPECT_EQ(four.provenance.hostname, "gpu01");
  EXPECT_EQ(four.provenance.job.at("SLURM_JOB_ID"), "48212");
  ASSERT_THAT(four.provenance.gpus, SizeIs(4));
  EXPECT_EQ(four.provenance.gpus[3].name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(four.provenance.gpus[3].memory_bytes, std::int64_t{40960} << 20);
  EXPECT_EQ(four.provenance.gpu_driver, "550.54.15");
}

TEST(ImportedSlurm, EpochsBecomeSeriesByTheirNumber) {
  const auto imported = import_fixtures(ImportFormat::slurm, {"slurm/slurm-48212.out"});
  const auto* loss = find_series(imported.runs.at(0), "epoch.val_loss");
  ASSERT_TRUE(loss);
  ASSERT_THAT(loss->points, SizeIs(50));
  EXPECT_EQ(loss->points.front().step, 0);
  EXPECT_EQ(loss->points.back().step, 49);
  EXPECT_EQ(loss->points.back().value, 0.120);
  const auto* accuracy = find_series(imported.runs.at(0), "epoch.val_accuracy");
  ASSERT_TRUE(accuracy);
  EXPECT_EQ(accuracy->unit, "ratio");
  EXPECT_EQ(imported.runs[0].run.metrics.at("val_loss"), 0.1192) << "as stated, not as a progress bar rounds it";
}

TEST(ImportedSlurm, TheStudyPlansItsRuns) {
  const auto imported = import_fixtures(ImportFormat::slurm, {"slurm/slurm-48211.out", "slurm/slurm-48213.out"});
  ASSERT_THAT(imported.study.plan, SizeIs(2));
  EXPECT_EQ(imported.study.plan[1].variant, "ranks=8, nodes=2");
  EXPECT_EQ(imported.study.plan[1].ranks, 8);
  EXPECT_EQ(imported.study.plan[1].nodes, 2);
  EXPECT_EQ(imported.study.plan[1].node, "");
  EXPECT_EQ(imported.study.plan[0].node, "gpu01");
  EXPECT_EQ(imported.study.plan[0].spec, imported.runs[0].run.spec);
  EXPECT_THAT(imported.study.tags, ElementsAre("imported", "imported=slurm"));
  EXPECT_EQ(imported.study.name, "slurm") << "the folder's name";
}

TEST(ImportedSlurm, FailedJobsHaveTheirError) {
  const auto imported = import_fixtures(ImportFormat::slurm, {"slurm/slurm-48220.out", "slurm/slurm-48221.out"});
  const auto& oom = imported.runs.at(0).run;
  EXPECT_EQ(oom.verdict, Verdict::failed);
  ASSERT_TRUE(oom.error);
  EXPECT_EQ(oom.error->kind, ErrorKind::oom);
  EXPECT_THAT(oom.error->message, AllOf(HasSubstr("rank 1: "), HasSubstr("CUDA out of memory")));
  EXPECT_TRUE(has_flag(oom.flags, "oom"));
  EXPECT_TRUE(has_flag(oom.flags, "incomplete"));
  const auto& late = imported.runs.at(1).run;
  EXPECT_EQ(late.verdict, Verdict::failed);
  ASSERT_TRUE(late.error);
  EXPECT_EQ(late.error->kind, ErrorKind::timeout);
  EXPECT_FALSE(late.metrics.contains("train_seconds"));
  EXPECT_EQ(late.metrics.at("epochs_done"), 31);
}

TEST(ImportedSlurm, WhoWasStoppedIsInterruptedAndWhoContradictsItselfIsFlagged) {
  const std::string head = "Job ID: 1\nTotal GPUs: 1\nEpoch 1/3 loss=0.9\n";
  const auto cancelled = import_texts(
      ImportFormat::slurm,
      {{"slurm-1.out", head + "slurmstepd: error: *** JOB 1 ON gpu1 CANCELLED AT 2025-11-11T10:00:00 ***\n"}});
  EXPECT_EQ(cancelled.runs.at(0).run.verdict, Verdict::interrupted);
  const auto silent = import_texts(ImportFormat::slurm, {{"slurm-1.out", head}});
  EXPECT_EQ(silent.runs.at(0).run.verdict, Verdict::interrupted);
  EXPECT_EQ(silent.runs.at(0).run.error->kind, ErrorKind::interrupted);
  const auto contradictory = import_fixtures(ImportFormat::slurm, {"slurm/slurm-48230.out"});
  EXPECT_EQ(contradictory.runs.at(0).run.verdict, Verdict::flagged);
  EXPECT_FALSE(contradictory.runs.at(0).run.error);
}

TEST(ImportedSlurm, ALossThatEndsAsNanMakesTheRunInvalid) {
  const std::string end = "Total training time: 3.0 seconds\n";
  const auto verdict = [&](const std::string& epochs) {
    const auto imported =
        import_texts(ImportFormat::slurm, {{"slurm-1.out", "Job ID: 1\nTotal GPUs: 1\n" + epochs + end}});
    return imported.runs.at(0).run.verdict;
  };
  EXPECT_EQ(verdict("Epoch 1/2 loss=0.5\nEpoch 2/2 loss=nan\n"), Verdict::invalid);
  EXPECT_EQ(verdict("Epoch 1/2 loss=nan\nEpoch 2/2 loss=0.5\n"), Verdict::flagged) << "it recovered";
}

TEST(ImportedSlurm, WhatDiffersNamesTheVariantAndWhatIsEqualIsARepeat) {
  const auto job = [](int id, const std::string& rate) {
    return fmt::format("Job ID: {}\nTotal GPUs: 4\nLearning rate: {}\nTotal training time: 10.0 seconds\n", id, rate);
  };
  const auto imported = import_texts(
      ImportFormat::slurm,
      {{"slurm-1.out", job(1, "0.001")}, {"slurm-2.out", job(2, "0.01")}, {"slurm-3.out", job(3, "0.001")}});
  ASSERT_THAT(imported.runs, SizeIs(3));
  EXPECT_EQ(imported.runs[0].run.variant, "ranks=4, learning_rate=0.001");
  EXPECT_EQ(imported.runs[1].run.variant, "ranks=4, learning_rate=0.01");
  EXPECT_EQ(imported.runs[2].run.variant, "ranks=4, learning_rate=0.001");
  EXPECT_EQ(imported.runs[2].run.repeat, 1);
  EXPECT_EQ(imported.runs[0].run.repeat, 0);
}

TEST(ImportedSlurm, SecretsAndEscapesDoNotPass) {
  const auto imported = import_texts(
      ImportFormat::slurm,
      {{"slurm-1.out",
        "Job ID: 1\nTotal GPUs: 1\nEpoch 1/3 loss=0.9\n"
        "RuntimeError: cannot log in with password=hunter2secret and ghp_abcdefghijklmnopqrstuvwxyz0123456789\n"}});
  const auto& run = imported.runs.at(0).run;
  ASSERT_TRUE(run.error);
  EXPECT_THAT(json::serialize(to_json(run)), AllOf(Not(HasSubstr("hunter2secret")), Not(HasSubstr("ghp_abc"))));
  EXPECT_THAT(run.error->message, HasSubstr("[redacted]"));
}

TEST(ImportedSlurm, AFileWithoutAJobIsAFlagBesideOthersAndAnErrorAlone) {
  const std::string job = "Job ID: 1\nTotal GPUs: 1\nTotal training time: 3.0 seconds\n";
  const auto imported = import_texts(ImportFormat::slurm,
                                     {{"a/notes.txt", "milk\nbread\n"}, {"a/slurm-1.out", job}, {"a/empty.out", ""}});
  EXPECT_THAT(imported.runs, SizeIs(1));
  EXPECT_EQ(imported.runs[0].run.verdict, Verdict::valid) << listed(all_flags(imported));
  EXPECT_THAT(kinds_of(imported.study.flags), ElementsAre("nothing_found", "empty"));
  EXPECT_EQ(imported.study.flags.at(0).about, "notes.txt");

  const auto error = error_of(ImportFormat::slurm, {{"notes.txt", "milk\nbread\n"}});
  EXPECT_EQ(error.kind, ErrorKind::bad_file);
  EXPECT_THAT(error.text(), HasSubstr("nothing of a training job"));
}

TEST(ImportFiles, TheSameFilesHaveTheSameHashInAnyOrderAndFolder) {
  const std::string one = fixture("slurm/slurm-48211.out");
  const std::string four = fixture("slurm/slurm-48212.out");
  const auto hash = [](const std::vector<std::pair<std::string, std::string>>& files,
                       const ImportOptions& options = {}) {
    return import_texts(ImportFormat::slurm, files, options).study.spec_hash;
  };
  const std::string first = hash({{"x/slurm-48211.out", one}, {"x/slurm-48212.out", four}});
  EXPECT_EQ(hash({{"slurm-48212.out", four}, {"slurm-48211.out", one}}, {.name = "other", .tags = {"t"}}), first);
  EXPECT_NE(hash({{"slurm-48211.out", one}}), first);
  EXPECT_NE(hash({{"slurm-48211.out", one + " "}, {"slurm-48212.out", four}}), first);
  EXPECT_NE(hash({{"slurm-48211.out", one}, {"slurm-48212.out", four}}, {.price = Price{0.6, "USD", "GPUh"}}), first);
}

TEST(ImportFiles, NamesAndTagsAreTheUsers) {
  const auto imported = import_texts(ImportFormat::slurm, {{"slurm-48211.out", fixture("slurm/slurm-48211.out")}},
                                     {.name = "my study", .tags = {"paper", "imported"}});
  EXPECT_EQ(imported.study.name, "my study");
  EXPECT_THAT(imported.study.tags, ElementsAre("imported", "imported=slurm", "paper"));
  EXPECT_THAT(imported.runs.at(0).run.tags, ElementsAre("imported", "imported=slurm", "paper"));
  EXPECT_THAT(imported.study.source, AllOf(HasSubstr("assay import slurm"), HasSubstr("slurm-48211.out"),
                                           HasSubstr("bytes: 37478"), HasSubstr("content_hash: ")));
}

TEST(ImportFiles, TheWrongFormatIsAnErrorThatNamesTheRightOne) {
  const std::string log = fixture("slurm/slurm-48212.out");
  const std::string results = fixture("results/node1_final.json");
  const std::string csv = fixture("csv/wandb-history.csv");
  const std::string loadgen = fixture("loadgen/server/mlperf_log_summary.txt");
  const std::vector<std::tuple<ImportFormat, std::string, std::string, std::string>> cases = {
      {ImportFormat::slurm, "a.csv", csv, "assay import csv a.csv"},
      {ImportFormat::slurm, "mlperf_log_summary.txt", loadgen, "assay import loadgen mlperf_log_summary.txt"},
      {ImportFormat::slurm, "n.json", results, "assay import results n.json"},
      {ImportFormat::results, "slurm-1.out", log, "assay import slurm slurm-1.out"},
      {ImportFormat::results, "a.csv", csv, "assay import csv a.csv"},
      {ImportFormat::csv, "slurm-1.out", log, "assay import slurm slurm-1.out"},
      {ImportFormat::csv, "n.json", results, "assay import results n.json"},
      {ImportFormat::csv, "s.txt", loadgen, "assay import loadgen s.txt"},
      {ImportFormat::loadgen, "slurm-1.out", log, "assay import slurm slurm-1.out"},
      {ImportFormat::loadgen, "a.csv", csv, "assay import csv a.csv"},
      {ImportFormat::run, "n.json", results, "assay import results n.json"},
      {ImportFormat::run, "slurm-1.out", log, "assay import slurm slurm-1.out"},
  };
  for (const auto& [format, name, text, hint] : cases) {
    const auto error = error_of(format, {{name, text}});
    EXPECT_EQ(error.kind, ErrorKind::bad_file) << name_of(format) << " " << name;
    EXPECT_THAT(error.hint, HasSubstr(hint)) << name_of(format) << " " << error.text();
  }
}

TEST(ImportFiles, WhatIsNoTextOrEmptyIsAnErrorInEveryFormat) {
  const std::string binary(
      "\x7f"
      "ELF\x02\x01\x01\0\0\0\0\xff\xfe\x80\x81",
      15);
  for (const auto format : import_formats()) {
    EXPECT_EQ(error_of(format, {{"file", ""}}).kind, ErrorKind::bad_file) << name_of(format);
    EXPECT_EQ(error_of(format, {{"file", binary}}).kind, ErrorKind::bad_file) << name_of(format);
    EXPECT_EQ(error_of(format, {{"file", "\x1f\x8b\x08 compressed"}}).kind, ErrorKind::bad_file) << name_of(format);
  }
}

TEST(GuessImportFormat, KnowsEveryFixture) {
  const std::vector<std::pair<std::string, ImportFormat>> files = {
      {"slurm/slurm-48211.out", ImportFormat::slurm},
      {"slurm/slurm-48220.out", ImportFormat::slurm},
      {"results/node1_final.json", ImportFormat::results},
      {"results/aggregated_results.json", ImportFormat::results},
      {"csv/comet-metrics.csv", ImportFormat::csv},
      {"csv/decimal-comma.csv", ImportFormat::csv},
      {"csv/mlflow-metrics.csv", ImportFormat::csv},
      {"csv/tensorboard-loss.csv", ImportFormat::csv},
      {"csv/wandb-chart.csv", ImportFormat::csv},
      {"csv/wandb-runs.csv", ImportFormat::csv},
      {"loadgen/server/mlperf_log_summary.txt", ImportFormat::loadgen},
      {"loadgen/server/mlperf_log_detail.txt", ImportFormat::loadgen},
      {"loadgen/server/mlperf_log_accuracy.json", ImportFormat::loadgen},
  };
  for (const auto& [name, format] : files) EXPECT_EQ(guess_import_format(fixture(name), "file"), format) << name;
  EXPECT_EQ(guess_import_format("", "x"), std::nullopt);
  EXPECT_EQ(guess_import_format("milk\nbread\n", "x"), std::nullopt);
  EXPECT_EQ(guess_import_format(std::string_view("\0\1\2\3", 4), "x"), std::nullopt);
  for (const auto format : import_formats()) EXPECT_EQ(import_format_from(name_of(format)), format);
  EXPECT_EQ(import_format_from("xml"), std::nullopt);
}

}  // namespace
}  // namespace assay
