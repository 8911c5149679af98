#include "formats/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "formats/scratch_fixture.h"
#include "support/source_tree.h"

namespace assay::engine {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using test::failure_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using Ids = std::vector<std::int32_t>;

// The tokenizers and what is expected of them were made by testdata/make_fixtures.py.
const fs::path kTestdata = assay::test::source_folder() / "engine/formats/testdata";
constexpr std::array kFixtures = {"gpt2", "llama3", "tinyllama", "mistral", "metaspace"};

Tokenizer fixture(const std::string& name) { return Tokenizer::read((kTestdata / (name + ".json")).string()); }

json::object fixture_json(const std::string& name) {
  return json::parse(test::content_of(kTestdata / (name + ".json"))).as_object();
}

Tokenizer from(const json::value& value) { return Tokenizer::parse(json::serialize(value), "t.json"); }
std::string failure_from(const json::value& value) {
  return failure_of([&] { from(value); });
}

/// A tokenizer in the manner of SentencePiece, without anything that is not asked for.
json::object small(const json::object& vocabulary, const json::array& merges, const json::object& model = {}) {
  json::object all{{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}};
  for (const auto& member : model) all.insert_or_assign(member.key(), member.value());
  return {{"model", all}};
}

class EveryTokenizer : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Fixture, EveryTokenizer, testing::ValuesIn(kFixtures),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(EveryTokenizer, EncodesAsAnIndependentImplementationDoes) {
  const Tokenizer tokenizer = fixture(GetParam());
  const json::object expected = fixture_json("expected");
  const json::array& texts = expected.at("texts").as_array();
  const json::array& answers = expected.at(GetParam()).as_array();
  ASSERT_GE(texts.size(), 50U);
  ASSERT_EQ(texts.size(), answers.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Ids ids = tokenizer.encode(std::string(texts[i].as_string()));
    EXPECT_EQ(json::array(ids.begin(), ids.end()), answers[i]) << json::serialize(texts[i]);
  }
}

/// Text of all kinds, well-formed or not; without special tokens, whose neighbours may lose or gain spaces.
std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {"the ",
                                                   "token",
                                                   "s",
                                                   "  ",
                                                   "\n",
                                                   "\t",
                                                   "12",
                                                   "3.14",
                                                   "don't",
                                                   "'LL",
                                                   "\u6771\u4EAC",
                                                   "\u00E9",
                                                   "e\u0301",
                                                   "\U0001F642",
                                                   "\U0001F680",
                                                   "\U0001F469\u200D\U0001F467",
                                                   "\u00A0",
                                                   "\u3000",
                                                   std::string(1, '\0'),
                                                   "\x7F",
                                                   "\x80",
                                                   "\xFF",
                                                   "\xC3",
                                                   "\xE2\x96",
                                                   "\xF0\x9F\x99",
                                                   "\xED\xA0\x80",
                                                   "(",
                                                   "...",
                                                   "\r\n",
                                                   "Z"};
  std::string text;
  for (std::size_t i = random() % 30; i > 0; --i) text += kPieces[random() % kPieces.size()];
  return text;
}

TEST_P(EveryTokenizer, WhatWasEncodedComesBack) {
  const Tokenizer tokenizer = fixture(GetParam());
  std::mt19937 random(11);
  for (int round = 0; round < 1500; ++round) {
    std::string text = "x" + random_text(random);
    // Without bytes to fall back on, unknown characters are lost for good.
    const bool lossy = GetParam() == std::string("metaspace");
    if (lossy) std::erase_if(text, [](char byte) { return byte < 'a' || byte > 'z'; });
    const Ids ids = tokenizer.encode(text);
    for (const std::int32_t id : ids) ASSERT_TRUE(id >= 0 && id < tokenizer.vocabulary());
    ASSERT_EQ(tokenizer.decode(ids), text) << testing::PrintToString(text);
  }
}

