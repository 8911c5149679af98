#include "report/build/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/files.h"
#include "report/build/issue_rules.h"
#include "report/build/recorded_fixture.h"
#include "report/build/sections.h"
#include "report/render.h"
#include "report/text/style.h"
#include "support/generated_page.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

std::string paragraphs_of(const Document& document, std::string_view section_id) {
  std::string text;
  for (const auto& section : document.sections) {
    if (section.id != section_id) continue;
    for (const auto& block : section.blocks) {
      if (const auto* paragraph = std::get_if<Paragraph>(&block)) text += paragraph->text + "\n";
    }
  }
  return text;
}

TEST(Report, TheScalingGuidesFiguresAreReproducedToTheDigit) {
  const Document document = report_on(scaling_input());
  EXPECT_THAT(column_of(document, "scaling", "configuration"),
              ElementsAre("Single GPU", "4 GPUs (1 node)", "8 GPUs (2 nodes)"));
  EXPECT_THAT(column_of(document, "scaling", "time_s"), ElementsAre("362.45", "95.23", "57.14"));
  EXPECT_THAT(column_of(document, "scaling", "time_per_epoch_s"), ElementsAre("7.25", "1.90", "1.14"));
  EXPECT_THAT(column_of(document, "scaling", "val_loss"), ElementsAre("0.1187", "0.1192", "0.1190"));
  EXPECT_THAT(column_of(document, "scaling", "val_acc"), ElementsAre("0.9530", "0.9525", "0.9527"));
  EXPECT_THAT(column_of(document, "speedup_table", "speedup"), ElementsAre("1.00", "3.81", "6.34"));
  EXPECT_THAT(column_of(document, "speedup_table", "efficiency_percent"), ElementsAre("100.0", "95.2", "79.3"));
  EXPECT_THAT(column_of(document, "speedup_table", "throughput_samples_per_s"),
              ElementsAre("1379.5", "5250.4", "8750.4"));
  EXPECT_THAT(column_of(document, "speedup_table", "effective_batch"), ElementsAre("32", "128", "256"));
  EXPECT_THAT(column_of(document, "speedup_table", "verdict"), ElementsAre("baseline", "excellent", "good"));
  EXPECT_THAT(
      paragraphs_of(document, "summary"),
      HasSubstr("Single GPU 6.0 min · 4 GPUs (1 node) 1.6 min, 3.8× (95 %) · 8 GPUs (2 nodes) 1.0 min, 6.3× (79 %)"));
  EXPECT_NE(find_chart(document, "speedup"), nullptr);
  EXPECT_NE(find_chart(document, "efficiency"), nullptr);
}

TEST(Report, TheGoldenFiguresStandInEveryFormat) {
  const Document document = report_on(scaling_input());
  const std::string texts[] = {render_terminal(document, {.width = 160}), render_markdown(document),
                               render_html(document), *render_csv(document, ""),
                               json::serialize(render_json(document))};
  for (const auto& text : texts) {
    for (const char* figure : {"362.45", "95.23", "57.14", "3.81", "6.34", "95.2", "79.3", "7.25", "8750.4"}) {
      EXPECT_THAT(text, HasSubstr(figure)) << text.substr(0, 200);
    }
  }
}

TEST(Report, WithoutARunOnOneRankThereIsNoSpeedUp) {
  ReportInput input = scaling_input();
  input.runs.erase(input.runs.begin());
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "speedup_table", "speedup"), ElementsAre("", ""));
  EXPECT_THAT(column_of(document, "speedup_table", "verdict"), ElementsAre("no baseline", "no baseline"));
  EXPECT_EQ(find_chart(document, "speedup"), nullptr);
}

TEST(Report, AChosenBaselineIsUsed) {
  ReportInput input = scaling_input();
  input.runs.erase(input.runs.begin());
  input.options.baseline = "ranks=4";
  EXPECT_THAT(column_of(report_on(input), "speedup_table", "verdict"), ElementsAre("baseline", Not("no baseline")));
}

TEST(Report, SizesThatDifferInMoreThanTheirSizeAreNotComparable) {
  ReportInput input = scaling_input();
  input.runs[2].run.spec["precision"] = "bf16";
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "speedup_table", "verdict"), ElementsAre("baseline", "excellent", "not comparable"));
  EXPECT_THAT(issue_rules_in(document), Contains("not_comparable"));
}

