#include "spec/mlperf_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/study.h"
#include "spec/spec.h"

namespace assay {
namespace {

TEST(MlperfLimits, AreThoseOfTheModelHoweverAServerCallsIt) {
  const json::object wanted = {{"ttft_p99", 2.0}, {"tpot_p99", 0.1}};
  for (const char* name : {"llama3.1-8b", "llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct",
                           "meta-llama/Meta-Llama-3.1-8B-Instruct-FP8", "/models/llama3.1-8b"}) {
    EXPECT_EQ(mlperf_limits("mlperf", name), wanted) << name;
  }
  EXPECT_EQ(mlperf_limits("mlperf_interactive", "meta-llama/Llama-2-70b-chat-hf"),
            (json::object{{"ttft_p99", 0.45}, {"tpot_p99", 0.04}}));
  EXPECT_EQ(mlperf_limits("mlperf", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
            (json::object{{"ttft_p99", 2.0}, {"tpot_p99", 0.2}}));
  EXPECT_EQ(mlperf_limits("mlperf_interactive", "mixtral-8x7b"), std::nullopt);
  for (const char* other : {"", "llama-3.2-8b", "llama-3.1-80b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "mlp"}) {
    EXPECT_EQ(mlperf_limits("mlperf", other), std::nullopt) << other;
  }
}

TEST(MlperfLimits, StandInTheRecordedSettingsOfEachRun) {
  const auto reading = read_spec(
      "kind: serve\ntarget: {openai: \"http://h/v1\"}\nlimits: mlperf\n"
      "sweep: {model: [llama3.1-8b, gpt-oss-120b]}\n",
      "b.yaml");
  ASSERT_TRUE(reading.spec) << reading.diagnostics.front().text();
  std::vector<double> found;
  const auto runs = expand(*reading.spec);
  ASSERT_TRUE(runs.ok());
  for (const auto& run : *runs) {
    found.push_back(run.spec.at("limits").at("ttft_p99").to_number<double>());
  }
  EXPECT_THAT(found, testing::UnorderedElementsAre(2.0, 3.0));
}

}  // namespace
}  // namespace assay
