#include "model/tags.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;

TEST(Tags, AreWordsOrKeysWithValues) {
  for (const char* good : {"a", "gpu=h200", "x=<b>", "owner=ada@uni", "ü"}) EXPECT_TRUE(check_tag(good).ok()) << good;
  for (const auto& bad : {std::string(), std::string("=x"), std::string("-x"), std::string("a b"), std::string("a,b"),
                          std::string("a\"b"), std::string("a\nb"), std::string("a\x1b[31m"), std::string("a\xff"),
                          std::string(201, 'x')}) {
    EXPECT_FALSE(check_tag(bad).ok()) << bad;
  }
}

TEST(Tags, AreTakenAwayAndAddedOnce) {
  std::vector<std::string> tags = {"a", "no tag", "b"};
  const std::vector<std::string> add = {"c", "b", "c"};
  const std::vector<std::string> remove = {"no tag", "a", "never there"};
  ASSERT_TRUE(change_tags(tags, add, remove).ok());
  EXPECT_THAT(tags, ElementsAre("b", "c"));
}

TEST(Tags, StayAsTheyAreWhenOneIsNoTag) {
  std::vector<std::string> tags = {"a"};
  const std::vector<std::string> add = {"b", "not one"};
  const std::vector<std::string> remove = {"a"};
  EXPECT_FALSE(change_tags(tags, add, remove).ok());
  EXPECT_THAT(tags, ElementsAre("a"));
}

TEST(Tags, AreNotEndless) {
  std::vector<std::string> tags;
  for (std::size_t i = 0; i < kMostTags; ++i) tags.push_back("t" + std::to_string(i));
  const std::vector<std::string> one_more = {"more"};
  EXPECT_FALSE(change_tags(tags, one_more, {}).ok());
  const std::vector<std::string> another_away = {"t0"};
  EXPECT_TRUE(change_tags(tags, one_more, another_away).ok());
  EXPECT_EQ(tags.size(), kMostTags);
}

}  // namespace
}  // namespace assay
