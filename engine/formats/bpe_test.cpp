#include "formats/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Ids = std::vector<std::int32_t>;

Ids encode(const Bpe& bpe, std::string_view word) {
  Ids ids;
  bpe.encode(word, ids);
  return ids;
}

/// Random merges over the bytes "a" … "f": each token is its text, so that the reference below works on text alone.
struct RandomMerges {
  std::map<std::string, std::int32_t> ids;
  std::vector<std::pair<std::string, std::string>> pairs;

  explicit RandomMerges(std::uint32_t seed, std::size_t count) {
    std::mt19937 random(seed);
    std::vector<std::string> tokens = {"a", "b", "c", "d", "e", "f"};
    for (const std::string& token : tokens) ids.emplace(token, ids.size());
    while (pairs.size() < count) {
      const std::string left = tokens[random() % tokens.size()];
      const std::string right = tokens[random() % tokens.size()];
      if (left.size() + right.size() > 9) continue;
      pairs.emplace_back(left, right);
      if (ids.emplace(left + right, ids.size()).second) tokens.push_back(left + right);
    }
    // A merge may come before those that make its parts.
    std::shuffle(pairs.begin(), pairs.end(), random);
  }

  Bpe bpe() const {
    BpeParts parts;
    for (char byte = 'a'; byte <= 'f'; ++byte) parts.byte_ids[static_cast<unsigned char>(byte)] = byte - 'a';
    for (const auto& [left, right] : pairs) {
      parts.merges.push_back({ids.at(left), ids.at(right), ids.at(left + right)});
    }
    return Bpe(parts);
  }

  /// The plainest implementation: joins the best pair, the leftmost of equals, and starts again.
  Ids reference(const std::string& word) const {
    std::map<std::pair<std::string, std::string>, std::size_t> ranks;
    for (std::size_t rank = 0; rank < pairs.size(); ++rank) ranks[pairs[rank]] = rank;
    std::vector<std::string> symbols;
    for (const char byte : word) symbols.emplace_back(1, byte);
    while (true) {
      std::size_t best = pairs.size();
      std::size_t at = 0;
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto found = ranks.find({symbols[i], symbols[i + 1]});
        if (found == ranks.end() || found->second >= best) continue;
        best = found->second;
        at = i;
      }
      if (best == pairs.size()) break;
      symbols[at] += symbols[at + 1];
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    Ids found;
    for (const std::string& symbol : symbols) found.push_back(ids.at(symbol));
    return found;
  }
};

std::string random_word(std::mt19937& random, std::size_t length) {
  std::string word;
  while (word.size() < length) word += static_cast<char>('a' + random() % 6);
  return word;
}

TEST(Bpe, JoinsByRankAndFromTheLeft) {
  BpeParts parts;
  parts.byte_ids['a'] = 0;
  parts.byte_ids['b'] = 1;
  parts.merges = {{0, 1, 2}, {0, 0, 3}, {3, 3, 4}};
  const Bpe bpe(parts);
  EXPECT_THAT(encode(bpe, "aab"), ElementsAre(0, 2));    // ab before aa
  EXPECT_THAT(encode(bpe, "aaa"), ElementsAre(3, 0));    // from the left
  EXPECT_THAT(encode(bpe, "aaaaa"), ElementsAre(4, 0));  // what was joined is joined on
  EXPECT_THAT(encode(bpe, "ba"), ElementsAre(1, 0));
  EXPECT_THAT(encode(bpe, ""), IsEmpty());
}

TEST(Bpe, AgreesWithThePlainestImplementation) {
  std::mt19937 random(7);
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const RandomMerges merges(seed, 10 + seed * 4);
    const Bpe bpe = merges.bpe();
    for (int round = 0; round < 60; ++round) {
      const std::string word = random_word(random, random() % 80);  // short ones and long ones go different ways
      ASSERT_EQ(encode(bpe, word), merges.reference(word)) << "seed " << seed << ", word " << word;
    }
    const std::string same(seed * 3, 'a');
    ASSERT_EQ(encode(bpe, same), merges.reference(same)) << "seed " << seed;
  }
}

