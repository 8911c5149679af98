#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "formats/safetensors.h"
#include "tests/engine_program.h"

namespace assay::engine {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

void expect_same_curve(const std::vector<double>& one, const std::vector<double>& other, double tolerance) {
  ASSERT_FALSE(one.empty());
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], tolerance) << "step " << i;
}

TEST(Training, SpiralReaches95Percent) {
  const Outcome outcome = train({{"model", {{"name", "mlp"}, {"hidden", {64, 32, 16}}}},
                                 {"dataset", {{"name", "spiral"}, {"samples", 10000}}},
                                 {"epochs", 15},
                                 {"batch_size", 32}});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_GE(outcome.metric("val_accuracy"), 0.95);
  EXPECT_EQ(outcome.metric("steps_done"), 15 * 281);
  EXPECT_EQ(outcome.series("loss").size(), 15u * 281u) << "every step is reported";
  EXPECT_GT(outcome.metric("mfu"), 0);
  EXPECT_LT(outcome.metric("samples_per_second_low"), outcome.metric("samples_per_second"));
}

TEST(Training, MarkovTextComesWithinFivePercentOfItsEntropy) {
  const Outcome outcome =
      train({{"model", {{"name", "gpt2"}, {"layers", 2}, {"width", 64}, {"heads", 2}, {"vocabulary", 64}}},
             {"task", "pretrain"},
             {"dataset", {{"name", "markov-text"}}},
             {"steps", 450},
             {"batch_size", 16},
             {"seq_length", 64},
             {"schedule", "cosine"},
             {"warmup_steps", 20},
             {"learning_rate", 5e-3}});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const double floor = outcome.metric("loss_floor");
  EXPECT_GT(floor, 1);
  EXPECT_GT(outcome.metric("val_loss"), floor * 0.97) << "no model can be much better than the source";
  EXPECT_LT(outcome.metric("val_loss"), floor * 1.05);
}

TEST(Training, TheSameSeedGivesTheSameCurve) {
  const auto first = train(tiny_gpt()).series("loss");
  EXPECT_EQ(first, train(tiny_gpt()).series("loss"));
  EXPECT_NE(first, train(tiny_gpt({{"seed", 2}})).series("loss"));
}

TEST(Training, TwoRanksOfHalfTheBatchLearnLikeOne) {
  const Outcome one = train(tiny_gpt({{"batch_size", 8}}));
  const Outcome two = train(tiny_gpt({{"batch_size", 4}}), {"--ranks", "2"});
  EXPECT_EQ(two.exit_code, 0) << two.errors;
  EXPECT_FALSE(two.left_processes);
  expect_same_curve(one.series("loss"), two.series("loss"), 2e-4);
  expect_same_curve(one.series("grad_norm"), two.series("grad_norm"), 2e-3);
  EXPECT_GE(two.metric("rank_busy_seconds_max"), two.metric("rank_busy_seconds_min"));
  EXPECT_GE(two.metric("rank_memory_bytes_max"), two.metric("rank_memory_bytes_min"));
  EXPECT_GT(two.metric("communication_share"), 0);
  EXPECT_EQ(two.first("hello")->at("ranks").to_number<int>(), 2);
}

TEST(Training, TwoRanksLearnLikeOneInBf16) {
  const Outcome one = train(tiny_gpt({{"batch_size", 8}, {"precision", "bf16"}}));
  const Outcome two = train(tiny_gpt({{"batch_size", 4}, {"precision", "bf16"}}), {"--ranks", "2"});
  EXPECT_EQ(two.exit_code, 0) << two.errors;
  expect_same_curve(one.series("loss"), two.series("loss"), 5e-3);
  expect_same_curve(one.series("grad_norm"), two.series("grad_norm"), 2e-2);
}

TEST(Training, HowManyRanksShareAnEvaluationDoesNotChangeIt) {
  // So small a rate that both have the same weights. Seven steps of 16: fewer samples than there are for validation.
  const json::object still{{"learning_rate", 1e-30}, {"steps", 7}, {"dataset", {{"name", "markov-text"}}}};
  json::object one = still;
  one["batch_size"] = 16;
  json::object two = still;
  two["batch_size"] = 8;
  const Outcome alone = train(tiny_gpt(one));
  const Outcome shared = train(tiny_gpt(two), {"--ranks", "2"});
  EXPECT_EQ(alone.metric("val_accuracy"), shared.metric("val_accuracy"));
  EXPECT_NEAR(alone.metric("val_loss"), shared.metric("val_loss"), 1e-6);
}