TEST(Report, WhatALogLeavesOutIsNoDifference) {
  ReportInput input = scaling_input();
  input.runs[0].run.spec["driver"] = "550";
  EXPECT_THAT(column_of(report_on(input), "speedup_table", "verdict"), Contains("not comparable"));
  for (auto& one : input.runs) one.run.tags = {"imported"};
  EXPECT_THAT(column_of(report_on(input), "speedup_table", "verdict"), ElementsAre("baseline", "excellent", "good"));
}

TEST(Report, SingleReadingsTellNeitherPeakNorEnergy) {
  ReportInput input{.title = "x"};
  input.runs.push_back(finished_run("a", {{"duration_seconds", 100}, {"samples_done", 10}}));
  auto& run = input.runs[0].run;
  run.provenance.gpus = {{"GPU-1", "NVIDIA A100", 80'000'000'000}};
  run.series = {{.name = "gpu.memory_used_bytes", .points = 9, .max = 1e9, .mean = 1e9},
                {.name = "gpu.power_w", .points = 9, .max = 100, .mean = 100}};
  EXPECT_THAT(issue_rules_in(report_on(input)), Not(Contains("memory_headroom")));
  EXPECT_EQ(find_table(report_on(input), "energy"), nullptr);
  for (auto& series : run.series) series.points = 10;
  EXPECT_THAT(issue_rules_in(report_on(input)), Contains("memory_headroom"));
  EXPECT_THAT(column_of(report_on(input), "energy", "joules_per_sample"), ElementsAre("1000.0"));
}

TEST(Report, AnInvalidSizeIsListedWithItsMarkAndUsedForNothing) {
  ReportInput input = scaling_input();
  input.runs[2].run.verdict = Verdict::invalid;
  input.runs[2].run.flags = {{"oversubscribed", "ranks", "more ranks than cores"}};
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "speedup_table", "speedup"), ElementsAre("1.00", "3.81"));
  EXPECT_THAT(column_of(document, "scaling", "time_s"), ElementsAre("362.45", "95.23", ""));
  EXPECT_THAT(column_of(document, "scaling", "verdict"), ElementsAre("valid", "valid", "invalid"));
  EXPECT_THAT(column_of(document, "runs", "verdict"), ElementsAre("valid", "valid", "invalid"));
  EXPECT_THAT(issue_rules_in(document), Contains("invalid_run"));
  EXPECT_EQ(document.verdict, "2 of 3 runs valid, 1 invalid");
}

TEST(Report, UnequalWorkIsComparedByRates) {
  ReportInput input = scaling_input();
  for (std::size_t i = 0; i < 3; ++i) {
    auto& run = input.runs[i].run;
    run.spec.erase("epochs");
    run.metrics.erase("epochs_done");
    run.metrics["samples_done"] = 1000.0 * run.ranks;
    run.metrics["train_seconds"] = 10;
    run.metrics["samples_per_second"] = 100.0 * run.ranks;
  }
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "speedup_table", "speedup"), ElementsAre("1.00", "4.00", "8.00"));
  EXPECT_THAT(column_of(document, "speedup_table", "efficiency_percent"), ElementsAre("100.0", "100.0", "100.0"));
}

TEST(Report, ASweepOverSizesHasOneCurvePerValue) {
  ReportInput input{.title = "sweep"};
  for (const int batch : {32, 64}) {
    for (const int ranks : {1, 2}) {
      RecordedRun one = sized_run(fmt::format("b{}r{}", batch, ranks), ranks, 1,
                                  {{"train_seconds", 100.0 / ranks}, {"samples_done", 1000}});
      one.run.variant = fmt::format("batch_size={}, ranks={}", batch, ranks);
      one.run.spec["batch_size"] = batch;
      input.runs.push_back(std::move(one));
    }
  }
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "speedup_table", "speedup"), ElementsAre("1.00", "2.00"));
  EXPECT_THAT(column_of(document, "speedup_table_2", "speedup"), ElementsAre("1.00", "2.00"));
  ASSERT_NE(find_chart(document, "speedup"), nullptr);
  const auto& chart = std::get<XyChart>(find_chart(document, "speedup")->chart);
  EXPECT_EQ(chart.series[0].name, "batch_size=32");
  EXPECT_EQ(chart.series[1].name, "batch_size=64");
}

