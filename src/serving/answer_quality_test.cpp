#include "serving/answer_quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "requests/request_file.h"

namespace assay {
namespace {

/// The quality of these answers to these lines of a file; an answer of nullptr never came.
json::object quality_of(std::string_view lines, const std::vector<const char*>& answers, bool in_json = false) {
  ServeRequests requests;
  auto set = parse_request_lines(lines, "prompts.jsonl", 8);
  EXPECT_TRUE(set.ok());
  requests.set = std::move(*set);
  QueryRecorder recorder({.texts = true});
  recorder.start_at(SteadyTime());
  std::vector<Request> asked(answers.size());
  for (std::uint32_t i = 0; i < asked.size(); ++i) asked[i] = {.id = i, .sample = i};
  EXPECT_TRUE(recorder.take_down(asked, SteadyTime()));
  for (std::uint64_t i = 0; i < answers.size(); ++i) {
    if (answers[i] == nullptr) continue;
    recorder.complete(Completion{.id = i, .done = SteadyTime(Nanos(1)), .output_tokens = 1, .text = answers[i]});
  }
  recorder.close();
  return answer_quality({.answers_in_json = in_json}, requests, recorder);
}

TEST(AnswerQuality, IsHeldAgainstTheReferences) {
  const char* lines =
      "{\"prompt\": \"a\", \"reference\": \"the cat sat\"}\n"
      "{\"prompt\": \"b\"}\n"
      "{\"prompt\": \"c\", \"reference\": \"a dog\"}\n";
  const auto quality = quality_of(lines, {"The cat sat.", "anything", nullptr});
  EXPECT_EQ(quality.at("answers_scored").to_number<int>(), 2) << "one has no reference";
  EXPECT_DOUBLE_EQ(quality.at("rouge_1").to_number<double>(), 0.5) << "one is right, one never came";
  EXPECT_DOUBLE_EQ(quality.at("rouge_l").to_number<double>(), 0.5);
  EXPECT_FALSE(quality.contains("format_rate"));
}

TEST(AnswerQuality, WithoutReferencesOrAFormatThereIsNone) {
  EXPECT_TRUE(quality_of("{\"prompt\": \"a\"}\n", {"x"}).empty());
}

TEST(AnswerQuality, LooksWhetherAnswersAreJson) {
  const auto quality =
      quality_of("{\"prompt\": \"a\"}\n", {"{\"a\": 1}", "Sure: {", "```json\n[1]\n```", nullptr}, true);
  EXPECT_DOUBLE_EQ(quality.at("format_rate").to_number<double>(), 0.5);
}

}  // namespace
}  // namespace assay
