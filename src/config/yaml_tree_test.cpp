#include "config/yaml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> problems_of(std::string_view text) {
  Problems problems;
  static_cast<void>(read_yaml(text, {.file = "b.yaml", .what = "specification"}, problems));
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : problems.take()) texts.push_back(diagnostic.text());
  return texts;
}

YamlNode tree(std::string_view text) {
  Problems problems;
  auto node = read_yaml(text, {.file = "b.yaml", .what = "specification"}, problems);
  EXPECT_TRUE(problems.none()) << text;
  return node.value_or(YamlNode());
}

std::string repeated(std::string_view part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += part;
  return all;
}

TEST(YamlTree, KeepsTextAndPlaces) {
  const YamlNode root = tree("a: no\nüb: [\"ö\", ~]\n");
  ASSERT_EQ(root.entries.size(), 2U);
  EXPECT_EQ(root.entries[0].value.text, "no");
  EXPECT_FALSE(root.entries[0].value.quoted);
  const YamlNode& list = root.entries[1].value;
  EXPECT_EQ(list.place.line, 2);
  EXPECT_EQ(list.place.column, 5) << "columns count characters, not bytes";
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_TRUE(list.items[0].quoted);
  EXPECT_EQ(list.items[1].text, "~");
  EXPECT_EQ(list.items[1].place.column, 11);
}

TEST(YamlTree, TellsASpelledNullFromAMissingValue) {
  const YamlNode root = tree("a: null\nb:\nnull: 1\nc: {d: , e: ~}\n");
  EXPECT_EQ(root.find("a")->text, "null");
  EXPECT_EQ(root.find("b")->kind, YamlNode::Kind::empty);
  EXPECT_EQ(root.find("b")->place.line, 2) << "where the value is missing, not where the next key is";
  EXPECT_EQ(root.find("null")->text, "1");
  EXPECT_EQ(root.find("c")->find("d")->kind, YamlNode::Kind::empty);
  EXPECT_EQ(root.find("c")->find("e")->text, "~");
}

TEST(YamlTree, LineEndingsAndByteOrderMarkMakeNoDifference) {
  for (const std::string_view text : {"a: 1\nb: 2\n", "a: 1\r\nb: 2\r\n", "a: 1\rb: 2\r",
                                      "\xEF\xBB\xBF"
                                      "a: 1\r\nb: 2"}) {
    const YamlNode root = tree(text);
    ASSERT_EQ(root.entries.size(), 2U);
    EXPECT_EQ(root.entries[0].value.text, "1");
    EXPECT_EQ(root.entries[1].key_place.line, 2);
    EXPECT_EQ(root.entries[1].key_place.column, 1);
  }
}

TEST(YamlTree, ReportsEveryDuplicateOnce) {
  EXPECT_THAT(problems_of("a: 1\nb: {c: 1, c: 2}\na: 3\na: 4\n"),
              ElementsAre("b.yaml:2:11: key 'c' is given twice, first in line 2. Remove one of them.",
                          "b.yaml:3:1: key 'a' is given twice, first in line 1. Remove one of them.",
                          "b.yaml:4:1: key 'a' is given twice, first in line 1. Remove one of them."));
}

TEST(YamlTree, RefusesWhatIsNotPlainText) {
  using namespace std::string_literals;
  EXPECT_THAT(problems_of("a: 1\nb\0: 2\n"s),
              ElementsAre("b.yaml:2:2: a NUL character. A specification is plain text; is this the right file?"));
  EXPECT_THAT(problems_of("a: \"\\0\"\n"), ElementsAre("b.yaml:1:4: text must not contain a NUL character."));
  EXPECT_THAT(problems_of("a: 1\nü\x04: 2\n"), ElementsAre("b.yaml:2:2: control character 0x04. Remove it."));
  for (const std::string_view bytes : {"\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    EXPECT_THAT(problems_of("a: " + std::string(bytes)),
                ElementsAre(HasSubstr("is not valid UTF-8. Save the file as UTF-8.")));
  }
  EXPECT_THAT(problems_of("k\0i\0n\0d\0"s), testing::SizeIs(1)) << "UTF-16";
}

