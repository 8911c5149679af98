#include "requests/generated_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "requests/conversations.h"

namespace assay {
namespace {

std::size_t words_in(const std::string& text) {
  return text.empty() ? 0 : static_cast<std::size_t>(std::count(text.begin(), text.end(), ' ')) + 1;
}

PromptRequest make(const RequestSet& set, std::uint64_t index) {
  PromptRequest request;
  set.make(index, request);
  return request;
}

std::unique_ptr<RequestSet> generated(GeneratedOptions options) {
  return generate_requests(std::move(options)).value();
}

double mean_of(const Lengths& lengths) {
  Random random(7, "test");
  double sum = 0;
  for (int i = 0; i < 20'000; ++i) sum += lengths.draw(random);
  return sum / 20'000;
}

TEST(RequestsOfShare, AreEveryNthOfAnEndlessSet) {
  const std::shared_ptr<const RequestSet> whole = generated({.seed = {.seed = 4}});
  const auto second = requests_of_share(whole, 1, 3);
  EXPECT_EQ(make(*second, 0), make(*whole, 1));
  EXPECT_EQ(make(*second, 5), make(*whole, 16));
  EXPECT_EQ(requests_of_share(whole, 0, 1), whole);
  EXPECT_EQ(requests_of_share(nullptr, 0, 2), nullptr);
}

TEST(Lengths, HaveTheMeanThatWasAskedFor) {
  EXPECT_EQ(mean_of(Lengths::fixed(67)), 67);
  EXPECT_NEAR(mean_of(Lengths::uniform({.least = 50, .most = 150}).value()), 100, 1);
  EXPECT_NEAR(mean_of(Lengths::normal(500, 50, {}).value()), 500, 2);
  EXPECT_NEAR(mean_of(Lengths::lognormal(780, 380, {}).value()), 780, 12);
  EXPECT_NEAR(mean_of(Lengths::histogram({10, 10, 10, 50}).value()), 20, 0.6);
}

TEST(Lengths, StayWithinTheirBounds) {
  const auto lengths = Lengths::normal(20, 100, {.least = 5, .most = 30}).value();
  Random random(1, "test");
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 2000; ++i) seen.insert(lengths.draw(random));
  EXPECT_EQ(*seen.begin(), 5U);
  EXPECT_EQ(*seen.rbegin(), 30U);
}

TEST(Lengths, RefuseWhatCannotBe) {
  EXPECT_EQ(Lengths::uniform({.least = 9, .most = 8}).error().message, "the least length 9 is above the greatest 8");
  EXPECT_EQ(Lengths::normal(50, -1, {}).error().message, "the deviation -1 of lengths must be 0 or more");
  EXPECT_EQ(Lengths::lognormal(500, 10, {.most = 100}).error().message, "the mean length 500 is not within 1 and 100");
  EXPECT_FALSE(Lengths::histogram({}).ok());
}

TEST(GeneratedRequests, ArePureFunctionsOfSeedCellAndIndex) {
  const GeneratedOptions options{.seed = {5, "r-1/rate=20"}, .input = Lengths::fixed(40), .output = Lengths::fixed(9)};
  const auto one = generated(options);
  const auto other = generated(options);
  EXPECT_EQ(make(*one, 1'000'000), make(*other, 1'000'000));
  EXPECT_EQ(words_in(make(*one, 3).prompt), 40U);
  EXPECT_EQ(make(*one, 3).input_tokens, 40U);
  EXPECT_EQ(make(*one, 3).output_tokens, 9U);
  EXPECT_EQ(one->size(), 0U);
}

TEST(GeneratedRequests, TheWordsOfASeedNeverChange) {
  const auto set = generated({.seed = {5, "cell"}, .input = Lengths::fixed(4)});
  EXPECT_EQ(make(*set, 0).prompt, "evidence sport wife result");
  EXPECT_EQ(make(*set, 9).prompt, "tree site money father");
}

TEST(GeneratedRequests, CellsHaveNothingInCommon) {
  const auto one = generated({.seed = {5, "r-1"}});
  const auto other = generated({.seed = {5, "r-2"}});
  std::set<std::string> starts;
  for (std::uint64_t i = 0; i < 500; ++i) {
    starts.insert(make(*one, i).prompt.substr(0, 60));
    starts.insert(make(*other, i).prompt.substr(0, 60));
  }
  EXPECT_EQ(starts.size(), 1000U);
}

TEST(GeneratedRequests, ShareAsMuchOfTheirStartAsAskedFor) {
  const auto set = generated({.seed = {5, "r-1"}, .input = Lengths::fixed(100), .shared_prefix = 0.3});
  const std::string first = make(*set, 0).prompt;
  const std::string second = make(*set, 1).prompt;
  const auto differ = std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first;
  const std::string common(first.begin(), differ);
  EXPECT_NEAR(static_cast<double>(words_in(common)), 30, 2);
  EXPECT_EQ(words_in(first), 100U);
}

TEST(GeneratedRequests, TakeOneOfSeveralPrefixes) {
  const auto set = generated({.seed = {5, "r-1"}, .input = Lengths::fixed(100), .shared_prefix = 0.5, .prefixes = 3});
  std::set<std::string> starts;
  for (std::uint64_t i = 0; i < 100; ++i) starts.insert(make(*set, i).prompt.substr(0, 60));
  EXPECT_EQ(starts.size(), 3U);
}

TEST(GeneratedRequests, RefuseAShareThatIsNone) {
  EXPECT_EQ(generate_requests({.shared_prefix = 1.5}).error().message,
            "the shared share 1.5 of a prompt is not within 0 and 1");
  EXPECT_FALSE(generate_requests({.prefixes = 0}).ok());
}

struct Means {
  double input = 0;
  double output = 0;
  std::uint32_t most_output = 0;
};
Means means_of(const RequestShape& shape) {
  const auto set = generated({.seed = {5, "r-1"},
                              .instruction = std::string(shape.instruction),
                              .instruction_tokens = shape.instruction_tokens,
                              .input = shape.input,
                              .output = shape.output});
  Means means;
  constexpr int kRequests = 4000;
  PromptRequest request;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    set->make(i, request);
    EXPECT_TRUE(request.prompt.starts_with(shape.instruction));
    means.input += static_cast<double>(request.input_tokens) / kRequests;
    means.output += static_cast<double>(request.output_tokens) / kRequests;
    means.most_output = std::max(means.most_output, request.output_tokens);
  }
  return means;
}

TEST(RequestShapes, HaveTheLengthsOfTheirDataSets) {
  const Means summaries = means_of(*find_shape("summarisation"));
  EXPECT_NEAR(summaries.input, 66.8, 1.2);
  EXPECT_NEAR(summaries.output, 31.3, 0.1);
  EXPECT_EQ(summaries.most_output, 32U);
  const Means news = means_of(*find_shape("news"));
  EXPECT_NEAR(news.input, 780, 25);
  EXPECT_NEAR(news.output, 128, 1e-6);
  EXPECT_EQ(find_shape("poems"), nullptr);
}

TEST(Conversations, EachTurnRepeatsWhatWasSaidBefore) {
  const auto set = make_conversations({.seed = {5, "r-1"},
                                       .turns = 3,
                                       .active = 2,
                                       .system_tokens = 5,
                                       .input = Lengths::fixed(10),
                                       .output = Lengths::fixed(20)})
                       .value();
  // Two conversations at a time: requests 0, 2, 4 are the turns of the first.
  const auto first = make(*set, 0);
  const auto second = make(*set, 2);
  const auto third = make(*set, 4);
  ASSERT_EQ(first.messages.size(), 2U);
  ASSERT_EQ(second.messages.size(), 4U);
  ASSERT_EQ(third.messages.size(), 6U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(second.messages[i], first.messages[i]);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(third.messages[i], second.messages[i]);
  EXPECT_EQ(third.messages[2].role, "assistant");
  EXPECT_EQ(words_in(third.messages[2].content), 20U);
  EXPECT_EQ(third.input_tokens, 5U + 3 * 10 + 2 * 20);
  EXPECT_EQ(third.output_tokens, 20U);
  EXPECT_NE(make(*set, 1).messages[1], first.messages[1]);
  EXPECT_EQ(make(*set, 6).messages.size(), 2U) << "the next pair of conversations begins";
  EXPECT_NE(make(*set, 6).messages[1], first.messages[1]);
}

TEST(Conversations, NeedATurn) { EXPECT_FALSE(make_conversations({.turns = 0}).ok()); }

}  // namespace
}  // namespace assay
