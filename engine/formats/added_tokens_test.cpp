#include "formats/added_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

AddedTokens tokens(const std::vector<AddedToken>& list) {
  AddedTokens added;
  for (const AddedToken& token : list) added.add(token);
  return added;
}

/// Texts as they are, tokens as "#id".
std::vector<std::string> split(const AddedTokens& added, std::string_view text) {
  std::vector<std::string> parts;
  std::size_t covered = 0;
  added.split(
      text,
      [&](std::string_view piece, std::size_t offset) {
        EXPECT_EQ(text.substr(offset, piece.size()), piece);
        EXPECT_GE(offset, covered);
        covered = offset + piece.size();
        parts.emplace_back(piece);
      },
      [&](std::int32_t id) { parts.push_back("#" + std::to_string(id)); });
  return parts;
}

TEST(AddedTokens, SplitsTextAtTokens) {
  const AddedTokens added = tokens({{"<s>", 1}, {"</s>", 2}});
  EXPECT_THAT(split(added, "<s>a b</s><s></s>c"), ElementsAre("#1", "a b", "#2", "#1", "#2", "c"));
  EXPECT_THAT(split(added, "<s </s <<s>>"), ElementsAre("<s </s <", "#1", ">"));
  EXPECT_THAT(split(added, ""), IsEmpty());
  EXPECT_THAT(split(AddedTokens(), "<s>"), ElementsAre("<s>"));
}

TEST(AddedTokens, TheFirstAndLongestCounts) {
  const AddedTokens added = tokens({{"ab", 1}, {"abcd", 2}, {"bc", 3}, {"abcde!", 4}});
  EXPECT_THAT(split(added, "abcdef"), ElementsAre("#2", "ef"));
  EXPECT_THAT(split(added, "abcxbc"), ElementsAre("#1", "cx", "#3"));
}

TEST(AddedTokens, OfTheSameContentTheLastCountsAndEmptyOnesNever) {
  EXPECT_THAT(split(tokens({{"x", 1}, {"x", 2}, {"", 3}}), "ax"), ElementsAre("a", "#2"));
  EXPECT_TRUE(tokens({{"", 3}}).empty());
}

TEST(AddedTokens, StripsWhiteSpaceWhereAsked) {
  const AddedTokens added =
      tokens({{"<l>", 1, true, false}, {"<r>", 2, false, true}, {"<b>", 3, true, true}, {"<n>", 4}});
  EXPECT_THAT(split(added, "a \u3000\n<l> b"), ElementsAre("a", "#1", " b"));
  EXPECT_THAT(split(added, "a <r> \t\u00A0b"), ElementsAre("a ", "#2", "b"));
  EXPECT_THAT(split(added, " <b>  <b> "), ElementsAre("#3", "#3"));
  EXPECT_THAT(split(added, " <n> <l>"), ElementsAre(" ", "#4", "#1"));
}

}  // namespace
}  // namespace assay::engine
