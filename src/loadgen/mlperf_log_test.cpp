#include "loadgen/mlperf_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "importers/loadgen/loadgen_log.h"
#include "loadgen/simulated_server_fixture.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct LoggedLoad {
  LoadPlan plan;
  LoadRules rules;
  LoadResult result;
  std::string summary;
  std::string detail;
};

LoggedLoad logged_load(const LoadPlan& plan, const LoadRules& rules, SimulatedServer::Serve serve) {
  SimulatedServer server(std::move(serve));
  server.first_token_after = milliseconds(20);
  server.output_tokens = 11;
  QueryRecorder recorder({});
  ShuffledSamples order(1024, 1);
  MlperfServerArrivals arrivals(100, MlperfSeeds().schedule);
  auto ending = run_load(plan, {&arrivals, order, server, recorder, server}, {});
  EXPECT_TRUE(ending.ok());
  ending->client = {};
  LoggedLoad load{plan, rules, evaluate_load(plan, rules, recorder, *ending), {}, {}};
  const MlperfLogFacts facts{.sut_name = "simulated", .time = "2026-11-16T10:00:00.000Z", .samples = 1024};
  load.summary = mlperf_summary(plan, rules, load.result, facts);
  load.detail = mlperf_detail(plan, rules, load.result, facts);
  return load;
}

LoadgenResult read_back(const LoggedLoad& load) {
  const std::vector<NamedText> files = {{"run/mlperf_log_summary.txt", load.summary},
                                        {"run/mlperf_log_detail.txt", load.detail}};
  auto import = import_loadgen(files);
  EXPECT_TRUE(import.ok());
  if (!import || import->results.size() != 1) return {};
  if (load.result.valid) {
    for (const auto& flag : import->flags) ADD_FAILURE() << flag.kind << ": " << flag.message;
  }
  return import->results.front();
}

SimulatedServer::Serve hundred_to_200ms() {
  return [](const Request& request, SteadyTime) { return milliseconds(100 + request.id % 101); };
}

TEST(MlperfLog, AServerRunIsReadBack) {
  const auto load = logged_load({.scenario = Scenario::server, .min_queries = 2000, .min_duration = seconds(10)},
                                {.asked_per_second = 100,
                                 .limits = {{LatencyMeasure::first_token, 0.99, seconds(2)},
                                            {LatencyMeasure::per_output_token, 0.99, milliseconds(100)}}},
                                hundred_to_200ms());
  EXPECT_TRUE(load.result.valid);
  const auto read = read_back(load);
  EXPECT_EQ(read.scenario, "Server");
  EXPECT_EQ(read.validity, LoadgenValidity::valid);
  EXPECT_EQ(read.constraints_met, true);
  EXPECT_EQ(read.early_stopping_met, true);
  EXPECT_EQ(read.sut_name, "simulated");
  EXPECT_EQ(read.target_qps, 100);
  EXPECT_EQ(read.target_first_token_ns, 2e9);
  EXPECT_EQ(read.queries, 2000);
  EXPECT_EQ(read.over_latency_queries, 0);
  EXPECT_NEAR(*read.completed_samples_per_second, load.result.completed_per_second, 0.006);
  EXPECT_EQ(read.latency.percentiles.at(99), static_cast<double>(load.result.end_to_end.p99));
  EXPECT_EQ(read.latency.percentiles.at(99.9), 200e6);
  EXPECT_EQ(read.first_token.percentiles.at(50), 20e6);
  EXPECT_EQ(read.per_output_token.percentiles.at(99.9), 18e6);
  EXPECT_EQ(read.parameters.at("schedule_rng_seed"), "18209322760996052031");
  EXPECT_TRUE(read.has_summary && read.has_detail && !read.cut);
}

