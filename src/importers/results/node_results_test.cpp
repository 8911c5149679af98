#include "importers/results/node_results.h"

#include <fmt/format.h>

#include <cmath>

#include "importers/text/import_fixture.h"
#include "support/source_tree.h"

namespace assay {
namespace {

using testing::HasSubstr;

NodeResults import_fixtures(const std::vector<std::string>& names, const std::optional<Price>& price = {}) {
  std::vector<std::string> texts;
  std::vector<NamedText> files;
  texts.reserve(names.size());
  for (const auto& name : names) {
    texts.push_back(fixture("results/" + name));
    files.push_back({name, texts.back()});
  }
  auto results = import_node_results(files, price);
  EXPECT_TRUE(results.ok());
  return results ? std::move(results).value() : NodeResults{};
}

NodeResults import_node(std::string_view text, const std::string& name = "node7_final.json",
                        const std::optional<Price>& price = {}) {
  const NamedText file{name, text};
  auto results = import_node_results(std::span(&file, 1), price);
  EXPECT_TRUE(results.ok()) << (results ? "" : results.error().text());
  return results ? std::move(results).value() : NodeResults{};
}

std::string error_of(std::string_view text) {
  const auto results = parse_node_results(text, "x.json");
  EXPECT_FALSE(results.ok());
  return results ? std::string() : results.error().text();
}

TEST(NodeResults, GoldenFiguresOfFourNodes) {
  const auto results =
      import_fixtures({"node1_final.json", "node2_final.json", "node3_final.json", "node4_final.json"});
  EXPECT_EQ(listed(results.flags), "");
  ASSERT_EQ(results.nodes.size(), 4u);
  double sum = 0;
  double squares = 0;
  for (const auto& node : results.nodes) {
    sum += node.samples_per_second->value;
    squares += node.samples_per_second->value * node.samples_per_second->value;
  }
  const double mean = sum / 4;
  EXPECT_EQ(fmt::format("{:.2f} %", 100 * std::sqrt((squares - 4 * mean * mean) / 3) / mean), "0.89 %");
  for (const auto& node : results.nodes) EXPECT_LT(std::abs(node.samples_per_second->value / 1.455 - 1), 0.05);

  const NodeResult& first = results.nodes.front();
  EXPECT_EQ(first.node, "node1");
  EXPECT_EQ(first.kind, NodeResultKind::training);
  EXPECT_EQ(first.tokens_per_second->value, 748);
  EXPECT_EQ(first.memory_peak_gb->value, 19.87);
  EXPECT_EQ(first.gpu_utilisation_percent->value, 47.1);
  EXPECT_EQ(first.temperature_c->value, 61);
  EXPECT_EQ(first.speedup_claimed->value, 2.12);
  EXPECT_EQ(first.settings.at("optimizer"), "paged_adamw_8bit");
  EXPECT_EQ(first.settings.at("lora_rank"), "16");
  EXPECT_EQ(samples_done_by(first), 800);
  EXPECT_NEAR(*samples_per_second_over_run(first), 1.46, 0.001);
}

TEST(NodeResults, GoldenFiguresPerSampleAndPerToken) {
  const auto results = import_fixtures({"node1_final.json", "node1_unopt_b4_seq1024.json"});
  EXPECT_EQ(listed(results.flags),
            "unequal_work | node1 (node1_unopt_b4_seq1024.json) | a sample has 1024 tokens here and 512 in node1 "
            "(node1_final.json): the ratio of 1.46 to 0.69 samples/s is 2.12, that of 748 to 707 tokens/s is 1.06\n");
  const auto cost = [](const NodeResult& node, double price) { return price / 3.6 / node.samples_per_second->value; };
  const auto& after = results.nodes[0];
  const auto& before = results.nodes[1];
  EXPECT_EQ(fmt::format("{:.3f} {:.3f} {:.3f}", cost(after, 0.60), cost(before, 0.60), cost(after, 0.18)),
            "0.114 0.242 0.034");
  EXPECT_EQ(fmt::format("{:.0f} %", 100 * (1 - cost(after, 0.60) / cost(before, 0.60))), "53 %");
  const auto per_million = [](const NodeResult& node) { return 0.60 / 3600 / node.tokens_per_second->value * 1e6; };
  EXPECT_EQ(fmt::format("{:.3f} {:.3f}", per_million(after), per_million(before)), "0.223 0.236");
  EXPECT_EQ(after.cost_per_1000_samples_usd->value, 0.114);
  EXPECT_EQ(before.cost_per_1000_samples_usd->value, 0.242);
}

TEST(NodeResults, GoldenFiguresOfTheTwoNodeReport) {
  const auto results = import_fixtures({"aggregated_results.json"});
  ASSERT_EQ(results.nodes.size(), 2u);
  ASSERT_EQ(results.summaries.size(), 1u);
  const auto& summary = results.summaries.front();
  EXPECT_EQ(samples_done_by(results.nodes), 15);
  EXPECT_EQ(samples_asked_of(results.nodes), 20);
  const double rate = 15 / summary.wall_clock_seconds->value;
  EXPECT_EQ(fmt::format("{:.3f} {:.3f} {:.3f}", rate, *samples_per_second_over_run(results.nodes[0]),
                        *samples_per_second_over_run(results.nodes[1])),
            "0.677 0.475 0.228");
  EXPECT_EQ(fmt::format("{:.0f} ms", *mean_latency_ms_of(results.nodes)), "965 ms");
  EXPECT_EQ(fmt::format("{:.1f}", rate * summary.mean_output_tokens->value), "21.2");
  EXPECT_EQ(summary.max_output_tokens, 32);
  EXPECT_EQ(results.nodes[1].latencies_ms.size(), 5u);

  EXPECT_EQ(
      listed(results.flags),
      "contradiction | node-a (aggregated_results.json) | states 1.07 samples/s, but 10 samples in 21.04 s are 0.4753 "
      "samples/s; the stated rate is the inverse of the mean latency of 936 ms\n"
      "lost_samples | node-b (aggregated_results.json) | 5 of 10 samples done; 5 lost, 50 % of its share\n"
      "contradiction | node-b (aggregated_results.json) | states a loss of 25 %, but 5 of 10 samples are 50 %\n"
      "contradiction | node-b (aggregated_results.json) | states 0.98 samples/s, but 5 samples in 21.89 s are 0.2284 "
      "samples/s; the stated rate is the inverse of the mean latency of 1024 ms\n"
      "contradiction | aggregated_results.json | states 0 failures, but 5 of 20 samples are missing\n"
      "contradiction | aggregated_results.json | states a success rate of 100 %, but 15 of 20 samples are 75 %\n"
      "contradiction | aggregated_results.json | states a mean latency of 980 ms, but the mean over all samples is "
      "965.33 ms\n"
      "contradiction | aggregated_results.json | states 2.05 samples/s, but 15 samples in 22.16 s are 0.6769\n"
      "contradiction | aggregated_results.json | states 66.8 tokens/s, but 15 samples of 31.3 tokens in 22.16 s are "
      "21.187\n"
      "unmeasured_baseline | aggregated_results.json | claims 102.5 % scaling efficiency, but the 1 samples/s it is "
      "based on were not measured\n"
      "unsupported_claim | aggregated_results.json | claims 49.8 % memory efficiency, but no memory capacity is given\n"
      "part_failed | datacenter | status 'failed', exit code 2, after 0.29 s: error: unrecognized arguments: "
      "--scenario\n"
      "part_failed | distributed | status 'timeout', after 600 s: no answer from rank 1 within 10 min\n");
}

TEST(NodeResults, DistributedRanksAreOneJob) {
  const std::vector<std::string> ranks = {"node0_world4_batch8_seq512.json", "node1_world4_batch8_seq512.json",
                                          "node2_world4_batch8_seq512.json", "node3_world4_batch8_seq512.json"};
  const auto results = import_fixtures(ranks, Price{0.60, "USD", "GPUh"});
  ASSERT_EQ(results.nodes.size(), 4u);
  EXPECT_EQ(results.nodes[3].kind, NodeResultKind::distributed);
  EXPECT_EQ(results.nodes[3].rank, 3);
  EXPECT_EQ(results.nodes[3].gpus, 4);
  EXPECT_EQ(results.nodes[3].train_loss, 1.0213);
  EXPECT_EQ(
      listed(results.flags),
      "unmeasured_baseline | node1 (node0_world4_batch8_seq512.json) | claims 93.15 % scaling efficiency, but no run "
      "on one GPU with the same work was imported\n");
  // With the run on one GPU beside it the claim can be checked, and holds.
  auto with_baseline = ranks;
  with_baseline.push_back("node1_final.json");
  EXPECT_EQ(listed(import_fixtures(with_baseline).flags), "");
  // At another price the stated costs are wrong.
  const auto dear = import_fixtures({ranks.front()}, Price{1.20, "USD", "GPUh"});
  EXPECT_TRUE(has_flag(dear.flags, "contradiction",
                       "states $0.3922 in all, but 588.24 s on 4 GPUs at $1.2 an hour cost $0.7843"))
      << listed(dear.flags);
  EXPECT_TRUE(has_flag(dear.flags, "contradiction", "states $0.1225 per 1,000 samples"));
}

TEST(NodeResults, DiagnosticSuitesKeepTheirFailures) {
  const auto results = import_fixtures({"diagnostic_summary_node1.json"});
  ASSERT_EQ(results.nodes.size(), 3u);
  EXPECT_EQ(results.nodes[0].node, "node1");
  EXPECT_EQ(results.nodes[1].configuration, "shorter");
  EXPECT_EQ(results.nodes[2].status, "oom");
  EXPECT_TRUE(has_flag(results.flags, "oom", "CUDA out of memory. Tried to allocate 448.00 MiB"));
  EXPECT_TRUE(has_flag(results.flags, "unequal_work", "is 0.53, that of 707 to 666 tokens/s is 1.06"))
      << listed(results.flags);
  EXPECT_EQ(results.flags.size(), 2u) << listed(results.flags);
}

TEST(NodeResults, ContradictionsOfATrainingNode) {
  const auto results = import_node(R"({"config": {"batch_size": 8, "seq_length": 512, "max_steps": 100},
    "performance": {"samples_per_second": 2.0, "tokens_per_second": 748, "total_train_time_seconds": 547.95,
                    "seconds_per_step": 4.0},
    "cost": {"price_per_gpu_hour_usd": 0.60, "cost_per_1000_samples_usd": 0.2}})");
  EXPECT_EQ(results.nodes.front().node, "node7");
  EXPECT_EQ(
      listed(results.flags),
      "contradiction | node7 (node7_final.json) | states 2 samples/s, but 800 samples in 547.95 s are 1.46 samples/s\n"
      "contradiction | node7 (node7_final.json) | states 748 tokens/s, but 2 samples/s of 512 tokens are 1024\n"
      "contradiction | node7 (node7_final.json) | states 4 s per step, but 547.95 s over 100 steps are 5.4795\n"
      "contradiction | node7 (node7_final.json) | states $0.2 per 1,000 samples, but 2 samples/s on 1 GPU at $0.6 an "
      "hour cost $0.08333\n");
}

TEST(NodeResults, ContradictionsOfAnInferenceNode) {
  const auto results =
      import_node(R"({"node_name": "b", "total_samples": 3, "successful_samples": 2, "failed_samples": 0,
    "average_time_per_sample_ms": 500, "latencies_ms": [100, 200, 300], "latency_p99_ms": 900,
    "average_tokens_per_second": 5, "output_tokens": [1, 2, 3]})");
  EXPECT_TRUE(has_flag(results.flags, "contradiction", "0 failed samples, but 1 are missing")) << listed(results.flags);
  EXPECT_TRUE(has_flag(results.flags, "contradiction", "a mean latency of 500 ms, but its 3 samples have 200 ms"));
  EXPECT_TRUE(has_flag(results.flags, "contradiction", "2 samples done, but lists 3 latencies"));
  EXPECT_TRUE(has_flag(results.flags, "contradiction", "a 99th percentile of 900 ms"));
  EXPECT_TRUE(has_flag(results.flags, "contradiction", "5 tokens/s, but its samples were generated at 10"));
  EXPECT_TRUE(has_flag(import_node(R"({"successful_samples": 5, "total_samples": 3})").flags, "contradiction",
                       "5 samples done, but only 3 were asked for"));
}

