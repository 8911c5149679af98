#include "importers/imported_study_fixture.h"
#include "importers/text/import_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<std::string> kFleet = {"results/node1_final.json", "results/node2_final.json",
                                         "results/node3_final.json", "results/node4_final.json"};

/// A training result of a node as scripts write it.
std::string node_json(int node, double rate, double memory_gb = 19.9, int temperature = 60) {
  return fmt::format(
      R"({{"node_id": {}, "config": {{"batch_size": 8}}, "performance": {{"samples_per_second": {},
          "gpu_temperature_c": {}}}, "memory": {{"peak_during_training": {{"max_allocated_gb": {}}}}}}})",
      node, rate, temperature, memory_gb);
}

ImportedStudy import_nodes(const std::vector<std::string>& nodes) {
  NamedTexts files;
  for (std::size_t i = 0; i < nodes.size(); ++i) files.emplace_back(fmt::format("node{}_final.json", i + 1), nodes[i]);
  return import_texts(ImportFormat::results, files);
}

TEST(ImportedResults, NodesThatAgreeAreValidRunsOfOneVariant) {
  const auto imported = import_fixtures(ImportFormat::results, kFleet);
  ASSERT_THAT(imported.runs, SizeIs(4));
  EXPECT_THAT(imported.study.flags, IsEmpty()) << listed(imported.study.flags);
  const std::vector<double> rates = {1.46, 1.45, 1.47, 1.44};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& run = imported.runs[i].run;
    EXPECT_EQ(run.name, fmt::format("node{}", i + 1));
    EXPECT_EQ(run.kind, "train");
    EXPECT_EQ(run.variant, "baseline");
    EXPECT_EQ(run.repeat, 0) << "another node is no repeat";
    EXPECT_EQ(imported.study.plan[i].node, run.name);
    EXPECT_EQ(run.metrics.at("samples_per_second"), rates[i]);
    EXPECT_EQ(run.verdict, Verdict::valid) << listed(run.flags);
  }
  const auto& first = imported.runs[0].run;
  EXPECT_EQ(first.metrics.at("tokens_per_second"), 748);
  EXPECT_EQ(first.metrics.at("train_seconds"), 547.95);
  EXPECT_EQ(first.metrics.at("step_seconds"), 5.48);
  EXPECT_EQ(first.metrics.at("samples_done"), 800);
  EXPECT_EQ(first.metrics.at("tokens_done"), 800 * 512);
  EXPECT_DOUBLE_EQ(first.metrics.at("gpu_memory_peak_bytes"), 19.87e9);
  EXPECT_DOUBLE_EQ(first.metrics.at("gpu.util"), 0.471);
  EXPECT_EQ(first.metrics.at("gpu.temperature_c"), 61);
  EXPECT_EQ(first.spec.at("model").at("name"), "mistral-7b-instruct");
  EXPECT_EQ(first.spec.at("lora").at("rank"), 16);
  EXPECT_EQ(first.spec.at("steps"), 100);
  EXPECT_EQ(first.spec.at("gradient_accumulation"), 1);
  EXPECT_EQ(first.spec.at("seq_length"), 512);
  EXPECT_EQ(first.spec.at("precision"), "bf16");
  EXPECT_EQ(first.spec.at("price").at("amount"), 0.6);
  EXPECT_FALSE(first.spec.contains("params")) << json::serialize(first.spec);
}

TEST(ImportedResults, UnequalWorkIsAFlagOfTheStudyAndNamesTheVariants) {
  const auto imported =
      import_fixtures(ImportFormat::results, {"results/node1_final.json", "results/node1_unopt_b4_seq1024.json"});
  ASSERT_THAT(imported.runs, SizeIs(2));
  EXPECT_EQ(imported.runs[0].run.variant, "batch_size=8, seq_length=512");
  EXPECT_EQ(imported.runs[1].run.variant, "batch_size=4, seq_length=1024");
  EXPECT_THAT(imported.runs[0].run.tags, ::testing::Not(::testing::Contains("baseline")));
  EXPECT_THAT(imported.runs[1].run.tags, ::testing::Contains("baseline"));
  EXPECT_EQ(imported.runs[1].run.verdict, Verdict::valid) << listed(imported.runs[1].run.flags);
  EXPECT_TRUE(has_flag(imported.study.flags, "unequal_work", "2.12")) << listed(imported.study.flags);
  EXPECT_TRUE(has_flag(imported.study.flags, "unequal_work", "1.06"));
}

