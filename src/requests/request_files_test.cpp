#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "requests/request_file.h"
#include "requests/trace_file.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr std::string_view kAzure =
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 18:15:46.6805900,374,44\r\n"
    "2023-11-16 18:15:50.9951690,396,109\r\n"
    "2023-11-16 18:15:50.1,7,0\r\n";
constexpr std::string_view kMooncake =
    "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [46, 47, 48]}\n"
    "\n"
    "{\"timestamp\": 3052, \"input_length\": 1200, \"output_length\": 6, \"hash_ids\": [46, 47, 99]}\n";

PromptRequest request_of(const RequestSet& set, std::uint64_t index) {
  PromptRequest request;
  set.make(index, request);
  return request;
}

TEST(RequestFile, ReadsPromptsAndMessages) {
  const auto set = parse_request_lines(
      "\xEF\xBB\xBF{\"prompt\": \"Why?\", \"max_tokens\": 7, \"reference\": \"Because.\", \"id\": 3}\r\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}\n\n",
      "a.jsonl", 50);
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ((*set)->size(), 2U);
  const auto first = request_of(**set, 0);
  EXPECT_EQ(first.prompt, "Why?");
  EXPECT_EQ(first.output_tokens, 7U);
  EXPECT_EQ(first.reference, "Because.");
  const auto second = request_of(**set, 1);
  EXPECT_THAT(second.messages, testing::ElementsAre(ChatMessage{"user", "Hi"}));
  EXPECT_EQ(second.output_tokens, 50U);
  EXPECT_EQ(request_of(**set, 2), first) << "begins again";
}

struct BadLine {
  std::string text, at, message;
};
class RequestFileMistake : public testing::TestWithParam<BadLine> {};
TEST_P(RequestFileMistake, NamesItsLine) {
  const auto set = parse_request_lines(GetParam().text, "a.jsonl", 64);
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().kind, ErrorKind::bad_file);
  EXPECT_THAT(set.error().message, testing::StartsWith(GetParam().at + ": "));
  EXPECT_THAT(set.error().message, HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Each, RequestFileMistake,
    testing::Values(BadLine{"", "a.jsonl", "there is no request"},
                    BadLine{"{\"prompt\": \"a\"}\n\nhello\n", "a.jsonl:3", "is not JSON"},
                    BadLine{"[1]", "a.jsonl:1", "is not a JSON object"},
                    BadLine{"{\"promt\": \"a\"}", "a.jsonl:1", "has neither 'prompt' nor 'messages'"},
                    BadLine{"{\"prompt\": \"a\", \"messages\": []}", "a.jsonl:1", "has both"},
                    BadLine{"{\"prompt\": \"\"}", "a.jsonl:1", "must be a text that is not empty"},
                    BadLine{"{\"messages\": []}", "a.jsonl:1", "at least one message"},
                    BadLine{"{\"messages\": [{\"role\": \"user\"}]}", "a.jsonl:1", "'role' and 'content'"},
                    BadLine{"{\"prompt\": \"a\", \"max_tokens\": 0}", "a.jsonl:1", "from 1 to 10000000"},
                    BadLine{"{\"prompt\": \"a\", \"reference\": 5}", "a.jsonl:1", "'reference' must be a text"}));

TEST(TraceFile, ReadsAzuresCsvInOrderOfTime) {
  const auto trace = parse_trace(kAzure, "azure.csv");
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  ASSERT_EQ(trace->entries.size(), 3U);
  EXPECT_EQ(trace->entries[0].at, Nanos(0));
  EXPECT_EQ(trace->entries[1].at, Nanos(3'419'410'000));
  EXPECT_EQ(trace->entries[1].input_tokens, 7U);
  EXPECT_EQ(trace->entries[2].at, Nanos(4'314'579'000));
  EXPECT_EQ(trace->entries[2].output_tokens, 109U);
  EXPECT_NEAR(input_lengths_of(*trace)->mean(), (374 + 396 + 7) / 3.0, 1e-9);
}

TEST(TraceFile, KnowsTimeZones) {
  const auto trace = parse_trace(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,1,1\n2024-05-10T02:00:01+02:00,2,2\n",
      "a.csv");
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->entries[1].at, Nanos(990'070'000));
}

TEST(TraceFile, EqualBlocksAreEqualWords) {
  auto trace = parse_trace(kMooncake, "mooncake.jsonl");
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->entries[1].at, std::chrono::milliseconds(3052));
  const auto set = requests_of_trace(std::move(*trace), {.seed = 1, .cell = "r-1"});
  EXPECT_EQ(set->size(), 2U);
  const std::string first = request_of(*set, 0).prompt;
  const std::string second = request_of(*set, 1).prompt;
  const auto differ = std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first;
  EXPECT_NEAR(static_cast<double>(std::count(first.begin(), differ, ' ')), 1024, 2);
  EXPECT_EQ(std::count(first.begin(), first.end(), ' '), 1099);
}

class TraceMistake : public testing::TestWithParam<BadLine> {};
TEST_P(TraceMistake, NamesItsLine) {
  const auto trace = parse_trace(GetParam().text, "t");
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().kind, ErrorKind::bad_file);
  EXPECT_THAT(trace.error().message, testing::StartsWith(GetParam().at + ": "));
  EXPECT_THAT(trace.error().message, HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Each, TraceMistake,
    testing::Values(
        BadLine{"", "t", "there is no request in the trace"},
        BadLine{"TIMESTAMP,ContextTokens,GeneratedTokens\n", "t", "there is no request in the trace"},
        BadLine{"time,in,out\n1,2,3\n", "t:1", "has not all of the columns"},
        BadLine{"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15,3,4\n", "t:2", "is no time like"},
        BadLine{"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:15:00,3,4\n", "t:2", "is no time like"},
        BadLine{"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:00,3\n", "t:2", "too few columns"},
        BadLine{"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:00,-3,4\n", "t:2", "whole number"},
        BadLine{"{\"timestamp\": 1, \"input_length\": 2}", "t:1", "'output_length' must be"},
        BadLine{"{\"timestamp\": -1, \"input_length\": 2}", "t:1", "'timestamp' must be"},
        BadLine{"{\"timestamp\": 1, \"input_length\": 2.5}", "t:1", "'input_length' must be"},
        BadLine{"{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 2, \"hash_ids\": [-1]}", "t:1",
                "'hash_ids' must be"}));

}  // namespace
}  // namespace assay