TEST(Report, HalfAsLongSamplesAreTwiceAsFastPerSampleOnly) {
  ReportInput input{.title = "llm"};
  input.runs.push_back(variant_run("a", "baseline", 0.69, 1024));
  input.runs.push_back(variant_run("b", "shorter", 1.46, 512));
  input.options.price = Price{0.60, "USD", "GPUh"};
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "matrix", "gain_per_sample"), ElementsAre("1.00", "2.12"));
  EXPECT_THAT(column_of(document, "matrix", "gain_per_token"), ElementsAre("1.00", "1.06"));
  EXPECT_THAT(column_of(document, "matrix", "tokens_per_second"), ElementsAre("707", "748"));
  EXPECT_THAT(column_of(document, "matrix", "verdict"), ElementsAre("baseline", "too few repeats to say (per token)"));
  EXPECT_THAT(issue_rules_in(document), Contains("unequal_work"));
  EXPECT_THAT(column_of(document, "cost", "per_1000_samples"), ElementsAre("$0.242", "$0.114"));
  EXPECT_THAT(column_of(document, "cost", "per_1000_samples_saving"), ElementsAre("", "53 % less"));
  EXPECT_THAT(column_of(document, "cost", "per_million_tokens"), ElementsAre("$0.236", "$0.223"));
  EXPECT_THAT(column_of(document, "cost", "per_million_tokens_saving"), ElementsAre("", "5.5 % less"));
}

TEST(Report, ARunWithTheTagIsTheBaseline) {
  ReportInput input{.title = "llm"};
  input.runs.push_back(variant_run("b", "shorter", 1.46, 512));
  input.runs.push_back(variant_run("a", "longer", 0.69, 1024));
  EXPECT_THAT(column_of(report_on(input), "matrix", "configuration"), ElementsAre("shorter", "longer"));
  input.runs[1].run.tags = {"baseline"};
  EXPECT_THAT(column_of(report_on(input), "matrix", "configuration"), ElementsAre("longer", "shorter"));
}

TEST(Report, AProductionJobIsPriced) {
  ReportInput input{.title = "llm"};
  input.runs.push_back(variant_run("a", "baseline", 0.69, 1024));
  input.runs.push_back(variant_run("b", "shorter", 1.46, 512));
  input.options = {.price = Price{0.60, "USD", "GPUh"}, .production_samples = 10'000};
  EXPECT_THAT(column_of(report_on(input), "cost", "production_job"), ElementsAre("$2.42", "$1.14"));
}

TEST(Report, NoSignificantDifferenceIsSaid) {
  ReportInput input{.title = "llm"};
  for (int i = 0; i < 6; ++i) {
    input.runs.push_back(variant_run(fmt::format("a{}", i), "baseline", 100 + i % 3, 512));
    input.runs.push_back(variant_run(fmt::format("b{}", i), "other", 100 + (i + 1) % 3, 512));
    input.runs.back().run.spec["optimizer"] = "adamw";
  }
  EXPECT_THAT(column_of(report_on(input), "matrix", "verdict"), ElementsAre("baseline", "no significant difference"));
}

TEST(Report, WhatCouldNotBeToldApartIsNotWhatHurt) {
  ReportInput input{.title = "llm"};
  for (int i = 0; i < 6; ++i) {
    const auto add = [&](const char* variant, double speed, const char* optimizer) {
      input.runs.push_back(variant_run(fmt::format("{}{}", variant, i), variant, speed, 512));
      input.runs.back().run.spec["optimizer"] = optimizer;
    };
    add("baseline", 100 + i % 3, "adam");
    add("same", 100 + (i + 1) % 3, "adamw");
    add("faster", 150 + i % 3, "sgd");
    add("slower", 50 + i % 3, "lion");
    add("broken", 0, "lamb");
    input.runs.back().run.metrics.clear();
    input.runs.back().run.verdict = Verdict::failed;
    input.runs.back().run.error = RunError{ErrorKind::nan, "the loss is NaN", ""};
  }
  const auto facts = facts_in(report_on(input), "matrix_outcome");
  EXPECT_THAT(facts, Contains(Pair("Faster", "faster")));
  EXPECT_THAT(facts, Contains(Pair("Slower", "slower")));
  EXPECT_THAT(facts, Contains(Pair("No difference that could be told", "same")));
  EXPECT_THAT(facts, Contains(Pair("Failed", "broken (nan: the loss is NaN)")));
}

TEST(Report, AFailedConfigurationSaysWhy) {
  ReportInput input{.title = "llm"};
  input.runs.push_back(variant_run("a", "baseline", 1, 512));
  RecordedRun failed = variant_run("b", "bigger", 0, 512);
  failed.run.metrics.clear();
  failed.run.spec["batch_size"] = 64;
  failed.run.verdict = Verdict::failed;
  failed.run.error = RunError{ErrorKind::oom, "CUDA out of memory", "use batch_size 24"};
  input.runs.push_back(std::move(failed));
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "matrix", "verdict"), ElementsAre("baseline", "oom"));
  const auto issues = findings_in(document, "issues");
  ASSERT_FALSE(issues.empty());
  EXPECT_EQ(issues.front().rule, "out_of_memory");
  EXPECT_EQ(issues.front().remedy, "use batch_size 24");
}