TEST(Bpe, AsksTheCacheForTheRightWordOfTheRightEncoding) {
  const RandomMerges one(1, 40);
  const RandomMerges other(2, 40);
  const Bpe first = one.bpe();
  const Bpe second = other.bpe();
  std::mt19937 random(3);
  std::vector<std::string> words;
  std::generate_n(std::back_inserter(words), 3000, [&] { return random_word(random, 1 + random() % 7); });
  for (int round = 0; round < 2; ++round) {  // the second time, most come from the cache
    for (const std::string& word : words) {
      ASSERT_EQ(encode(first, word), one.reference(word));
      ASSERT_EQ(encode(second, word), other.reference(word));
    }
  }
}

TEST(Bpe, AnEncodingInThePlaceOfAnotherHasItsOwnWords) {
  const auto alone = [](std::int32_t id) {
    BpeParts parts;
    parts.byte_ids['a'] = id;
    return Bpe(parts);
  };
  Bpe bpe = alone(1);
  EXPECT_THAT(encode(bpe, "a"), ElementsAre(1));
  bpe = alone(2);
  EXPECT_THAT(encode(bpe, "a"), ElementsAre(2));
}

TEST(Bpe, EncodesAWordOfAMillionBytes) {
  // With quadratic time this test would run for minutes.
  const RandomMerges merges(5, 60);
  const Bpe bpe = merges.bpe();
  std::mt19937 random(5);
  const std::string word = random_word(random, 1'000'000);
  std::map<std::int32_t, std::string> texts;
  for (const auto& [text, id] : merges.ids) texts[id] = text;
  std::string joined;
  for (const std::int32_t id : encode(bpe, word)) joined += texts.at(id);
  EXPECT_EQ(joined, word);
  EXPECT_LT(encode(bpe, std::string(1'000'000, 'a')).size(), 1'000'001U);
}

TEST(Bpe, UnknownCharacters) {
  BpeParts parts;
  parts.starts_as_bytes = false;
  parts.characters = {{'a', 1}, {0xE9, 2}};
  EXPECT_THAT(encode(Bpe(parts), "axxa\u00E9"), ElementsAre(1, 1, 2));  // without a token they are left out
  parts.unknown = 0;
  EXPECT_THAT(encode(Bpe(parts), "axya\u00E9\xC3"), ElementsAre(1, 0, 0, 1, 2, 0));
  parts.fuse_unknown = true;
  EXPECT_THAT(encode(Bpe(parts), "xyaxy"), ElementsAre(0, 1, 0));
  parts.byte_ids[0xC3] = 10;
  parts.byte_ids['x'] = 11;
  // Bytes only where there is one for each byte of the character: "ä" is C3 A4.
  EXPECT_THAT(encode(Bpe(parts), "x\u00E4\xC3"), ElementsAre(11, 0, 10));
  parts.byte_ids[0xA4] = 12;
  EXPECT_THAT(encode(Bpe(parts), "x\u00E4\xC3"), ElementsAre(11, 10, 12, 10));
}

TEST(Bpe, WholeWordsComeBeforeMerges) {
  BpeParts parts;
  parts.byte_ids['a'] = 0;
  parts.byte_ids['b'] = 1;
  parts.merges = {{0, 1, 2}};
  parts.whole_words = {{"aab", 7}, {"ba", 8}};
  const Bpe bpe(parts);
  EXPECT_THAT(encode(bpe, "aab"), ElementsAre(7));
  EXPECT_THAT(encode(bpe, "ba"), ElementsAre(8));
  EXPECT_THAT(encode(bpe, "aaba"), ElementsAre(0, 2, 0));
}

TEST(Bpe, OfTheSamePairTwiceTheLastCounts) {
  BpeParts parts;
  parts.byte_ids['a'] = 0;
  parts.byte_ids['b'] = 1;
  parts.merges = {{0, 1, 2}, {0, 0, 3}, {0, 1, 2}};
  EXPECT_THAT(encode(Bpe(parts), "aab"), ElementsAre(3, 1));
}

TEST(Bpe, ManyThreadsAtOnce) {
  const RandomMerges merges(9, 60);
  const Bpe bpe = merges.bpe();
  std::mt19937 random(9);
  std::vector<std::string> words;
  std::vector<Ids> expected;
  for (int i = 0; i < 300; ++i) {
    words.push_back(random_word(random, 1 + random() % 40));
    expected.push_back(merges.reference(words.back()));
  }
  std::vector<int> wrong(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(wrong.size());
    for (int& mistakes : wrong) {
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < words.size() * 3; ++i) {
          mistakes += encode(bpe, words[i % words.size()]) != expected[i % words.size()];
        }
      });
    }
  }
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace assay::engine