TEST(YamlTree, RefusesWhatMakesYamlDangerous) {
  const auto aliases = ElementsAre(HasSubstr("anchors (&) and aliases (*) are not supported"));
  EXPECT_THAT(problems_of("a: &a [1, *a]\n"), aliases);
  EXPECT_THAT(problems_of("a: *b\n"), aliases);
  EXPECT_THAT(problems_of("a: &a x\nb: [*a, *a, *a]\nc: [*b, *b]\n"), aliases);
  EXPECT_THAT(problems_of("a: !!str 5\n"), ElementsAre(HasSubstr("YAML tags (!) are not supported")));
  EXPECT_THAT(problems_of("a: 1\n---\nb: 2\n"),
              ElementsAre(HasSubstr("b.yaml:2:1: a second YAML document starts here")));
  EXPECT_THAT(problems_of("? [a, b]\n: c\n"),
              ElementsAre("b.yaml:1:3: a list stands where a key must be. Is its closing ']' missing?"));
}

TEST(YamlTree, BoundsDepthAndSize) {
  EXPECT_THAT(problems_of(repeated("[", 10000) + repeated("]", 10000)),
              ElementsAre("b.yaml:1:33: nested more than 32 levels deep."));
  EXPECT_THAT(problems_of(repeated("[", 33) + repeated("]", 33)),
              ElementsAre("b.yaml:1:33: nested more than 32 levels deep."));
  EXPECT_THAT(problems_of(repeated("[", 10000)), testing::SizeIs(1));
  EXPECT_THAT(problems_of(repeated("{a: ", 10000) + repeated("}", 10000)),
              ElementsAre(HasSubstr("nested more than 32 levels deep.")));
  EXPECT_THAT(problems_of(repeated("- ", 10000)), ElementsAre(HasSubstr("nested more than 32 levels deep.")));
  EXPECT_THAT(problems_of(repeated("[", 32) + repeated("]", 32)), IsEmpty());
  EXPECT_THAT(problems_of(repeated("a: 1\n", 2 * 1024 * 1024 / 5)),
              ElementsAre("b.yaml: the file has 2.00 MiB; a specification has at most 1.00 MiB."));
}

TEST(YamlTree, PlacesInALongLineAreCountedOnce) {
  // Counting every column from the start of the line took minutes here.
  const YamlNode root = tree("ä: [" + repeated("ü, ", 200'000) + "x]\n");
  ASSERT_EQ(root.entries[0].value.items.size(), 200'001U);
  EXPECT_EQ(root.entries[0].value.items.back().place.column, 5 + 3 * 200'000);
}

TEST(YamlTree, SyntaxErrorsSayWhatToLookFor) {
  EXPECT_THAT(problems_of("a:\n\tb: 1\n"),
              ElementsAre("b.yaml:2:3: a tab in the indentation. YAML allows only spaces there."));
  EXPECT_THAT(problems_of("a: 1\n\tb: 2\n"),
              ElementsAre("b.yaml:2:1: a tab in the indentation. YAML allows only spaces there."));
  EXPECT_THAT(problems_of("a: [1, 2\nb: 3\n"),
              ElementsAre("b.yaml:2:2: the list that opens in line 1 is not closed. Add the missing ']' or ','."));
  EXPECT_THAT(problems_of("a: \"x\nb: 1\n"),
              ElementsAre("b.yaml:1:4: the quote that opens here is never closed. Add the closing \"."));
  EXPECT_THAT(problems_of("a: 'it''s\n"),
              ElementsAre("b.yaml:1:4: the quote that opens here is never closed. Add the closing '."));
  EXPECT_THAT(problems_of("a: b: c\n"), ElementsAre(HasSubstr("b.yaml:1:5: ':' is not expected here.")));
  EXPECT_THAT(problems_of("a: @x\n"),
              ElementsAre("b.yaml:1:4: a value cannot start with this character. Put the value in quotes."));
}

TEST(YamlTree, OverrideValuesAreVerbatimUnlessBracketedOrQuoted) {
  Problems problems;
  const Place place{"--set"};
  EXPECT_EQ(read_yaml_value(" echo a: b # c ", place, problems)->text, "echo a: b # c");
  EXPECT_TRUE(read_yaml_value("'5'", place, problems)->quoted);
  EXPECT_EQ(read_yaml_value("[1, {ranks: 2}]", place, problems)->items.size(), 2U);
  EXPECT_EQ(read_yaml_value("", place, problems)->kind, YamlNode::Kind::empty);
  EXPECT_TRUE(problems.none());
  EXPECT_FALSE(read_yaml_value("[1", place, problems));
  EXPECT_EQ(problems.take().at(0).line, 0);
}

}  // namespace
}  // namespace assay