TEST(Report, NodesBesideEachOther) {
  ReportInput input{.title = "nodes"};
  int node = 0;
  for (const double rate : {1.46, 1.45, 1.47, 1.44}) {
    input.runs.push_back(finished_run(fmt::format("n{}", ++node), {{"samples_per_second", rate}}));
    input.runs.back().run.provenance.hostname = fmt::format("node{}", node);
  }
  const Document document = report_on(input);
  EXPECT_THAT(paragraphs_of(document, "summary"),
              HasSubstr("4 nodes, coefficient of variation 0.89 %: all within tolerance."));
  EXPECT_THAT(column_of(document, "nodes", "samples_per_second"), ElementsAre("1.46", "1.45", "1.47", "1.44"));
  EXPECT_THAT(issue_rules_in(document), Not(Contains("node_outside_tolerance")));

  input.runs[3].run.metrics["samples_per_second"] = 1.2;
  EXPECT_THAT(issue_rules_in(report_on(input)), Contains("node_outside_tolerance"));
}

ReportInput two_serving_nodes() {
  ReportInput input{.title = "mlperf"};
  const auto add = [&](std::string host, double done, double rate, double latency_ms, double tokens, double seconds) {
    RecordedRun one = finished_run(host, {{"samples_asked", 10},
                                          {"samples_done", done},
                                          {"stated_samples_per_second", rate},
                                          {"mean_latency_seconds", latency_ms / 1000},
                                          {"sample_tokens_per_second", tokens},
                                          {"duration_seconds", seconds},
                                          {"wall_seconds", 22.16},
                                          {"mean_output_tokens", 31.3},
                                          {"mean_input_tokens", 66.8}});
    one.run.kind = "serve";
    one.run.provenance.hostname = std::move(host);
    one.run.spec = {{"kind", "serve"}};
    input.runs.push_back(std::move(one));
  };
  add("A", 10, 1.07, 936, 34.5, 21.04);
  add("B", 5, 0.98, 1024, 32.3, 21.89);
  return input;
}

TEST(Report, TheTwoNodeReportIsCorrected) {
  const Document document = report_on(two_serving_nodes());
  EXPECT_THAT(column_of(document, "serving_total", "value"),
              ElementsAre("15 of 20 (75 %)", "0.677 samples/s", "965 ms", "21.2 tok/s", "66.8 in + 31.3 out = 98.1",
                          "88 ms", "9.2 %", "6.6 %"));
  EXPECT_THAT(column_of(document, "serving_nodes", "samples_per_second"), ElementsAre("0.475", "0.228"));
  EXPECT_THAT(column_of(document, "serving_nodes", "lost"), ElementsAre("0", "5"));
  EXPECT_THAT(paragraphs_of(document, "serving"), HasSubstr("MLPerf: INVALID"));
  const auto rules = issue_rules_in(document);
  for (const char* rule : {"lost_samples", "latency_spread", "throughput_imbalance", "uneven_distribution"})
    EXPECT_THAT(rules, Contains(rule));
  EXPECT_THAT(render_markdown(document), Not(HasSubstr("102.5")));
}