TEST_P(EveryTokenizer, ManyThreadsGetTheSame) {
  const Tokenizer tokenizer = fixture(GetParam());
  std::mt19937 random(5);
  std::vector<std::string> texts;
  std::generate_n(std::back_inserter(texts), 200, [&] { return random_text(random); });
  std::vector<Ids> expected;
  std::transform(texts.begin(), texts.end(), std::back_inserter(expected),
                 [&](const std::string& text) { return tokenizer.encode(text); });
  std::array<int, 3> wrong{};
  {
    std::vector<std::jthread> threads;
    threads.reserve(wrong.size());
    for (int& mistakes : wrong) {
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < texts.size(); ++i) mistakes += tokenizer.encode(texts[i]) != expected[i];
      });
    }
  }
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0));
}

TEST_P(EveryTokenizer, LongTextsWithoutSpacesTakeNoQuadraticTime) {
  // Each of these would run for minutes.
  const Tokenizer tokenizer = fixture(GetParam());
  for (const std::string piece : {"ab", " ", "\u6771", "\xFF", "<", "1", "\n", "\u2581"}) {
    std::string text;
    while (text.size() < 200'000) text += piece;
    EXPECT_FALSE(tokenizer.encode(text).empty()) << piece;
  }
}

TEST(Tokenizer, CutsLongWordsOnlyWhereThatChangesNothing) {
  // The same text with and without a merge that crosses the start of a word, and with characters that are left out.
  const json::object vocabulary = {{"\u2581", 0}, {"a", 1}, {"b", 2}, {"a\u2581", 3}, {"\u2581\u2581", 4}, {"?", 5}};
  json::object tokenizer = small(vocabulary, {"a \u2581", "\u2581 \u2581"}, {{"unk_token", "?"}});
  tokenizer["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  EXPECT_THAT(from(tokenizer).encode("ba b"), ElementsAre(2, 3, 2));
  tokenizer["model"].as_object()["merges"] = json::array{"\u2581 \u2581"};
  EXPECT_THAT(from(tokenizer).encode("ba b x  "), ElementsAre(2, 1, 0, 2, 0, 5, 4));
  tokenizer["model"].as_object().erase("unk_token");
  EXPECT_THAT(from(tokenizer).encode(" x "), ElementsAre(4));  // without the x, the two marks are neighbours
}

TEST(Tokenizer, PrefixesAndMarks) {
  const json::object vocabulary = {{"\u2581", 0}, {"a", 1}, {"<s>", 2}};
  json::object tokenizer = small(vocabulary, {});
  tokenizer["added_tokens"] =
      json::array{{{"id", 2}, {"content", "<s>"}}, {{"id", 3}, {"content", "<n>"}, {"normalized", true}}};
  const auto encode = [&](const json::value& normalizer, const json::value& pre_tokenizer, std::string_view text) {
    tokenizer["normalizer"] = normalizer;
    tokenizer["pre_tokenizer"] = pre_tokenizer;
    return from(tokenizer).encode(text);
  };
  EXPECT_THAT(encode(nullptr, nullptr, "a<s>a"), ElementsAre(1, 2, 1));
  const json::value prepend = {{"type", "Prepend"}, {"prepend", "\u2581"}};
  EXPECT_THAT(encode(prepend, nullptr, "a<s>a"), ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(encode(prepend, nullptr, "\u2581a"), ElementsAre(0, 0, 1));
  EXPECT_THAT(encode(prepend, nullptr, ""), IsEmpty());
  json::object metaspace = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}};
  EXPECT_THAT(encode(nullptr, metaspace, "a<s>a <s>"), ElementsAre(0, 1, 2, 0, 1, 0, 2));
  EXPECT_THAT(encode(nullptr, metaspace, " a"), ElementsAre(0, 1));
  metaspace["prepend_scheme"] = "first";
  EXPECT_THAT(encode(nullptr, metaspace, "a<s>a"), ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(encode(nullptr, metaspace, "<s>a"), ElementsAre(2, 1));
  EXPECT_THAT(encode(nullptr, metaspace, "<n>a"), ElementsAre(3, 1));
  metaspace["prepend_scheme"] = "never";
  EXPECT_THAT(encode(nullptr, metaspace, "a a"), ElementsAre(1, 0, 1));
  metaspace.erase("prepend_scheme");
  metaspace["add_prefix_space"] = false;
  EXPECT_THAT(encode(nullptr, metaspace, "a a"), ElementsAre(1, 0, 1));
}

TEST(Tokenizer, ByteLevelWithAPrefixSpace) {
  json::object tokenizer = fixture_json("gpt2");
  const Ids expected = fixture("gpt2").encode(" the dog");
  tokenizer["pre_tokenizer"].as_object()["add_prefix_space"] = true;
  EXPECT_EQ(from(tokenizer).encode("the dog"), expected);
  EXPECT_EQ(from(tokenizer).encode(" the dog"), expected);
}

TEST(Tokenizer, NormalizedTokensAreFoundInNormalizedText) {
  json::object tokenizer = small({{"\u2581", 0}, {"a", 1}}, {});
  tokenizer["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  tokenizer["added_tokens"] = json::array{{{"id", 2}, {"content", " a"}, {"normalized", true}}};
  EXPECT_THAT(from(tokenizer).encode("a a\u2581a"), ElementsAre(1, 2, 2));
  tokenizer["added_tokens"].as_array()[0].as_object()["normalized"] = false;
  EXPECT_THAT(from(tokenizer).encode("a a\u2581a"), ElementsAre(1, 2, 0, 1));
}

TEST(Tokenizer, DecodesWhatEncodingNeverMakes) {
  const Tokenizer tokenizer = fixture("llama3");
  EXPECT_EQ(tokenizer.decode(Ids{-1, 1'000'000}), "");  // no such tokens
  const Ids begin = tokenizer.encode("<|begin_of_text|>x");
  ASSERT_EQ(begin.size(), 2U);
  EXPECT_EQ(tokenizer.decode(begin), "<|begin_of_text|>x");
  const Ids emoji = tokenizer.encode("\U0001F680");
  ASSERT_GT(emoji.size(), 1U);
  EXPECT_EQ(tokenizer.decode(std::span(emoji).first(1)), "\xF0\x9F");  // half a character is half a character
}

TEST(Tokenizer, VocabularyIsTheLargestNumberPlusOne) {
  json::object tokenizer = small({{"a", 3}, {"b", 0}}, {});
  EXPECT_EQ(from(tokenizer).vocabulary(), 4);
  tokenizer["added_tokens"] = json::array{{{"id", 9}, {"content", "<s>"}}};
  EXPECT_EQ(from(tokenizer).vocabulary(), 10);
}

TEST(Tokenizer, ReadsAFolderAndSaysWhatIsMissing) {
  const test::ScratchFolder folder;
  folder.write("tokenizer.json", json::serialize(small({{"a", 0}}, {})));
  EXPECT_THAT(Tokenizer::read(folder.path().string()).encode("a"), ElementsAre(0));
  EXPECT_THAT(failure_of([&] { Tokenizer::read(folder / "none.json"); }),
              AllOf(StartsWith("missing_file"), HasSubstr("none.json")));
}

TEST(Tokenizer, WhatIsNotSupportedIsNamed) {
  json::object tokenizer = fixture_json("llama3");
  const auto with = [&](std::string_view key, const json::value& value) {
    json::object changed = tokenizer;
    changed[key] = value;
    return failure_from(changed);
  };
  const auto with_model = [&](std::string_view key, const json::value& value) {
    json::object changed = tokenizer;
    changed["model"].as_object()[key] = value;
    return failure_from(changed);
  };
  const auto refuses = [](const std::string& what) { return AllOf(StartsWith("unsupported: "), HasSubstr(what)); };
  EXPECT_THAT(with_model("type", "Unigram"), refuses("model type 'Unigram'"));
  EXPECT_THAT(with_model("dropout", 0.1), refuses("dropout"));
  EXPECT_THAT(with_model("end_of_word_suffix", "</w>"), refuses("end_of_word_suffix"));
  EXPECT_THAT(with_model("continuing_subword_prefix", "##"), refuses("continuing_subword_prefix"));
  EXPECT_THAT(with("normalizer", {{"type", "NFC"}}), refuses("NFC"));
  EXPECT_THAT(with("normalizer", {{"type", "Prepend"}, {"prepend", "\u2581"}}), refuses("before 'ByteLevel'"));
  EXPECT_THAT(with("pre_tokenizer", {{"type", "Whitespace"}}), refuses("'Whitespace'"));
  EXPECT_THAT(with("pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "_"}}), refuses("another mark"));
  const json::object split = {{"type", "Split"}, {"pattern", {{"Regex", "\\d"}}}, {"behavior", "Isolated"}};
  EXPECT_THAT(with("pre_tokenizer", split), refuses("\\\\d"));
  json::object known = tokenizer["pre_tokenizer"].at("pretokenizers").at(0).as_object();
  EXPECT_THAT(with("pre_tokenizer", known), refuses("without 'ByteLevel'"));
  known["behavior"] = "MergedWithPrevious";
  EXPECT_THAT(with("pre_tokenizer", known), refuses("MergedWithPrevious"));
  const json::object word = {{"id", 1}, {"content", "x"}, {"single_word", true}};
  EXPECT_THAT(with("added_tokens", json::array{word}), refuses("single_word"));
  EXPECT_EQ(failure_from(tokenizer), "none");
}

TEST(Tokenizer, ASplitThatKeepsMatchesOnlyIsTheSame) {
  json::object tokenizer = fixture_json("llama3");
  json::object& split = tokenizer["pre_tokenizer"].at("pretokenizers").at(0).as_object();
  split["behavior"] = "Removed";
  split["invert"] = true;
  EXPECT_EQ(from(tokenizer).encode("Hi you're 1234\n!"), fixture("llama3").encode("Hi you're 1234\n!"));
}

TEST(Tokenizer, DamageIsNamed) {
  const auto damaged = [](const std::string& what) {
    return AllOf(StartsWith("bad_file: "), HasSubstr(what), HasSubstr("t.json"));
  };
  EXPECT_THAT(failure_of([] { Tokenizer::parse("{\"model\": ", "t.json"); }), damaged("not a JSON object"));
  EXPECT_THAT(failure_of([] { Tokenizer::parse("[]", "t.json"); }), damaged("not a JSON object"));
  EXPECT_THAT(failure_of([] { Tokenizer::parse("", "t.json"); }), damaged("not a JSON object"));
  EXPECT_THAT(failure_from(json::object{}), damaged("lacks 'model'"));
  EXPECT_THAT(failure_from({{"model", 1}}), damaged("'model' that is not an object"));
  EXPECT_THAT(failure_from(small({}, {})), damaged("has no tokens"));
  EXPECT_THAT(failure_from(small({{"a", -1}}, {})), damaged("the number -1 for the token 'a'"));
  EXPECT_THAT(failure_from(small({{"a", 2147483647}}, {})), damaged("2147483647"));
  EXPECT_THAT(failure_from(small({{"a", "b"}}, {})), damaged("for the token 'a'"));
  EXPECT_THAT(failure_from(small({{"a", 1}, {"b", 1}}, {})), damaged("two tokens with the number 1"));
  EXPECT_THAT(failure_from(small({{"a", 0}, {"b", 1}}, {"a b"})), damaged("needs the token 'ab' for merge 0"));
  EXPECT_THAT(failure_from(small({{"a", 0}}, {"a"})), damaged("merge 0"));
  EXPECT_THAT(failure_from(small({{"a", 0}}, {"a a a"})), damaged("not a pair"));
  EXPECT_THAT(failure_from(small({{"a", 0}}, {json::array{"a", 1}})), damaged("not a pair"));
  EXPECT_THAT(failure_from(small({{"a", 0}}, {}, {{"ignore_merges", "yes"}})), damaged("'ignore_merges'"));
  EXPECT_THAT(failure_from(small({{"a", 0}}, {}, {{"merges", nullptr}})), damaged("lacks 'merges'"));
  json::object tokenizer = small({{"a", 0}}, {});
  tokenizer["added_tokens"] = json::array{{{"content", "x"}}};
  EXPECT_THAT(failure_from(tokenizer), damaged("lacks 'id'"));
  tokenizer["added_tokens"] = json::array{1};
  EXPECT_THAT(failure_from(tokenizer), damaged("'added_tokens' that is not an object"));
}

}  // namespace
}  // namespace assay::engine