TEST(NodeResults, ANodeThatOnlyFailedCountsAsNothingDone) {
  const auto results = import_node(R"({"total_samples": 20, "total_time_seconds": 10, "success_rate_percent": 100,
    "node_results": {"a": {"successful_samples": 10, "total_samples": 10}, "b": {"error": "Process failed with code 1"}}})");
  EXPECT_TRUE(has_flag(results.flags, "failed", "Process failed with code 1")) << listed(results.flags);
  EXPECT_TRUE(has_flag(results.flags, "contradiction", "10 of 20 samples are 50 %"));
}

TEST(NodeResults, LengthsFromRatesAreNotSplitByRounding) {
  const auto results = import_node(R"([{"performance": {"samples_per_second": 1.46, "tokens_per_second": 748}},
    {"performance": {"samples_per_second": 1.47, "tokens_per_second": 752}}])");
  EXPECT_EQ(results.nodes.size(), 2u);
  EXPECT_EQ(listed(results.flags), "");
}

TEST(NodeResults, PythonsWordsForNumbersAreLeftOut) {
  const auto results = import_node(R"({"performance": {"samples_per_second": NaN, "tokens_per_second": -Infinity},
    "note": "NaN in a \"string\" is text", "train_loss": Infinity})");
  EXPECT_EQ(results.nodes.front().samples_per_second, std::nullopt);
  EXPECT_TRUE(has_flag(results.flags, "non_finite", "3 figures"));
}