TEST(Report, PartsOfASuiteAreListedWithCodeDurationAndLastError) {
  ReportInput input = two_serving_nodes();
  RecordedRun part = finished_run("part", {});
  part.run.name = "datacenter";
  part.run.verdict = Verdict::failed;
  part.run.error = RunError{ErrorKind::crash, "No module named mlperf_loadgen", ""};
  part.run.exit_code = 2;
  part.run.duration = std::chrono::milliseconds(290);
  input.runs.push_back(part);
  part.run.id = "part2";
  part.run.name = "distributed";
  part.run.error = RunError{ErrorKind::timeout, "timed out after 10 min", ""};
  part.run.exit_code.reset();
  part.run.duration = std::chrono::minutes(10);
  input.runs.push_back(part);
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "runs", "exit"), ElementsAre("", "", "2", ""));
  EXPECT_THAT(column_of(document, "runs", "duration_s"), ElementsAre("21.04", "21.89", "0.290", "600.00"));
  EXPECT_THAT(column_of(document, "runs", "last_error"), Contains("No module named mlperf_loadgen"));
  const auto rules = issue_rules_in(document);
  EXPECT_THAT(rules, Contains("failed_set_up"));
  EXPECT_THAT(rules, Contains("timed_out"));
}

TEST(Report, ResourcesOfSeveralNodesAreShownForEach) {
  ReportInput input{.title = "x"};
  input.runs.push_back(finished_run("a", {}));
  auto& series = input.runs.back().run.series;
  for (const auto& [node, busy] : {std::pair("gpu01", 0.75), {"gpu02", 0.25}}) {
    series.push_back({.name = "gpu.util",
                      .labels = {{"gpu", "GPU-1"}, {"node", node}},
                      .unit = "ratio",
                      .points = 2,
                      .max = busy,
                      .mean = busy});
  }
  EXPECT_THAT(column_of(report_on(input), "resources", "name"), ElementsAre("bench", "bench, gpu01", "bench, gpu02"));
  EXPECT_THAT(column_of(report_on(input), "resources", "gpu.util"), ElementsAre("50% (75%)", "75% (75%)", "25% (25%)"));
  for (auto& one : series) one.labels.erase("node");
  EXPECT_THAT(column_of(report_on(input), "resources", "name"), ElementsAre("bench"));
}

TEST(Report, AGpuThatIsHeldDownIsNamed) {
  const auto readings = [](const char* gpu, const char* reason, double share, std::int64_t points = 10) {
    return SeriesSummary{.name = "gpu.throttle",
                         .labels = {{"gpu", gpu}, {"node", "gpu02"}, {"reason", reason}},
                         .points = points,
                         .max = 1,
                         .mean = share};
  };
  const auto issues_with = [](std::vector<SeriesSummary> series) {
    ReportInput input{.title = "x"};
    input.runs.push_back(finished_run("a", {}));
    input.runs.back().run.series = std::move(series);
    return report_on(input);
  };
  const auto hot = issues_with({readings("GPU-1", "hw_thermal", 0), readings("GPU-2", "hw_thermal", 0.2)});
  EXPECT_THAT(issue_rules_in(hot), Contains("throttling"));
  EXPECT_THAT(render_markdown(hot), HasSubstr("GPU-2 of gpu02 were held down in 20 % of its readings (hw_thermal)"));
  EXPECT_THAT(issue_rules_in(issues_with({readings("GPU-1", "hw_thermal", 1, 9)})), Not(Contains("throttling")))
      << "too few readings";
  EXPECT_THAT(issue_rules_in(issues_with({readings("GPU-1", "idle", 1)})), Not(Contains("throttling")));

  const auto capped = issues_with(
      {readings("GPU-1", "sw_power", 0.3), readings("GPU-2", "sw_power", 0.4), readings("GPU-3", "sw_power", 0.9)});
  EXPECT_THAT(issue_rules_in(capped), Contains("power_capped_gpu"));
  EXPECT_THAT(render_markdown(capped), HasSubstr("GPU-3 of gpu02 was at its power limit in 90 %"));
  for (const double share : {0.3, 0.9}) {
    EXPECT_THAT(
        issue_rules_in(issues_with({readings("GPU-1", "sw_power", share), readings("GPU-2", "sw_power", share)})),
        Not(Contains("power_capped_gpu")))
        << "all alike";
  }
  EXPECT_THAT(issue_rules_in(issues_with({readings("GPU-1", "sw_power", 1)})), Not(Contains("power_capped_gpu")));
}