TEST(ImportedResults, NodesOutsideTheTolerancesAreFlaggedWithTheirFigures) {
  const auto slow = import_nodes({node_json(1, 1.46), node_json(2, 1.45), node_json(3, 1.47), node_json(4, 1.30)});
  EXPECT_EQ(slow.runs.at(0).run.verdict, Verdict::valid);
  EXPECT_EQ(slow.runs.at(3).run.verdict, Verdict::flagged);
  ASSERT_THAT(slow.runs.at(3).run.flags, SizeIs(1));
  EXPECT_EQ(slow.runs[3].run.flags[0].kind, "outside_tolerance");
  EXPECT_EQ(slow.runs[3].run.flags[0].about, "node4");
  EXPECT_EQ(slow.runs[3].run.flags[0].message, "1.3 samples/s are 10.7 % below the median of 4 nodes, 1.455 (±5 %)");

  const auto full = import_nodes({node_json(1, 1.4), node_json(2, 1.4), node_json(3, 1.4, 20.5)});
  EXPECT_TRUE(has_flag(full.runs.at(2).run.flags, "outside_tolerance", "20.5 GB GPU memory is 3.0 % above"))
      << listed(full.runs.at(2).run.flags);
  const auto hot = import_nodes({node_json(1, 1.4), node_json(2, 1.4), node_json(3, 1.4, 19.9, 71)});
  EXPECT_TRUE(has_flag(hot.runs.at(2).run.flags, "outside_tolerance", "71 °C are 11 °C above the median of 3 nodes"))
      << listed(hot.runs.at(2).run.flags);
}

TEST(ImportedResults, WithinTheTolerancesNobodyIsFlagged) {
  const auto edge = import_nodes({node_json(1, 1.0), node_json(2, 1.0), node_json(3, 1.05, 20.2, 70)});
  EXPECT_EQ(listed(all_flags(edge)), "");
  const auto alone = import_nodes({node_json(1, 1.0)});
  EXPECT_EQ(listed(all_flags(alone)), "");
}

TEST(ImportedResults, OtherSettingsAreNotComparedAsOneFleet) {
  std::string other = node_json(3, 0.7);
  other.replace(other.find("\"batch_size\": 8"), 15, "\"batch_size\": 4");
  const auto imported = import_nodes({node_json(1, 1.4), node_json(2, 1.4), other});
  EXPECT_FALSE(has_flag(all_flags(imported), "outside_tolerance"));
}

TEST(ImportedResults, ConfigurationsOfASuiteAreVariantsAndItsFailuresFailedRuns) {
  const auto imported = import_fixtures(ImportFormat::results, {"results/diagnostic_summary_node1.json"});
  ASSERT_THAT(imported.runs, SizeIs(3));
  EXPECT_EQ(imported.runs[0].run.variant, "baseline");
  EXPECT_EQ(imported.runs[1].run.variant, "shorter");
  const auto& oom = imported.runs[2].run;
  EXPECT_EQ(oom.variant, "no gradient checkpointing");
  EXPECT_EQ(oom.verdict, Verdict::failed);
  ASSERT_TRUE(oom.error);
  EXPECT_EQ(oom.error->kind, ErrorKind::oom);
  EXPECT_EQ(oom.error->message, "CUDA out of memory. Tried to allocate 448.00 MiB");
  EXPECT_FALSE(oom.metrics.contains("samples_done")) << "what was planned is not what was done";
  EXPECT_TRUE(has_flag(oom.flags, "oom"));
}