TEST(Training, AccumulatedBatchesLearnLikeOneLargeBatch) {
  const auto large = train(tiny_gpt({{"batch_size", 8}})).series("loss");
  expect_same_curve(large, train(tiny_gpt({{"batch_size", 4}, {"gradient_accumulation", 2}})).series("loss"), 2e-4);
}

TEST(Training, CheckpointingAndAttentionKernelsDoNotChangeTheCurve) {
  const auto plain = train(tiny_gpt()).series("loss");
  expect_same_curve(plain, train(tiny_gpt({{"gradient_checkpointing", true}})).series("loss"), 1e-4);
  expect_same_curve(plain, train(tiny_gpt({{"attention", "eager"}})).series("loss"), 1e-4);
  expect_same_curve(plain, train(tiny_gpt({{"attention", "math"}})).series("loss"), 1e-4);
}

TEST(Training, EveryOptimiserAndPrecisionLearns) {
  for (const char* optimizer : {"sgd", "adam", "adamw", "adamw_8bit", "paged_adamw_8bit"}) {
    for (const char* precision : {"fp32", "bf16", "bf16_all"}) {
      const bool is_sgd = std::string(optimizer) == "sgd";
      const auto losses = train(tiny_gpt({{"optimizer", optimizer},
                                          {"precision", precision},
                                          {"steps", 30},
                                          {"learning_rate", is_sgd ? 0.1 : 3e-3}}))
                              .series("loss");
      ASSERT_EQ(losses.size(), 30u) << optimizer << ' ' << precision;
      EXPECT_LT(losses.back(), losses.front() - 0.1) << optimizer << ' ' << precision;
    }
  }
}

TEST(Training, LearningRateFollowsTheScheduleAndClippingIsReportedBeforeIt) {
  const Outcome outcome = train(tiny_gpt({{"schedule", "linear"}, {"warmup_steps", 4}, {"gradient_clipping", 0.01}}));
  const auto rates = outcome.series("learning_rate");
  ASSERT_EQ(rates.size(), 12u);
  EXPECT_NEAR(rates[0], 3e-3 / 4, 1e-9);
  EXPECT_NEAR(rates[4], 3e-3, 1e-9);
  EXPECT_NEAR(rates[8], 1.5e-3, 1e-9);
  EXPECT_GT(outcome.series("grad_norm")[0], 0.01) << "the norm is that before clipping";
}

TEST(Training, EvaluatesEveryNStepsAndReportsEpochs) {
  const Outcome outcome = train({{"model", {{"name", "mlp"}}},
                                 {"dataset", {{"name", "spiral"}, {"samples", 640}}},
                                 {"epochs", 3},
                                 {"batch_size", 64},
                                 {"eval_interval", 6}});
  EXPECT_EQ(outcome.series("val_accuracy").size(), 5u) << "9 steps an epoch: 6, 12, 18, 24, and the end";
  int epochs = 0;
  for (const auto& event : outcome.events) epochs += event.at("type") == "epoch";
  EXPECT_EQ(epochs, 3);
}