TEST(NodeResults, WrongTypesAreTakenAsAbsent) {
  const auto results = import_node(R"({"performance": {"samples_per_second": "fast", "tokens_per_second": [1]},
    "config": {"batch_size": -4, "max_steps": 1.5, "nested": {"a": 1}}, "node_id": 3, "error": null})");
  const NodeResult& node = results.nodes.front();
  EXPECT_EQ(node.node, "node3");
  EXPECT_EQ(node.samples_per_second, std::nullopt);
  EXPECT_EQ(node.batch_size, std::nullopt);
  EXPECT_EQ(node.steps, std::nullopt);
  EXPECT_FALSE(node.settings.contains("nested"));
  EXPECT_EQ(listed(results.flags), "");
}

TEST(NodeResults, FilesThatAreNone) {
  EXPECT_THAT(error_of(""), HasSubstr("reading 'x.json': the file is empty"));
  EXPECT_THAT(error_of("{"), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(error_of("{} trailing"), HasSubstr("extra text"));
  EXPECT_THAT(error_of("{\"a\": 1}"), HasSubstr("no result of a benchmark is in it"));
  EXPECT_THAT(error_of("[1, 2]"), HasSubstr("no result"));
  EXPECT_THAT(error_of("3"), HasSubstr("no result"));
  EXPECT_THAT(error_of(std::string_view("\xFF\xFE{\0}\0", 6)), HasSubstr("UTF-16"));
  EXPECT_THAT(error_of("{\"a\": \"\xE9\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(std::string(100, '[')), HasSubstr("not valid JSON"));

  const std::vector<NamedText> files = {{"bad.json", "{"}, {"good.json", "{\"performance\": {}}"}};
  const auto results = import_node_results(files);
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE(has_flag(results->flags, "unreadable", "bad.json"));
}

TEST(NodeResults, CutAtEveryByteIsAnError) {
  for (const auto* name : {"aggregated_results.json", "node1_final.json", "diagnostic_summary_node1.json"}) {
    const std::string text = fixture(std::string("results/") + name);
    for (std::size_t length = 0; length + 2 < text.size(); ++length) {
      const auto results = parse_node_results(text.substr(0, length), name);
      ASSERT_FALSE(results.ok()) << length;
      ASSERT_EQ(results.error().kind, ErrorKind::bad_file);
    }
  }
}

}  // namespace
}  // namespace assay
