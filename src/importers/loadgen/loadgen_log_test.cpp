#include "importers/loadgen/loadgen_log.h"

#include <fmt/format.h>

#include "base/text.h"
#include "importers/text/import_fixture.h"
#include "support/source_tree.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LoadgenImport import_files(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  std::vector<NamedText> files;
  texts.reserve(names.size());
  for (const auto& name : names) {
    texts.push_back(fixture("loadgen/" + name));
    files.push_back({name, texts.back()});
  }
  auto import = import_loadgen(files);
  EXPECT_TRUE(import.ok());
  return import ? std::move(import).value() : LoadgenImport{};
}

LoadgenResult summary_of(std::string_view text) {
  auto result = parse_loadgen_summary(text, "mlperf_log_summary.txt");
  EXPECT_TRUE(result.ok());
  return result ? std::move(result).value() : LoadgenResult{};
}

TEST(LoadgenLog, AServerRunFromItsSummary) {
  const auto import = import_files({"server/mlperf_log_summary.txt"});
  EXPECT_EQ(listed(import.flags), "");
  ASSERT_EQ(import.results.size(), 1u);
  const LoadgenResult& result = import.results.front();
  EXPECT_EQ(result.folder, "server");
  EXPECT_EQ(result.sut_name, "PySUT");
  EXPECT_EQ(result.scenario, "Server");
  EXPECT_EQ(result.mode, "PerformanceOnly");
  EXPECT_EQ(result.validity, LoadgenValidity::valid);
  EXPECT_EQ(result.constraints_met, true);
  EXPECT_EQ(result.early_stopping_met, true);
  EXPECT_EQ(result.completed_samples_per_second, 19.61);
  EXPECT_EQ(result.scheduled_samples_per_second, 19.94);
  EXPECT_EQ(result.tokens_per_second, 2498.71);
  EXPECT_EQ(result.latency.percentiles.at(99.9), 6321098765);
  EXPECT_EQ(result.latency.min, 812345678);
  EXPECT_EQ(result.first_token.mean, 312345678);
  EXPECT_EQ(result.first_token.percentiles.at(99), 1423456789);
  EXPECT_EQ(result.per_output_token.percentiles.at(50), 21987654);
  EXPECT_EQ(result.target_qps, 20);
  EXPECT_EQ(result.target_first_token_ns, 2e9);
  EXPECT_EQ(result.min_queries, 100);
  EXPECT_EQ(result.data_set_samples, 13368);
  EXPECT_EQ(result.parameters.at("schedule_rng_seed"), "18209322760996052031");
  EXPECT_FALSE(result.cut);
}

TEST(LoadgenLog, TheDetailLogAddsWhatTheSummaryLacks) {
  const auto import = import_files(
      {"server/mlperf_log_detail.txt", "server/mlperf_log_accuracy.json", "server/mlperf_log_summary.txt"});
  EXPECT_EQ(listed(import.flags), "");
  ASSERT_EQ(import.results.size(), 1u);
  const LoadgenResult& result = import.results.front();
  EXPECT_TRUE(result.has_summary && result.has_detail && result.has_accuracy_log);
  EXPECT_EQ(result.version, "5.1.0 @ c57507b122");
  EXPECT_EQ(result.time, "2025-07-25T08:44:14Z");
  EXPECT_EQ(result.queries, 11964);
  EXPECT_EQ(result.over_latency_queries, 3);
  EXPECT_EQ(result.target_percentile, 99);
  EXPECT_EQ(result.completed_samples_per_second, 19.61);  // the summary's
  EXPECT_EQ(result.warning_count, 1);
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("sample_concatenate_permutation")));

  const auto detail = import_files({"server/mlperf_log_detail.txt"});
  EXPECT_EQ(listed(detail.flags), "");
  EXPECT_EQ(detail.results.front().completed_samples_per_second, 19.6121);
  EXPECT_EQ(detail.results.front().first_token.percentiles.at(99), 1423456789);
  EXPECT_EQ(detail.results.front().per_output_token.mean, 22876543);
  EXPECT_EQ(detail.results.front().latency.percentiles.size(), 6u);
}

TEST(LoadgenLog, AnInvalidResultHasItsReasons) {
  const auto import = import_files({"offline-invalid/mlperf_log_summary.txt"});
  EXPECT_EQ(
      listed(import.flags),
      "invalid_result | offline-invalid | not satisfied: minimum duration; LoadGen says: Increase expected QPS so the "
      "loadgen pre-generates a larger (coalesced) query.\n");
  EXPECT_EQ(import.results.front().samples_per_second, 0.677);
  EXPECT_EQ(import.results.front().tokens_per_second, 21.2);
}

