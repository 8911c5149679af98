#include "requests/request_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.h"

namespace assay {
namespace {

Result<std::unique_ptr<RequestSet>> set_of(json::object requests) {
  return requests_of_settings(requests, {1, "cell"});
}

PromptRequest first_of(json::object requests) {
  const auto set = set_of(std::move(requests));
  EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().text());
  PromptRequest request;
  if (set.ok()) (*set)->make(0, request);
  return request;
}

TEST(RequestSettings, DefaultsAreThoseOfTheSpecification) {
  EXPECT_EQ(first_of({}).input_tokens, 128U);
  EXPECT_EQ(first_of({}).output_tokens, 64U);
  EXPECT_EQ(first_of({{"input_tokens", 67}, {"output_tokens", 32}}).input_tokens, 67U);
}

TEST(RequestSettings, ChooseTheSet) {
  EXPECT_THAT(first_of({{"dataset", "summarisation"}}).prompt, testing::StartsWith("Summarise the text:"));
  EXPECT_THAT(first_of({{"dataset", "conversation"}, {"system_tokens", 0}}).messages, testing::SizeIs(1));
  const TemporaryFolder folder;
  const auto file = folder.path() / "r.jsonl";
  ASSERT_TRUE(write_file_atomically(file, "{\"prompt\": \"hi\"}\n").ok());
  EXPECT_EQ(first_of({{"dataset", "file:" + file.string()}, {"output_tokens", 9}}).output_tokens, 9U);
  EXPECT_EQ(set_of({{"dataset", "file:/nowhere.jsonl"}}).error().kind, ErrorKind::missing_file);
  EXPECT_FALSE(set_of({{"dataset", "poems"}}).ok());
}

TEST(RequestSettings, SpreadLengths) {
  const auto set = set_of({{"input_tokens", 50}, {"input_distribution", "uniform"}, {"input_spread", 2}});
  ASSERT_TRUE(set.ok());
  std::set<std::uint32_t> seen;
  PromptRequest request;
  for (std::uint64_t i = 0; i < 200; ++i) {
    (*set)->make(i, request);
    seen.insert(request.input_tokens);
  }
  EXPECT_THAT(seen, testing::ElementsAre(48, 49, 50, 51, 52));
}

TEST(RequestSettings, DrawLengthsFromATrace) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "t.csv";
  ASSERT_TRUE(write_file_atomically(file, "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00,11,5\n").ok());
  const auto request = first_of({{"lengths_from", file.string()}});
  EXPECT_EQ(request.input_tokens, 11U);
  EXPECT_EQ(request.output_tokens, 5U);
}

}  // namespace
}  // namespace assay