TEST(MlperfLog, AMissedLimitIsInvalidInBoth) {
  const auto load = logged_load(
      {.scenario = Scenario::server, .min_queries = 1000},
      {.asked_per_second = 100, .limits = {{LatencyMeasure::end_to_end, 0.99, milliseconds(150)}}}, hundred_to_200ms());
  EXPECT_FALSE(load.result.valid);
  const auto read = read_back(load);
  EXPECT_EQ(read.validity, LoadgenValidity::invalid);
  EXPECT_EQ(read.constraints_met, false);
  EXPECT_EQ(read.early_stopping_met, false);
  EXPECT_EQ(read.target_latency_ns, 150e6);
  EXPECT_EQ(static_cast<std::uint64_t>(read.over_latency_queries.value()), load.result.limits.front().over);
  EXPECT_THAT(read.recommendations,
              testing::Contains(testing::HasSubstr("e2e_p99 is 199 ms, and the limit is 150 ms")));
}

TEST(MlperfLog, StreamsHaveAnEstimate) {
  const auto single = logged_load({.scenario = Scenario::single_stream, .min_queries = 1000}, {}, hundred_to_200ms());
  const auto read = read_back(single);
  EXPECT_EQ(read.scenario, "SingleStream");
  EXPECT_EQ(read.latency.percentiles.at(90), static_cast<double>(single.result.end_to_end.p90));
  ASSERT_TRUE(read.early_stopping_latency_ns.has_value());
  EXPECT_GE(*read.early_stopping_latency_ns, static_cast<double>(single.result.end_to_end.p90));
  const auto multi = logged_load({.scenario = Scenario::multi_stream, .samples_per_query = 8, .min_queries = 700}, {},
                                 hundred_to_200ms());
  EXPECT_EQ(read_back(multi).samples_per_query, 8);
  const auto few = logged_load({.scenario = Scenario::single_stream, .min_queries = 10}, {}, hundred_to_200ms());
  EXPECT_EQ(read_back(few).early_stopping_met, false);
}

/// The value of a key, as it is written; "" where there is none.
std::string detail_value(const std::string& detail, std::string_view key) {
  const std::string start = fmt::format("{{\"key\": \"{}\", \"value\": ", key);
  const auto at = detail.find(start);
  if (at == std::string::npos) return "";
  const auto begin = at + start.size();
  return detail.substr(begin, detail.find(", \"time_ms\"", begin) - begin);
}

TEST(MlperfLog, TheDetailLogHasWhatScriptsLookFor) {
  const auto server = logged_load({.scenario = Scenario::server, .min_queries = 2000, .min_duration = seconds(10)},
                                  {.asked_per_second = 100,
                                   .limits = {{LatencyMeasure::first_token, 0.99, seconds(2)},
                                              {LatencyMeasure::per_output_token, 0.99, milliseconds(100)}}},
                                  hundred_to_200ms());
  const auto value = [&](std::string_view key) { return detail_value(server.detail, key); };
  EXPECT_EQ(value("requested_use_token_latencies"), "true");
  EXPECT_EQ(value("requested_server_ttft_latency"), "2000000000");
  EXPECT_EQ(value("requested_server_target_qps"), "100");
  EXPECT_EQ(value("requested_server_target_latency_ns"), "0");
  EXPECT_EQ(value("requested_min_query_count"), "2000");
  EXPECT_EQ(value("effective_min_sample_count"), "2000");
  EXPECT_EQ(value("effective_sample_concatenate_permutation"), "false");
  EXPECT_EQ(value("effective_performance_sample_count"), "1024");
  EXPECT_EQ(value("early_stopping_ttft_result"), "\" * Run successful.\"");
  EXPECT_EQ(value("early_stopping_tpot_result"), "\" * Run successful.\"");
  EXPECT_EQ(value("result_first_token_99.00_percentile_latency_ns"), "20000000");
  // 2,000 answers of 11 tokens, sent within about 20 s; a mean latency of 150 ms.
  EXPECT_NEAR(std::stod(value("result_token_throughput_with_loadgen_overhead")), 1100, 60);
  EXPECT_NEAR(std::stod(value("result_token_throughput")), 11 / 0.15, 2);
}