TEST(Report, IssuesOfResourcesHaveTheirRules) {
  struct Case {
    const char* rule;
    std::map<std::string, double> metrics;
    std::vector<SeriesSummary> series;
  };
  const Case cases[] = {
      {"input_wait", {{"input_wait_share", 0.11}}, {}},
      {"throttling", {{"gpu.throttled_seconds", 2}, {"duration_seconds", 100}}, {}},
      {"hot_gpu", {}, {{.name = "gpu.temperature_c", .points = 2, .max = 85, .mean = 80}}},
      {"low_gpu_utilisation", {}, {{.name = "gpu.util", .points = 2, .max = 1, .mean = 0.49}}},
      {"memory_headroom", {{"gpu_memory_peak_bytes", 50e9}}, {}},
  };
  const Case harmless[] = {
      {"input_wait", {{"input_wait_share", 0.10}}, {}},
      {"throttling", {{"gpu.throttled_seconds", 1}, {"duration_seconds", 100}}, {}},
      {"hot_gpu", {}, {{.name = "gpu.temperature_c", .points = 2, .max = 84, .mean = 80}}},
      {"low_gpu_utilisation", {}, {{.name = "gpu.util", .points = 2, .max = 1, .mean = 0.5}}},
      {"memory_headroom", {{"gpu_memory_peak_bytes", 60e9}}, {}},
  };
  const auto rules_for = [](const Case& one) {
    ReportInput input{.title = "x"};
    input.runs.push_back(finished_run("a", one.metrics));
    input.runs.back().run.series = one.series;
    input.runs.back().run.provenance.gpus = {{"GPU-1", "NVIDIA A100", 80'000'000'000}};
    return issue_rules_in(report_on(input));
  };
  for (const auto& one : cases) EXPECT_THAT(rules_for(one), Contains(one.rule));
  for (const auto& one : harmless) EXPECT_THAT(rules_for(one), Not(Contains(one.rule)));
}

TEST(GeneratedPage, OfReportSections) {
  test::expect_generated_page("docs/reference/report-sections.md", section_reference());
}

TEST(ReportSections, EachIsThereOnceInTheFileOfItsName) {
  std::set<std::string_view> ids;
  for (const auto& section : report_sections()) {
    EXPECT_TRUE(ids.insert(section.id).second) << section.id;
    const auto file = test::source_folder() / fmt::format("src/report/build/{}_section.cpp", section.id);
    ASSERT_TRUE(fs::exists(file)) << file;
    EXPECT_THAT(*read_file(file), HasSubstr(fmt::format("Section> {}_section(const Answers& answers)", section.id)));
  }
}

TEST(GeneratedPage, OfReportRules) { test::expect_generated_page("docs/reference/report-rules.md", rule_reference()); }

TEST(Report, ARunThatFailedBeforeAnythingWasRecordedIsReportedOn) {
  ReportInput input{.title = "x"};
  RecordedRun one;
  one.run.id = "a";
  one.run.state = RunState::ended;
  one.run.verdict = Verdict::failed;
  input.runs.push_back(one);
  const Document document = report_on(input);
  EXPECT_EQ(document.verdict, "failed");
  EXPECT_FALSE(render_html(document).empty());
}

TEST(Report, FiguresThatAreNoNumbersAreNeverShownAsOnes) {
  ReportInput input = scaling_input();
  input.runs[1].run.metrics["val_loss"] = std::nan("");
  const Document document = report_on(input);
  EXPECT_THAT(render_markdown(document), Not(HasSubstr("nan")));
}

TEST(Report, TheSameInputGivesTheSameBytes) {
  EXPECT_EQ(render_html(report_on(scaling_input())), render_html(report_on(scaling_input())));
}

ReportInput repeated_runs(int hosts, int runs, int slow_host, double slow_by) {
  ReportInput input{.title = "history"};
  for (int k = 0; k < runs; ++k) {
    for (int host = 0; host < hosts; ++host) {
      const double noise = 0.001 * ((7 * k + 3 * host) % 5 - 2);
      const bool slow = host == slow_host && k >= runs / 2;
      RecordedRun one = finished_run(fmt::format("h{}k{}", host, k),
                                     {{"samples_per_second", (100 + host) * (1 + noise) * (slow ? 1 - slow_by : 1)}});
      one.run.provenance.hostname = fmt::format("node{}", host);
      one.run.created = WallTime(std::chrono::hours(24 * k));
      input.runs.push_back(std::move(one));
    }
  }
  return input;
}

TEST(Report, AHostThatGotSlowerIsFoundInItsHistory) {
  const Document document = report_on(repeated_runs(6, 60, 2, 0.03));
  const auto verdicts = column_of(document, "history_table", "verdict");
  ASSERT_EQ(verdicts.size(), 6u);
  EXPECT_THAT(verdicts[2], HasSubstr("degraded by"));
  for (const std::size_t other : {0u, 1u, 3u, 4u, 5u}) EXPECT_EQ(verdicts[other], "steady");
  EXPECT_THAT(column_of(document, "history_table", "fixed_rule"), Not(Contains("alarm")))
      << "3 % is below the fixed rule";
  EXPECT_NE(find_chart(document, "history"), nullptr);
  const std::string text = render_markdown(document);
  EXPECT_THAT(text, HasSubstr("node2 has become")) << "the summary says so";
  EXPECT_THAT(text, HasSubstr("It does the same work")) << "it is an issue";
}

TEST(Report, AFleetThatGotSlowerTogetherIsNoSlowHost) {
  ReportInput input = repeated_runs(6, 60, -1, 0);
  for (auto& one : input.runs) {
    if (one.run.created >= WallTime(std::chrono::hours(24 * 30))) one.run.metrics["samples_per_second"] *= 0.97;
  }
  EXPECT_THAT(column_of(report_on(input), "history_table", "verdict"), Each("steady"));
}

TEST(Report, FewRunsHaveNoHistory) {
  EXPECT_EQ(find_table(report_on(repeated_runs(6, 9, 2, 0.03)), "history_table"), nullptr);
}

TEST(Report, ModelsAndDevicesAreRanked) {
  ReportInput input{.title = "board"};
  for (const char* gpu : {"NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"}) {
    RecordedRun one = variant_run(gpu, gpu, 10, 512);
    if (std::string_view(gpu).find("H100") != std::string_view::npos) one.run.metrics["tokens_per_second"] *= 2;
    one.run.provenance.gpus = {{"GPU-1", gpu, 80'000'000'000}};
    input.runs.push_back(std::move(one));
  }
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "leaderboard", "device"),
              ElementsAre("1 × NVIDIA H100 80GB HBM3", "1 × NVIDIA A100-SXM4-80GB"));
  EXPECT_THAT(column_of(document, "leaderboard", "remark"), ElementsAre("", "close to the one above"));
  EXPECT_THAT(column_of(document, "devices", "architecture"), ElementsAre("Ampere", "Hopper"));
}

TEST(Report, ChecksBeforeTheRunsAreListed) {
  ReportInput input = scaling_input();
  EXPECT_THAT(column_of(report_on(input), "preflight", "check"), IsEmpty());
  input.preflight = {{"gpu01", "CPU governor", "warning", "powersave"}};
  EXPECT_THAT(column_of(report_on(input), "preflight", "level"), ElementsAre("warning"));
}

TEST(Report, AHeatMapIsDrawnWhereTwoSettingsVary) {
  ReportInput input{.title = "grid"};
  for (const int batch : {16, 32}) {
    for (const int length : {128, 256}) {
      input.runs.push_back(variant_run(fmt::format("{}-{}", batch, length),
                                       fmt::format("batch_size={}, seq_length={}", batch, length),
                                       batch / double(length), length));
      input.runs.back().run.spec["batch_size"] = batch;
    }
  }
  const Document document = report_on(input);
  const auto* chart = find_chart(document, "heat_map");
  ASSERT_NE(chart, nullptr);
  const auto& heat = std::get<HeatChart>(chart->chart);
  EXPECT_THAT(heat.rows, ElementsAre("16", "32"));
  EXPECT_DOUBLE_EQ(*heat.cells[1][0], 32.0 / 128);
}

TEST(Report, ARooflineNeedsMeasuredCeilings) {
  ReportInput input{.title = "roof"};
  input.runs.push_back(finished_run("a", {{"flops_per_second", 4e12},
                                          {"memory_bytes_per_second", 1e12},
                                          {"peak_flops_per_second", 8e12},
                                          {"peak_memory_bytes_per_second", 2e12}}));
  EXPECT_THAT(column_of(report_on(input), "roofline", "share_percent"), ElementsAre("50.0"));
  input.runs[0].run.metrics.erase("peak_memory_bytes_per_second");
  EXPECT_THAT(column_of(report_on(input), "roofline", "share_percent"), IsEmpty());
}

}  // namespace
}  // namespace assay
