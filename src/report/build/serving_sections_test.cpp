#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "report/build/recorded_fixture.h"
#include "report/build/report.h"
#include "report/build/sections.h"
#include "support/source_tree.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// What `assay run` recorded of a load on two stub servers: tests/fixtures/stub_openai.py.
LoadProfile recorded_load() {
  auto text = read_file(test::fixture_folder() / "serving/stub-two-endpoints.json");
  auto profile = load_profile_from_json(json::parse(std::move(text).value_or("null")));
  EXPECT_TRUE(profile.ok());
  return std::move(profile).value_or(LoadProfile{});
}

RecordedRun served_run(std::string id, std::map<std::string, double> metrics) {
  RecordedRun one = finished_run(std::move(id), std::move(metrics));
  one.run.kind = "serve";
  one.run.name = "serve";
  one.run.spec = {{"kind", "serve"}, {"model", {{"name", "m"}}}, {"scenario", "closed"}};
  return one;
}

/// One configuration of a sweep.
RecordedRun swept_run(std::string_view setting, double weight, double completed, double p99) {
  RecordedRun one = served_run(
      fmt::format("{}{}", setting, weight),
      {{"samples_asked", 100}, {"samples_done", 100}, {"samples_per_second", completed}, {"latency_p99_seconds", p99}});
  one.run.study = "study1";
  one.run.variant = fmt::format("{}={}", setting, weight);
  one.run.spec[setting] = weight;
  return one;
}

const Section* find_section(const Document& document, std::string_view id) {
  for (const auto& section : document.sections) {
    if (section.id == id) return &section;
  }
  return nullptr;
}

TEST(ServingSections, ALoadIsDrawnFromWhatItRecorded) {
  ReportInput input{.title = "load"};
  auto one = served_run("r1", {{"latency_p50_seconds", 0.03},
                               {"latency_p99_seconds", 0.05},
                               {"mean_ttft_seconds", 0.002},
                               {"ttft_p50_seconds", 0.0015},
                               {"mean_itl_seconds", 0.0012},
                               {"lateness_p50_seconds", 0.0001},
                               {"lateness_p99_seconds", 0.0009},
                               {"rouge_l", 0.4321}});
  one.load = recorded_load();
  const LoadProfile load = *one.load;
  input.runs.push_back(std::move(one));
  const Document document = report_on(input);

  const ChartBlock* cdf = find_chart(document, "latency_cdf");
  ASSERT_NE(cdf, nullptr);
  const auto& line = std::get<XyChart>(cdf->chart).series.at(0);
  EXPECT_EQ(line.stroke, Stroke::steps);
  EXPECT_DOUBLE_EQ(line.points.front().x, static_cast<double>(load.latency.quantiles_ns.front()) * 1e-9);
  EXPECT_DOUBLE_EQ(line.points.back().x, static_cast<double>(load.latency.quantiles_ns.back()) * 1e-9);
  EXPECT_EQ(line.points.back().y, 1);
  EXPECT_THAT(column_of(document, "lateness", "lateness_p99_seconds"), ElementsAre("900 µs"));
  EXPECT_THAT(column_of(document, "token_times", "measure"), ElementsAre("TTFT", "ITL"));
  EXPECT_THAT(column_of(document, "token_times", "p50_seconds").front(), "1.50 ms");
  for (const char* id : {"ttft_cdf", "tpot_cdf", "itl_cdf"}) EXPECT_NE(find_chart(document, id), nullptr) << id;

  EXPECT_THAT(column_of(document, "endpoints", "requests"), ElementsAre("100", "100"));
  EXPECT_THAT(column_of(document, "endpoints", "failed"), ElementsAre("0", "0"));
  EXPECT_THAT(column_of(document, "answers", "answers"), ElementsAre("200"));
  EXPECT_THAT(column_of(document, "answers", "finish_reasons"), ElementsAre("length 100.0 %"));
  EXPECT_THAT(column_of(document, "answers", "cut_off_percent"), ElementsAre("100.0"));
  EXPECT_THAT(column_of(document, "answers", "rouge_l"), ElementsAre("0.432"));
  EXPECT_THAT(column_of(document, "answers", "rouge_1"), testing::IsEmpty());
  EXPECT_EQ(find_section(document, "load_curve"), nullptr);
}