TEST(ImportedResults, RanksOfOneJobAreOneRun) {
  const auto imported = import_fixtures(
      ImportFormat::results, {"results/node0_world4_batch8_seq512.json", "results/node1_world4_batch8_seq512.json",
                              "results/node2_world4_batch8_seq512.json", "results/node3_world4_batch8_seq512.json"});
  ASSERT_THAT(imported.runs, SizeIs(1)) << "four would pass for four repeats";
  const auto& run = imported.runs[0].run;
  EXPECT_EQ(run.name, "node1,node2,node3,node4");
  EXPECT_EQ(run.variant, "ranks=4, nodes=4");
  EXPECT_EQ(run.ranks, 4);
  EXPECT_EQ(run.nodes, 4);
  EXPECT_EQ(run.metrics.at("samples_per_second"), 5.44) << "the rate of the whole job, not of a rank";
  EXPECT_EQ(run.metrics.at("train_seconds"), 588.24);
  EXPECT_EQ(run.metrics.at("samples_done"), 3200);
  EXPECT_EQ(run.metrics.at("loss"), 1.0213);
  EXPECT_DOUBLE_EQ(run.metrics.at("rank_memory_bytes_max"), 19.91e9);
  EXPECT_EQ(run.spec.at("batch_size"), 8) << "from the file's name";
  EXPECT_EQ(run.spec.at("seq_length"), 512);
  EXPECT_TRUE(has_flag(run.flags, "unmeasured_baseline", "93.15")) << listed(run.flags);
  EXPECT_FALSE(has_flag(run.flags, "missing_ranks"));
}

TEST(ImportedResults, AMissingRankIsFlaggedAndASecondJobIsAnotherRun) {
  const std::string rank0 = fixture("results/node0_world4_batch8_seq512.json");
  const std::string rank1 = fixture("results/node1_world4_batch8_seq512.json");
  const auto two = import_texts(ImportFormat::results, {{"a/node0_world4_batch8_seq512.json", rank0},
                                                        {"a/node1_world4_batch8_seq512.json", rank1},
                                                        {"b/node0_world4_batch8_seq512.json", rank0}});
  ASSERT_THAT(two.runs, SizeIs(2));
  EXPECT_TRUE(has_flag(two.runs[0].run.flags, "missing_ranks", "2 of 4 ranks")) << listed(two.runs[0].run.flags);
  EXPECT_TRUE(has_flag(two.runs[1].run.flags, "missing_ranks", "1 of 4 ranks"));
}

TEST(ImportedResults, TheTwoNodeReportIsCorrected) {
  const auto imported = import_fixtures(ImportFormat::results, {"results/aggregated_results.json"});
  ASSERT_THAT(imported.runs, SizeIs(5));
  const auto& all = imported.runs[0].run;
  EXPECT_EQ(all.name, "coordinated") << "the part of the suite that took as long";
  EXPECT_EQ(all.kind, "serve");
  EXPECT_EQ(all.nodes, 2);
  EXPECT_EQ(all.verdict, Verdict::invalid);
  EXPECT_EQ(all.metrics.at("wall_seconds"), 22.16);
  EXPECT_EQ(all.metrics.at("samples_asked"), 20);
  EXPECT_EQ(all.metrics.at("samples_done"), 15);
  EXPECT_EQ(all.metrics.at("samples_lost"), 5);
  EXPECT_NEAR(all.metrics.at("samples_per_second"), 0.677, 0.0005);
  EXPECT_NEAR(all.metrics.at("mean_latency_seconds"), 0.965, 0.0005);
  EXPECT_NEAR(all.metrics.at("tokens_per_second"), 21.2, 0.05);
  EXPECT_EQ(all.metrics.at("mean_input_tokens"), 66.8);
  EXPECT_EQ(all.metrics.at("mean_output_tokens"), 31.3);
  EXPECT_TRUE(has_flag(all.flags, "lost_samples", "15 of 20"));
  EXPECT_TRUE(has_flag(all.flags, "unmeasured_baseline"));
  EXPECT_TRUE(has_flag(all.flags, "contradiction", "2.05")) << listed(all.flags);

  const auto* a = find_run(imported, "node-a");
  const auto* b = find_run(imported, "node-b");
  ASSERT_TRUE(a && b);
  EXPECT_NEAR(a->metrics.at("samples_per_second"), 0.475, 0.0005);
  EXPECT_NEAR(b->metrics.at("samples_per_second"), 0.228, 0.0005);
  EXPECT_EQ(a->metrics.at("mean_latency_seconds"), 0.936);
  EXPECT_EQ(b->metrics.at("sample_tokens_per_second"), 32.3);
  EXPECT_EQ(b->metrics.at("samples_lost"), 5);
  EXPECT_EQ(b->verdict, Verdict::invalid);
  EXPECT_EQ(a->verdict, Verdict::flagged);
  EXPECT_EQ(a->variant, "coordinated, by node");
  EXPECT_DOUBLE_EQ(a->metrics.at("gpu_memory_peak_bytes"), 15.83e9);
  const auto* latencies = find_series(imported.runs[1], "sample.latency_seconds");
  ASSERT_TRUE(latencies);
  ASSERT_THAT(latencies->points, SizeIs(10));
  EXPECT_DOUBLE_EQ(latencies->points[0].value, 0.8809);
}

