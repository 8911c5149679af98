#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "formats/safetensors.h"
#include "tests/engine_program.h"

namespace assay::engine {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

std::string message_of(const Outcome& outcome) {
  const auto* error = outcome.first("error");
  return error ? std::string(error->at("message").as_string()) : std::string("no error event; ") + outcome.errors;
}

std::string hint_of(const Outcome& outcome) {
  const auto* error = outcome.first("error");
  const auto* hint = error ? error->if_contains("hint") : nullptr;
  return hint ? std::string(hint->as_string()) : std::string();
}

json::object with_weights(const std::string& path) {
  return tiny_gpt(
      {{"model",
        {{"name", "gpt2"}, {"layers", 1}, {"width", 8}, {"heads", 2}, {"vocabulary", 16}, {"weights", path}}}});
}

TEST(Failures, ABatchOfAMillionIsOutOfMemoryWithAnEstimate) {
  // Of 1024 tokens not even the batches fit; of 48 they do, and making them would take minutes.
  for (const int seq_length : {1024, 48}) {
    const Outcome outcome = train({{"model", {{"name", "gpt2"}, {"layers", 2}, {"width", 256}, {"heads", 4}}},
                                   {"task", "pretrain"},
                                   {"dataset", {{"name", "synthetic-tokens"}, {"samples", 100}}},
                                   {"steps", 2},
                                   {"seq_length", seq_length},
                                   {"batch_size", 1000000}});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.error_kind(), "oom") << message_of(outcome);
    EXPECT_THAT(message_of(outcome), HasSubstr("batch_size 1000000"));
    EXPECT_THAT(message_of(outcome), HasSubstr("at the very least")) << "known before any batch was made";
    EXPECT_THAT(hint_of(outcome), HasSubstr("A batch_size of "));
  }
}

TEST(Failures, ALossThatIsNotFiniteEndsTheRun) {
  const Outcome outcome = train(tiny_gpt({{"learning_rate", 1000.0}, {"optimizer", "sgd"}, {"steps", 400}}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.error_kind(), "nan") << message_of(outcome);
}

TEST(Failures, DamagedWeightsAreABadFile) {
  const std::string path = spec_file({}) + ".safetensors";
  std::vector<std::byte> data(16 * 8 * 4);
  const std::vector<TensorView> tensors = {{"wte.weight", Dtype::f32, {16, 8}, data}};
  write_safetensors(path, tensors);
  const Outcome incomplete = train(with_weights(path));
  EXPECT_EQ(incomplete.exit_code, 2);
  EXPECT_EQ(incomplete.error_kind(), "bad_file");
  EXPECT_THAT(message_of(incomplete), HasSubstr("no tensor 'wpe.weight'"));

  std::ifstream whole(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() - 10);
  const Outcome truncated = train(with_weights(path));
  EXPECT_EQ(truncated.exit_code, 2);
  EXPECT_EQ(truncated.error_kind(), "bad_file");
  EXPECT_THAT(hint_of(truncated), HasSubstr("truncated"));

  EXPECT_EQ(train(with_weights(path + ".none")).error_kind(), "missing_file");
}

TEST(Failures, WhatIsMissingOrImpossibleIsNamed) {
  const Outcome text = train({{"model", {{"name", "gpt2"}, {"layers", 1}}},
                              {"task", "pretrain"},
                              {"dataset", {{"name", "text:/nowhere/corpus.txt"}}}});
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_EQ(text.error_kind(), "missing_file");
  EXPECT_THAT(message_of(text), HasSubstr("/nowhere/corpus.txt"));

  const Outcome flash = train(tiny_gpt({{"attention", "flash"}}));
  EXPECT_EQ(flash.exit_code, 3);
  EXPECT_EQ(flash.error_kind(), "unsupported");

  for (const char* precision : {"fp16", "fp16_all", "tf32"}) {
    const Outcome outcome = train(tiny_gpt({{"precision", precision}}));
    EXPECT_EQ(outcome.exit_code, 3) << precision;
    EXPECT_EQ(outcome.error_kind(), "unsupported") << precision;
  }
  const Outcome contradictory = train(tiny_gpt({{"task", "classification"}}));
  EXPECT_EQ(contradictory.exit_code, 2);
  EXPECT_EQ(contradictory.error_kind(), "bad_spec");
}

TEST(Failures, AKilledRankEndsTheOthersAndIsNamed) {
  EngineProgram program({"train", "--ranks", "4", "--spec", spec_file(tiny_gpt({{"steps", 1000000}}))});
  ASSERT_TRUE(program.wait_for_event("\"steps\""));
  const auto ranks = program.children();
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[2], SIGKILL);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.error_kind(), "lost_peer") << outcome.errors;
  EXPECT_THAT(message_of(outcome), HasSubstr("rank 2"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_FALSE(outcome.left_processes);
}

TEST(Failures, AFailureOfAllRanksIsToldOnce) {
  const Outcome outcome =
      train(tiny_gpt({{"learning_rate", 1000.0}, {"optimizer", "sgd"}, {"steps", 400}}), {"--ranks", "2"});
  EXPECT_EQ(outcome.exit_code, 1);
  int errors = 0;
  for (const auto& event : outcome.events) errors += event.at("type") == "error";
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(outcome.error_kind(), "nan");
}

TEST(Failures, EndingTheProgramEndsItsRanks) {
  EngineProgram program({"train", "--ranks", "2", "--spec", spec_file(tiny_gpt({{"steps", 1000000}}))});
  ASSERT_TRUE(program.wait_for_event("\"steps\""));
  ::kill(program.pid(), SIGTERM);
  EXPECT_FALSE(program.finish().left_processes);
}

TEST(Launchers, RanksComeFromTheEnvironment) {
  const std::string spec = spec_file(tiny_gpt());
  const std::string port = std::to_string(20000 + ::getpid() % 10000);
  const auto environment = [&port](int rank) {
    return std::map<std::string, std::string>{{"RANK", std::to_string(rank)},       {"WORLD_SIZE", "2"},
                                              {"LOCAL_RANK", std::to_string(rank)}, {"LOCAL_WORLD_SIZE", "2"},
                                              {"MASTER_ADDR", "127.0.0.1"},         {"MASTER_PORT", port}};
  };
  EngineProgram second({"train", "--spec", spec}, environment(1));
  EngineProgram first({"train", "--spec", spec}, environment(0));
  const Outcome outcome = first.finish();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const Outcome other = second.finish();
  EXPECT_EQ(other.exit_code, 0) << other.errors;
  EXPECT_TRUE(other.events.empty()) << "rank 0 speaks for all";
  EXPECT_EQ(outcome.first("hello")->at("ranks").to_number<int>(), 2);
}

}  // namespace
}  // namespace assay::engine