TEST(ServingSections, ARunWithoutAProfileHasItsPercentiles) {
  ReportInput input{.title = "imported"};
  input.runs.push_back(
      served_run("r1", {{"latency_min_seconds", 0.01}, {"latency_p50_seconds", 0.03}, {"latency_p99_seconds", 0.05}}));
  const Document document = report_on(input);
  const ChartBlock* cdf = find_chart(document, "latency_cdf");
  ASSERT_NE(cdf, nullptr);
  EXPECT_THAT(cdf->caption, HasSubstr("a guide"));
  EXPECT_EQ(find_section(document, "answers"), nullptr);
  EXPECT_EQ(find_section(document, "endpoints"), nullptr);
}

TEST(ServingSections, EachClientOfALoadHasItsRow) {
  ReportInput input{.title = "load"};
  auto one = served_run("r1", {{"latency_p50_seconds", 0.03}});
  one.load = recorded_load();
  one.load->clients = {
      {.name = "client 0 on a", .requests = 50, .ok = 50},
      {.name = "client 1 on b", .requests = 50, .lost = 50, .lost_reason = "the connection was closed"}};
  input.runs.push_back(std::move(one));
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "clients", "client"), ElementsAre("client 0 on a", "client 1 on b"));
  EXPECT_THAT(column_of(document, "clients", "lost"), ElementsAre("0", "50"));
}

TEST(ServingSections, EmptyAnswersAreNoticed) {
  ReportInput input{.title = "load"};
  auto one = served_run("r1", {});
  one.load.emplace();
  one.load->answers = {.without_tokens = 3};
  input.runs.push_back(std::move(one));
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "answers", "empty"), ElementsAre("3"));
  EXPECT_THAT(column_of(document, "answers", "mean_tokens"), testing::IsEmpty()) << "nothing is known of it";
}

TEST(ServingSections, ASweepOfRatesHasItsKnee) {
  ReportInput input{.title = "sweep"};
  for (const auto& [rate, completed, p99] : {std::tuple(40.0, 31.0, 5.0), std::tuple(10.0, 10.0, 0.1),
                                             std::tuple(20.0, 19.9, 0.3), std::tuple(30.0, 29.8, 0.9)}) {
    input.runs.push_back(swept_run("rate", rate, completed, p99));
  }
  Document document = report_on(input);
  EXPECT_THAT(column_of(document, "load_curve", "remark"), ElementsAre("", "", "knee", "saturated"));
  const ChartBlock* chart = find_chart(document, "load_curve_chart");
  ASSERT_NE(chart, nullptr);
  const auto& drawn = std::get<XyChart>(chart->chart);
  ASSERT_EQ(drawn.series.size(), 2u);
  EXPECT_EQ(drawn.series[1].name, "knee");
  EXPECT_EQ(drawn.series[1].points.at(0).x, 29.8);
  EXPECT_TRUE(drawn.y.logarithmic) << "50 times as slow at the end";
  EXPECT_EQ(find_section(document, "serving"), nullptr) << "configurations are no nodes that share the work";

  // A limit on the first token: that is the latency that counts.
  for (auto& one : input.runs) {
    one.run.spec["limits"] = {{"ttft_p99", 0.2}};
    one.run.metrics["ttft_p99_seconds"] = *metric_of(one.run, "latency_p99_seconds") * 0.8;
  }
  document = report_on(input);
  EXPECT_THAT(column_of(document, "load_curve", "remark"),
              ElementsAre("knee", "beyond a limit", "beyond a limit", "saturated"));
  EXPECT_EQ(std::get<XyChart>(find_chart(document, "load_curve_chart")->chart).references.at(0).y, 0.2);
  // To miss a limit makes a run invalid; that is no reason not to draw it. A client that was late is.
  for (auto& one : input.runs) {
    one.run.verdict = Verdict::invalid;
    one.run.flags = {{"limit_missed", "ttft_p99", ""}};
  }
  input.runs.front().run.flags.push_back({"client_late", "client", ""});
  document = report_on(input);
  EXPECT_THAT(column_of(document, "load_curve", "remark"),
              ElementsAre("knee", "beyond a limit", "beyond a limit", "not usable"));
  EXPECT_EQ(find_table(document, "load_curve")->columns[3].title, "TTFT p99");
}