TEST(MlperfLog, QueriesAndSamplesOfMultiStreamAreToldApart) {
  const auto load = logged_load({.scenario = Scenario::multi_stream, .samples_per_query = 8, .min_queries = 700}, {},
                                [](const Request& request, SteadyTime) { return milliseconds(101 + request.id % 8); });
  const auto value = [&](std::string_view key) { return detail_value(load.detail, key); };
  EXPECT_EQ(value("result_min_query_latency_ns"), "108000000");
  EXPECT_EQ(value("result_50.00_percentile_per_query_latency_ns"), "108000000");
  EXPECT_EQ(value("result_min_latency_ns"), "101000000");
  EXPECT_EQ(value("result_50.00_percentile_latency_ns"), "105000000");
  EXPECT_EQ(value("effective_min_sample_count"), "5600");
  const auto read = read_back(load);
  EXPECT_EQ(read.latency.min, 108e6);
  EXPECT_EQ(read.latency.percentiles.at(50), 108e6);
}

TEST(MlperfLog, SingleStreamAlsoTellsWhatMultiStreamWouldHave) {
  const auto load = logged_load({.scenario = Scenario::single_stream, .min_queries = 1000}, {}, hundred_to_200ms());
  EXPECT_GT(std::stoll(detail_value(load.detail, "early_stopping_latency_ms")),
            std::stoll(detail_value(load.detail, "early_stopping_latency_ss")));
  EXPECT_EQ(read_back(load).early_stopping_latency_ns,
            std::stod(detail_value(load.detail, "early_stopping_latency_ss")));
  const auto few = logged_load({.scenario = Scenario::single_stream, .min_queries = 100}, {}, hundred_to_200ms());
  EXPECT_EQ(detail_value(few.detail, "early_stopping_latency_ms"), "0");
  EXPECT_NE(detail_value(few.detail, "early_stopping_latency_ss"), "0");
}

TEST(MlperfLog, OfflineIsOneQuery) {
  const auto load = logged_load({.scenario = Scenario::offline, .min_queries = 5000}, {}, hundred_to_200ms());
  const auto read = read_back(load);
  EXPECT_EQ(read.scenario, "Offline");
  EXPECT_EQ(read.samples_per_query, 5000);
  EXPECT_NEAR(*read.samples_per_second, 25'000, 1);
  EXPECT_EQ(read.validity, LoadgenValidity::valid);
}

TEST(MlperfLog, AccuracyRunsHaveAnswersAndNoFigures) {
  QueryRecorder recorder({.texts = true});
  recorder.start_at(SteadyTime());
  const std::vector<Request> requests = {{.id = 0, .sample = 4}, {.id = 1, .sample = 2}};
  ASSERT_TRUE(recorder.take_down(requests, SteadyTime()));
  recorder.complete(Completion{.id = 1, .output_tokens = 2, .text = "b"});
  recorder.complete(Completion{.id = 0, .output_tokens = 1, .text = "\xDC\x01"});
  EXPECT_EQ(mlperf_accuracy(recorder),
            "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 4, \"data\" : \"DC01\", \"token_count\" : 1 },\n"
            "{ \"seq_id\" : 1, \"qsl_idx\" : 2, \"data\" : \"62\", \"token_count\" : 2 }\n]\n");
  EXPECT_EQ(loadgen_file_kind(mlperf_accuracy(recorder), "x"), LoadgenFile::accuracy);
  const std::string summary = mlperf_summary({}, {}, {}, {.accuracy = true});
  EXPECT_EQ(summary.find("Result is"), std::string::npos);
  EXPECT_TRUE(has_mlperf_log(Scenario::server));
  EXPECT_FALSE(has_mlperf_log(Scenario::closed));
}

}  // namespace
}  // namespace assay
