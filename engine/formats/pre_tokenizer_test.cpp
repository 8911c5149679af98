#include "formats/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "formats/unicode.h"

namespace assay::engine {
namespace {

using testing::ElementsAre;

// More texts, cut by the real regular expressions, are in testdata/expected.json (see tokenizer_test.cpp).
std::vector<std::string> words(SplitPattern pattern, std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::size_t length = first_word(pattern, text);
    found.emplace_back(text.substr(0, length));
    if (length == 0 || length > text.size()) break;
    text.remove_prefix(length);
  }
  return found;
}
auto gpt2(std::string_view text) { return words(SplitPattern::gpt2, text); }
auto llama3(std::string_view text) { return words(SplitPattern::llama3, text); }

TEST(PreTokenizer, KnowsItsPatterns) {
  EXPECT_EQ(split_pattern(kGpt2Regex), SplitPattern::gpt2);
  EXPECT_EQ(split_pattern(kLlama3Regex), SplitPattern::llama3);
  EXPECT_EQ(split_pattern(R"(\s+)"), std::nullopt);
  EXPECT_EQ(split_pattern(""), std::nullopt);
}

TEST(PreTokenizer, Gpt2Words) {
  EXPECT_THAT(gpt2("Hello world"), ElementsAre("Hello", " world"));
  EXPECT_THAT(gpt2("a  b   c "), ElementsAre("a", " ", " b", "  ", " c", " "));
  EXPECT_THAT(gpt2("x\n\ty"), ElementsAre("x", "\n", "\t", "y"));
  EXPECT_THAT(gpt2("abc123 456..."), ElementsAre("abc", "123", " 456", "..."));
  EXPECT_THAT(gpt2("we'll I'LL '''s 'x"), ElementsAre("we", "'ll", " I", "'", "LL", " '''", "s", " '", "x"));
  EXPECT_THAT(gpt2("'s'd'm't're've'll'r"), ElementsAre("'s", "'d", "'m", "'t", "'re", "'ve", "'ll", "'", "r"));
  EXPECT_THAT(gpt2("h\u00E9llo\u00A0\u00BD\u6771"), ElementsAre("h\u00E9llo", "\u00A0", "\u00BD", "\u6771"));
  EXPECT_THAT(gpt2("e\u0301"), ElementsAre("e", "\u0301"));  // a combining mark is no letter
}

TEST(PreTokenizer, Llama3Words) {
  EXPECT_THAT(llama3("Hello world"), ElementsAre("Hello", " world"));
  EXPECT_THAT(llama3("\tint (x)"), ElementsAre("\tint", " (", "x", ")"));
  EXPECT_THAT(llama3("1234567 89"), ElementsAre("123", "456", "7", " ", "89"));
  EXPECT_THAT(llama3("we'LL 'Re'S"), ElementsAre("we", "'LL", " '", "Re", "'S"));
  EXPECT_THAT(llama3("'\u017F!"), ElementsAre("'\u017F", "!"));
  EXPECT_THAT(llama3("a;\r\n\n b"), ElementsAre("a", ";\r\n\n", " b"));
  EXPECT_THAT(llama3("a \n \n  b"), ElementsAre("a", " \n \n", " ", " b"));
  EXPECT_THAT(llama3("\nabc"), ElementsAre("\n", "abc"));
  EXPECT_THAT(llama3("a   "), ElementsAre("a", "   "));
  EXPECT_THAT(llama3("\t!"), ElementsAre("\t", "!"));
}

TEST(PreTokenizer, BytesThatAreNotUtf8AreSymbols) {
  EXPECT_THAT(gpt2("a\x80\xFF b"), ElementsAre("a", "\x80\xFF", " b"));
  EXPECT_THAT(llama3("a \xE2\x96\n1"), ElementsAre("a", " \xE2\x96\n", "1"));
  EXPECT_THAT(llama3("\xC3"), ElementsAre("\xC3"));
}

TEST(PreTokenizer, EveryByteIsInSomeWordAndNoCharacterIsCut) {
  std::mt19937 random(1);
  const std::string pool = "  \n\r\t''sStTlLaZ09!.\xC3\xA9\xE6\x9D\xB1\xF0\x9F\x99\x82\x80\xFF\xC2\xA0\xCC\x81";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t i = random() % 40; i > 0; --i) text += pool[random() % pool.size()];
    for (const SplitPattern pattern : {SplitPattern::gpt2, SplitPattern::llama3}) {
      std::string joined;
      for (const std::string& word : words(pattern, text)) {
        ASSERT_FALSE(word.empty());
        const Char last = last_char(text.substr(0, joined.size() + word.size()));
        ASSERT_EQ(last.code, last_char(word).code) << testing::PrintToString(text);
        joined += word;
      }
      ASSERT_EQ(joined, text);
    }
  }
}

}  // namespace
}  // namespace assay::engine