TEST(Training, ARunLimitedByTimeEnds) {
  const Outcome outcome = train(tiny_gpt({{"steps", nullptr}, {"duration", 1.0}}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_GT(outcome.metric("steps_done"), 0);
  const Outcome two = train(tiny_gpt({{"steps", nullptr}, {"duration", 1.0}}), {"--ranks", "2"});
  EXPECT_EQ(two.exit_code, 0) << two.errors;
}

TEST(Training, EveryModelAndTaskTakesAStep) {
  const std::vector<std::pair<std::string, json::object>> runs = {
      {"resnet18", {{"model", {{"name", "resnet18"}}}, {"dataset", {{"name", "synthetic-images"}, {"samples", 20}}}}},
      {"generated",
       {{"model", {{"name", "generated"}, {"blocks", {"residual", "lstm", "attention"}}, {"width", 16}}},
        {"dataset", {{"name", "spiral"}, {"samples", 100}}}}},
      {"bert",
       {{"model", {{"name", "bert-base"}, {"layers", 1}, {"width", 32}, {"heads", 2}}},
        {"task", "masked-lm"},
        {"seq_length", 16},
        {"dataset", {{"name", "synthetic-tokens"}, {"samples", 50}}}}},
      {"llama",
       {{"model", {{"name", "llama-3.2-1b"}, {"layers", 1}, {"width", 64}, {"heads", 4}, {"vocabulary", 300}}},
        {"task", "finetune"},
        {"seq_length", 16},
        {"dataset", {{"name", "synthetic-tokens"}, {"samples", 50}}}}},
      {"lora",
       {{"model", {{"name", "mistral-7b"}, {"layers", 1}, {"width", 64}, {"heads", 4}, {"vocabulary", 300}}},
        {"task", "lora"},
        {"lora", {{"rank", 4}, {"alpha", 8}}},
        {"seq_length", 16},
        {"gradient_checkpointing", true},
        {"dropout", 0.1},
        {"dataset", {{"name", "synthetic-tokens"}, {"samples", 50}}}}}};
  for (const auto& [name, settings] : runs) {
    json::object spec = settings;
    spec["steps"] = 2;
    spec["batch_size"] = 4;
    const Outcome outcome = train(spec);
    EXPECT_EQ(outcome.exit_code, 0) << name << ": " << outcome.errors;
    EXPECT_EQ(outcome.series("loss").size(), 2u) << name;
    EXPECT_FALSE(std::isnan(outcome.metric("val_loss"))) << name;
  }
}

TEST(Training, LearnsFromATextFile) {
  const std::string path = spec_file({}) + ".txt";
  std::ofstream file(path);
  for (int i = 0; i < 400; ++i) file << "the cat sat on the mat, and the dog lay by the door; ";
  file.close();
  for (const char* tokenize : {"ahead", "on_the_fly"}) {
    const Outcome outcome =
        train(tiny_gpt({{"dataset", {{"name", "text:" + path}}},
                        {"model", {{"name", "gpt2"}, {"layers", 1}, {"width", 32}, {"heads", 2}, {"vocabulary", 256}}},
                        {"data", {{"tokenize", tokenize}}},
                        {"steps", 60}}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_LT(outcome.metric("final_loss"), 3) << tokenize;
  }
}

TEST(Training, AModelThatReadsBytesKnowsBytes) {
  const std::string path = spec_file({}) + ".txt";
  std::ofstream(path) << std::string(4000, 'x');
  const auto parameters = [&](json::object model) {
    model["name"] = "gpt2";
    model["layers"] = 1;
    model["width"] = 32;
    model["heads"] = 2;
    const Outcome outcome = train(tiny_gpt({{"dataset", {{"name", "text:" + path}}}, {"model", model}, {"steps", 1}}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    return outcome.first("hello")->at("parameters").to_number<std::int64_t>();
  };
  EXPECT_EQ(parameters({{"vocabulary", 300}}) - parameters({}), (300 - 256) * 32);
}

TEST(Training, TheFirstGradientsAreTheSameHoweverTheBatchIsShared) {
  const std::string path = spec_file({}) + ".gradients";
  const auto gradients_of = [&](json::object changes, const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"--gradients", path};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = train(tiny_gpt(changes), all);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_GT(outcome.metric("loss"), 0);
    EXPECT_TRUE(outcome.series("loss").empty()) << "nothing is trained";
    const SafetensorsFile file(path);
    std::map<std::string, std::vector<float>> found;
    for (const auto& tensor : file.tensors()) {
      auto& values = found[tensor.name];
      values.resize(tensor.data.size() / sizeof(float));
      std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    }
    return found;
  };
  const auto whole = gradients_of({{"batch_size", 8}}, {});
  const auto shared = gradients_of({{"batch_size", 4}}, {"--ranks", "2"});
  EXPECT_TRUE(whole.contains("wte.weight"));
  ASSERT_EQ(whole.size(), shared.size());
  for (const auto& [name, values] : whole) {
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], shared.at(name)[i], 1e-5) << name << ' ' << i;
  }
}

TEST(Training, AProfileIsAChromeTrace) {
  const std::string path = spec_file({}) + ".trace";
  const Outcome outcome = train(tiny_gpt(), {"--profile", "2", "--trace", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const json::value trace = json::parse(text.str());
  EXPECT_GT(trace.at("traceEvents").as_array().size(), 50u);
  EXPECT_THAT(text.str(), HasSubstr("addmm"));
  EXPECT_THAT(json::serialize(*outcome.first("result")), HasSubstr("profiled"));
}

TEST(Training, ARunOfOneStepThatIsLimitedByTimeHasNoTraceAndSaysSo) {
  const std::string path = spec_file({}) + ".trace";
  // So short a time that it is over before the second step.
  const Outcome outcome =
      train(tiny_gpt({{"steps", nullptr}, {"duration", 1e-6}}), {"--profile", "2", "--trace", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_FALSE(std::ifstream(path)) << "steps of the warm-up are not what a profile shows";
  EXPECT_THAT(json::serialize(*outcome.first("result")), HasSubstr("before the first step"));
}

}  // namespace
}  // namespace assay::engine