TEST(LoadgenLog, SingleStream) {
  const auto import = import_files({"single-stream/mlperf_log_summary.txt"});
  EXPECT_EQ(listed(import.flags), "");
  EXPECT_EQ(import.results.front().latency.percentiles.at(90), 1062345);
  EXPECT_EQ(import.results.front().early_stopping_latency_ns, 1062401);
  EXPECT_EQ(import.results.front().samples_per_second, 1002.05);
}

TEST(LoadgenLog, ContradictionsAreFlagged) {
  const auto import = import_files({"contradictory/mlperf_log_summary.txt"});
  EXPECT_EQ(
      listed(import.flags),
      "loadgen_errors | contradictory | LoadGen reported 2 errors\n"
      "contradiction | contradictory | states VALID, but not satisfied: early stopping\n"
      "contradiction | contradictory | states a 99.9th percentile first-token latency of 1801.2 ms, but the 99th "
      "percentile is 2423.5 ms\n"
      "contradiction | contradictory | states that the latency constraint is satisfied, but at the 99th percentile "
      "first-token latency is 2423.5 ms with a limit of 2000 ms\n"
      "contradiction | contradictory | states 29.61 completed samples/s, but only 19.94 a second were scheduled\n");
}

TEST(LoadgenLog, OfflineFiguresMustFitTogether) {
  LoadgenResult result = summary_of(fixture("loadgen/offline-invalid/mlperf_log_summary.txt"));
  result.generated_queries = 1;
  EXPECT_THAT(kinds_of(check_loadgen(result)), ElementsAre("invalid_result"));
  result.samples_per_second = 2.05;
  result.min_duration_met = true;
  result.queries = 1;
  result.min_queries = 5;
  const auto flags = check_loadgen(result);
  EXPECT_TRUE(has_flag(flags, "contradiction", "states 2.05 samples/s, but 15 samples in 22160 ms are 0.6769"))
      << listed(flags);
  EXPECT_TRUE(has_flag(flags, "contradiction", "that the minimum duration is satisfied"));
  EXPECT_TRUE(has_flag(flags, "contradiction", "1 were issued and 5 are asked for"));
}

TEST(LoadgenLog, FilesOfDifferentRunsAreNoticed) {
  std::string other = fixture("loadgen/server/mlperf_log_detail.txt");
  const auto at = other.find("3210987654");
  other.replace(at, 10, "3210987000");
  const std::string summary = fixture("loadgen/server/mlperf_log_summary.txt");
  const std::vector<NamedText> files = {{"a/mlperf_log_summary.txt", summary}, {"a/mlperf_log_detail.txt", other}};
  const auto import = import_loadgen(files);
  ASSERT_TRUE(import.ok());
  EXPECT_TRUE(has_flag(import->flags, "contradiction", "summary and detail log differ: mean latency"))
      << listed(import->flags);
}

TEST(LoadgenLog, AccuracyRunsHaveNoFigures) {
  const NamedText summary{"mlperf_log_summary.txt",
                          "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n"};
  const auto import = import_loadgen(std::span(&summary, 1));
  ASSERT_TRUE(import.ok());
  EXPECT_THAT(kinds_of(import->flags), ElementsAre("no_verdict"));
  const auto only_accuracy = import_files({"server/mlperf_log_accuracy.json"});
  EXPECT_THAT(kinds_of(only_accuracy.flags), ElementsAre("no_performance"));
}

TEST(LoadgenLog, KindsAreKnownByContentThenByName) {
  EXPECT_EQ(loadgen_file_kind(":::MLLOG {}", "x"), LoadgenFile::detail);
  EXPECT_EQ(loadgen_file_kind("==\nMLPerf Results Summary\n", "x"), LoadgenFile::summary);
  EXPECT_EQ(loadgen_file_kind("[\n{ \"seq_id\" : 0, \"qsl_idx\" : 1", "x"), LoadgenFile::accuracy);
  EXPECT_EQ(loadgen_file_kind("", "a/mlperf_log_detail.txt"), LoadgenFile::detail);
  EXPECT_EQ(loadgen_file_kind("hello", "x.txt"), LoadgenFile::unknown);
}

TEST(LoadgenLog, FilesThatAreNone) {
  const auto error_of = [](std::string_view text) {
    const NamedText file{"x.txt", text};
    const auto import = import_loadgen(std::span(&file, 1));
    EXPECT_FALSE(import.ok());
    return import ? std::string() : import.error().text();
  };
  EXPECT_THAT(error_of(""), HasSubstr("is not a summary of LoadGen"));
  EXPECT_THAT(error_of("Dear all,\nthe meeting: tomorrow\n"), HasSubstr("is not a summary"));
  EXPECT_THAT(error_of(std::string_view("\xFF\xFES\0", 4)), HasSubstr("UTF-16"));
  EXPECT_FALSE(parse_loadgen_detail("text\n", "mlperf_log_detail.txt").ok());
}