TEST(ImportedResults, PartsOfASuiteThatFailedAreFailedRuns) {
  const auto imported = import_fixtures(ImportFormat::results, {"results/aggregated_results.json"});
  const auto* failed = find_run(imported, "datacenter");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->verdict, Verdict::failed);
  EXPECT_EQ(failed->exit_code, 2);
  EXPECT_EQ(failed->metrics.at("duration_seconds"), 0.29);
  EXPECT_EQ(failed->error->kind, ErrorKind::crash);
  EXPECT_THAT(failed->error->message, HasSubstr("unrecognized arguments"));
  EXPECT_THAT(kinds_of(failed->flags), ElementsAre("part_failed"));
  const auto* late = find_run(imported, "distributed");
  ASSERT_TRUE(late);
  EXPECT_EQ(late->error->kind, ErrorKind::timeout);
  EXPECT_EQ(late->metrics.at("duration_seconds"), 600);
  EXPECT_FALSE(late->exit_code);
}

TEST(ImportedResults, TheUsersPriceIsKeptWhereTheFilesHaveNone) {
  const ImportOptions options{.price = Price{1.2, "EUR", "h"}};
  const auto without = import_texts(ImportFormat::results, {{"node1.json", node_json(1, 1.4)}}, options);
  EXPECT_EQ(without.runs.at(0).run.spec.at("price").at("currency"), "EUR");
  EXPECT_EQ(without.runs.at(0).run.spec.at("price").at("per"), "h");
  const auto with = import_fixtures(ImportFormat::results, {"results/node1_final.json"}, options);
  EXPECT_EQ(with.runs.at(0).run.spec.at("price").at("currency"), "USD");
}

TEST(ImportedResults, OneBadFileAmongGoodOnesIsAFlag) {
  const auto imported =
      import_texts(ImportFormat::results, {{"node1.json", node_json(1, 1.4)}, {"broken.json", "{\"performance\": "}});
  EXPECT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(kinds_of(imported.study.flags), ElementsAre("unreadable"));
  EXPECT_EQ(imported.runs[0].run.verdict, Verdict::valid);
}

TEST(ImportedResults, SettingsWithoutOurNameAreParameters) {
  const auto imported = import_texts(
      ImportFormat::results,
      {{"node1.json",
        R"({"config": {"flash": true, "rope.theta": 10000.0, "hub_token": "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
            "lr": "2e-4", "dtype": "bfloat16", "num_gpus": 1}, "performance": {"samples_per_second": 1}})"}});
  const auto& spec = imported.runs.at(0).run.spec;
  EXPECT_EQ(spec.at("params").at("flash"), true);
  EXPECT_EQ(spec.at("params").at("rope.theta"), 10000.0);
  EXPECT_EQ(spec.at("params").at("hub_token"), "[redacted]");
  EXPECT_EQ(spec.at("learning_rate"), 2e-4);
  EXPECT_EQ(spec.at("precision"), "bf16");
}

TEST(NodeResultsImport, LatenciesOfSamplesGivePercentiles) {
  const auto imported = import_texts(
      ImportFormat::results,
      {{"node1_result.json",
        R"({"node": "node1", "samples_requested": 4, "successful_samples": 4, "total_time_seconds": 2, "latencies_ms": [400, 100, 300, 200], "latency_p99_ms": 395})"}});
  const auto& run = imported.runs.at(0).run;
  EXPECT_DOUBLE_EQ(run.metrics.at("latency_p50_seconds"), 0.3);
  EXPECT_DOUBLE_EQ(run.metrics.at("latency_p99_seconds"), 0.395) << "what the file states stays";
  EXPECT_DOUBLE_EQ(run.metrics.at("mean_latency_seconds"), 0.25);
}

}  // namespace
}  // namespace assay