TEST(ServingSections, ASweepOfConcurrencyOfTwoModelsHasTwoLines) {
  ReportInput input{.title = "sweep"};
  for (const char* model : {"a", "b"}) {
    for (const double under_way : {1.0, 2.0, 4.0}) {
      auto one = swept_run("concurrency", under_way, std::min(under_way, 2.0) * 10, 0.1 * under_way);
      one.run.variant += std::string(", model=") + model;
      one.run.spec["model"] = {{"name", model}};
      input.runs.push_back(std::move(one));
    }
  }
  input.runs.back().run.verdict = Verdict::invalid;
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "load_curve", "curve"), ElementsAre("model.name=a", "model.name=a", "model.name=a",
                                                                      "model.name=b", "model.name=b", "model.name=b"));
  EXPECT_THAT(column_of(document, "load_curve", "remark"),
              ElementsAre("", "knee", "saturated", "", "knee", "not usable"));
  EXPECT_THAT(column_of(document, "load_curve", "offered"), ElementsAre("1", "2", "4", "1", "2", "4"));
  EXPECT_TRUE(std::get<XyChart>(find_chart(document, "load_curve_chart")->chart).series[1].points[2].marked);
}

TEST(ServingSections, TwoSettingsOfALoadHaveAHeatMapOfItsLatency) {
  ReportInput input{.title = "heat"};
  for (const double slots : {4.0, 8.0}) {
    for (const double rate : {10.0, 20.0}) {
      auto one = swept_run("rate", rate, rate, rate / slots);
      one.run.variant += fmt::format(", slots={}", slots);
      one.run.spec["slots"] = slots;
      input.runs.push_back(std::move(one));
    }
  }
  const Document document = report_on(input);
  const ChartBlock* chart = find_chart(document, "load_map_latency_p99_seconds");
  ASSERT_NE(chart, nullptr);
  const auto& heat = std::get<HeatChart>(chart->chart);
  EXPECT_THAT(heat.rows, ElementsAre("10", "20"));
  EXPECT_THAT(heat.columns, ElementsAre("4", "8"));
  EXPECT_EQ(heat.cells[1][0], 5);
  EXPECT_NE(find_chart(document, "load_map_samples_per_second"), nullptr);
  EXPECT_EQ(find_chart(document, "load_map_goodput_per_second"), nullptr) << "there was no limit";
}

TEST(ServingSections, ServersAreRankedByWhatIsSaidOfThem) {
  ReportInput input{.title = "board"};
  const auto add = [&](const char* software, const char* address, double tokens) {
    auto one = served_run(software, {{"tokens_per_second", tokens},
                                     {"tokens_done", tokens * 10},
                                     {"wall_seconds", 10},
                                     {"duration_seconds", 20},
                                     {"gpu.energy_j", 8000}});
    one.run.name = software;
    one.run.spec["target"] = {{"name", "openai"}, {"openai", address}, {"software", software}, {"device", "1 × H100"}};
    one.run.spec["price"] = {{"amount", 3.6}, {"currency", "USD"}, {"per", "h"}};
    input.runs.push_back(std::move(one));
  };
  add("slow 1.0", "http://gpu01:8000/v1", 1000);
  add("fast 1.0", "http://127.0.0.1:8000/v1", 2000);
  const Document document = report_on(input);
  EXPECT_THAT(column_of(document, "leaderboard", "software"), ElementsAre("fast 1.0", "slow 1.0"));
  EXPECT_THAT(column_of(document, "leaderboard", "device"), ElementsAre("1 × H100", "1 × H100"));
  EXPECT_THAT(column_of(document, "leaderboard", "cost_per_million_tokens"), ElementsAre("$0.500", "$1.00"));
  // Half of the energy is the warm-up's; a server elsewhere does not use the client's GPUs.
  EXPECT_THAT(column_of(document, "leaderboard", "joules_per_token"), ElementsAre("0.200", ""));
}

TEST(ServingSections, TheProbesOfASearchAreALoadCurve) {
  ReportInput input{.title = "peak"};
  auto one = served_run("r1", {});
  one.load.emplace();
  one.load->probes = {{.offered = 10, .completed = 10, .latency_p99_s = 0.1, .kept = true},
                      {.offered = 40, .completed = 22, .latency_p99_s = 3, .kept = false},
                      {.offered = 20, .completed = 20, .latency_p99_s = 0.2, .kept = true},
                      {.offered = 30, .completed = 12, .latency_p99_s = 0.2, .kept = false, .client_limited = true}};
  input.runs.push_back(std::move(one));
  EXPECT_THAT(column_of(report_on(input), "load_curve", "remark"), ElementsAre("", "knee", "not usable", "saturated"));
}

}  // namespace
}  // namespace assay