TEST(LoadgenLog, CutAtEveryByteNothingIsInvented) {
  const std::string summary = fixture("loadgen/server/mlperf_log_summary.txt");
  const LoadgenResult whole = summary_of(summary);
  const auto absent_or = [](const auto& got, const auto& expected) { return !got || got == expected; };
  for (std::size_t length = 0; length + 1 < summary.size(); ++length) {
    const auto part = parse_loadgen_summary(summary.substr(0, length), "s.txt");
    if (!part) continue;
    ASSERT_TRUE(part->cut) << length;
    ASSERT_TRUE(absent_or(part->completed_samples_per_second, whole.completed_samples_per_second)) << length;
    ASSERT_TRUE(absent_or(part->latency.mean, whole.latency.mean)) << length;
    ASSERT_TRUE(absent_or(part->target_qps, whole.target_qps)) << length;
    for (const auto& [percentile, value] : part->latency.percentiles)
      ASSERT_EQ(value, whole.latency.percentiles.at(percentile));
    ASSERT_TRUE(has_flag(check_loadgen(*part), "cut_file"));
  }
}

TEST(LoadgenLog, ACutDetailLogIsMarked) {
  const std::string detail = fixture("loadgen/server/mlperf_log_detail.txt");
  const LoadgenResult whole = parse_loadgen_detail(detail, "d.txt").value();
  const auto absent_or = [](const auto& got, const auto& expected) { return !got || got == expected; };
  for (std::size_t length = 0; length + 1 < detail.size(); ++length) {
    const auto part = parse_loadgen_detail(std::string_view(detail).substr(0, length), "d.txt");
    if (!part) continue;
    ASSERT_TRUE(absent_or(part->queries, whole.queries)) << length;
    ASSERT_TRUE(absent_or(part->target_qps, whole.target_qps)) << length;
    ASSERT_TRUE(absent_or(part->latency.mean, whole.latency.mean)) << length;
    ASSERT_TRUE(absent_or(part->completed_samples_per_second, whole.completed_samples_per_second)) << length;
    const bool at_line_end = detail[length - 1] == '\n' || detail[length] == '\n';
    ASSERT_TRUE(part->cut || at_line_end) << length;
    const auto flags = check_loadgen(*part);
    ASSERT_TRUE(!flags.empty() || part->validity == LoadgenValidity::valid) << length;
  }
}

TEST(LoadgenLog, DamagedEntriesAreLeftOut) {
  const auto result = parse_loadgen_detail(
      ":::MLLOG {\"key\": \"result_query_count\", \"value\": 5\n:::MLLOG {\"key\": \"sut_name\", \"value\": "
      "\"x\"}\nother\n:::MLLOG []\n:::MLLOG {\"key\": \"result_query_count\", \"value\": [1]}\n",
      "d.txt");
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->cut);
  EXPECT_EQ(result->sut_name, "x");
  EXPECT_EQ(result->queries, std::nullopt);
}

TEST(LoadgenLog, TheLatenciesOfAMultiStreamRunAreThoseOfItsQueries) {
  const auto line = [](std::string_view key, std::string_view value) {
    return fmt::format(":::MLLOG {{\"key\": \"{}\", \"value\": {}, \"metadata\": {{\"is_error\": false}}}}\n", key,
                       value);
  };
  const std::string detail =
      line("effective_scenario", "\"MultiStream\"") + line("result_min_query_latency_ns", "800") +
      line("result_max_query_latency_ns", "990") + line("result_mean_query_latency_ns", "900") +
      line("result_99.00_percentile_per_query_latency_ns", "980") + line("early_stopping_latency_ms", "985") +
      line("result_min_latency_ns", "100") + line("result_max_latency_ns", "990") +
      line("result_mean_latency_ns", "450") + line("result_99.00_percentile_latency_ns", "970");
  const auto result = parse_loadgen_detail(detail, "mlperf_log_detail.txt");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->latency.min, 800);
  EXPECT_EQ(result->latency.mean, 900);
  EXPECT_EQ(result->latency.percentiles.at(99), 980);
  EXPECT_EQ(result->early_stopping_latency_ns, 985);
}

TEST(LoadgenLog, TheEstimateOfASingleStreamRunIsItsOwn) {
  const std::string detail =
      ":::MLLOG {\"key\": \"effective_scenario\", \"value\": \"SingleStream\"}\n"
      ":::MLLOG {\"key\": \"early_stopping_latency_ss\", \"value\": 700}\n"
      ":::MLLOG {\"key\": \"early_stopping_latency_ms\", \"value\": 900}\n";
  EXPECT_EQ(parse_loadgen_detail(detail, "mlperf_log_detail.txt")->early_stopping_latency_ns, 700)
      << "the other is what multi-stream would have";
}

}  // namespace
}  // namespace assay
