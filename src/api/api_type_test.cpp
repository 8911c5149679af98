#include "api/api_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "api/schema_fixture.h"

namespace assay {

enum class TestColour { red, green };
struct TestPart {
  std::string name;
  int size = 3;
};
struct TestThing {
  TestPart part;
  std::string text = "usual";
  double number = 0;
  bool flag = false;
  std::optional<std::uint64_t> maybe;
  std::optional<std::string> nullable;
  std::vector<TestPart> parts;
  std::map<std::string, double> values;
  TestColour colour = TestColour::green;
  WallTime time;
  std::optional<WallTime> until;
  std::tuple<int, double> pair;
};

template <>
const ApiEnum<TestColour>& api_enum() {
  static const ApiEnum<TestColour> words("Colour", "Of a thing.",
                                         {{TestColour::red, "red"}, {TestColour::green, "green"}});
  return words;
}
template <>
const ApiType<TestPart>& api_type() {
  static const auto type = ApiType<TestPart>("Part", "A part.")
                               .field("name", &TestPart::name, "Its name")
                               .optional("size", &TestPart::size, "In mm");
  return type;
}
template <>
const ApiType<TestThing>& api_type() {
  static const auto type = ApiType<TestThing>("Thing", "A thing.")
                               .all_of(&TestThing::part)
                               .optional("text", &TestThing::text, "A text")
                               .field("number", &TestThing::number, "A number")
                               .added("flag", &TestThing::flag, "A flag")
                               .optional("maybe", &TestThing::maybe, "Left out")
                               .field("nullable", &TestThing::nullable, "Null")
                               .field("parts", &TestThing::parts, "Parts")
                               .field("values", &TestThing::values, "Values")
                               .field("colour", &TestThing::colour, "Colour")
                               .field("time", &TestThing::time, "When")
                               .optional<AsNanos>("until_ns", &TestThing::until, "Until when")
                               .field("pair", &TestThing::pair, "Two");
  return type;
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TestThing full_thing() {
  return {.part = {.name = "a", .size = 5},
          .text = "t",
          .number = 1.5,
          .flag = true,
          .maybe = 7,
          .nullable = "n",
          .parts = {{.name = "b", .size = 3}, {.name = "c", .size = 4}},
          .values = {{"x", 0.5}, {"y", std::nan("")}},
          .colour = TestColour::red,
          .time = WallTime(std::chrono::seconds(1'000)),
          .until = WallTime(Nanos(42)),
          .pair = {1, 2.5}};
}

TEST(ApiType, OneRowWritesReadsAndDescribes) {
  const auto written = write_api(full_thing());
  EXPECT_EQ(json::serialize(written),
            R"({"name":"a","size":5,"text":"t","number":1.5E0,"flag":true,"maybe":7,"nullable":"n",)"
            R"("parts":[{"name":"b"},{"name":"c","size":4}],"values":{"x":5E-1,"y":null},"colour":"red",)"
            R"("time":"1970-01-01T00:16:40.000Z","until_ns":42,"pair":[1,2.5E0]})");
  const auto read = read_api<TestThing>(written);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(json::serialize(write_api(*read)), json::serialize(written));
  EXPECT_THAT(schema_problems<TestThing>(written), IsEmpty());
}

TEST(ApiType, WhatIsAsNewIsLeftOutAndReadsBackTheSame) {
  const auto written = write_api(TestThing{});
  EXPECT_FALSE(written.contains("text"));
  EXPECT_FALSE(written.contains("size"));
  EXPECT_FALSE(written.contains("maybe"));
  EXPECT_FALSE(written.contains("until_ns"));
  EXPECT_TRUE(written.at("nullable").is_null());
  EXPECT_THAT(schema_problems<TestThing>(written), IsEmpty());
  const auto read = read_api<TestThing>(written);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->text, "usual");
  EXPECT_EQ(read->part.size, 3);
  EXPECT_EQ(read->until, std::nullopt);
}

TEST(ApiType, ReadsWhatOlderAndNewerProgramsWrote) {
  auto written = write_api(full_thing());
  written.erase("flag");
  written["news"] = json::array{1};
  const auto read = read_api<TestThing>(written);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_FALSE(read->flag);
}

TEST(ApiType, NamesTheFieldThatIsWrong) {
  const auto error_after = [](std::string_view field, const json::value& value) {
    auto written = write_api(full_thing());
    written[field] = value;
    const auto read = read_api<TestThing>(written);
    EXPECT_FALSE(read.ok()) << field;
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_EQ(error_after("name", 5), "Part: 'name' must be a string");
  EXPECT_EQ(error_after("size", 1e12), "Part: 'size' is out of range");
  EXPECT_EQ(error_after("maybe", -1), "Thing: 'maybe' must not be negative");
  EXPECT_EQ(error_after("flag", "yes"), "Thing: 'flag' must be true or false");
  EXPECT_EQ(error_after("number", "much"), "Thing: 'number' must be a number");
  EXPECT_EQ(error_after("colour", "blue"), "Thing: 'colour' is none that is known");
  EXPECT_EQ(error_after("time", "noon"), "Thing: 'time' is not a time");
  EXPECT_EQ(error_after("parts", 5), "Thing: 'parts' must be a list");
  EXPECT_EQ(error_after("parts", json::array{json::object{}}),
            "Thing: 'parts' has a bad entry: entry 1 is bad: Part: 'name' is missing");
  EXPECT_EQ(error_after("values", {{"x", "low"}}), "Thing: 'values' has a bad entry: 'x' must be a number");
  EXPECT_EQ(error_after("pair", json::array{1}), "Thing: 'pair' must be a list of 2");
  EXPECT_EQ(read_api<TestThing>(5).error().message, "Thing: expected a JSON object");
  EXPECT_EQ(read_api<TestThing>(json::object{}).error().kind, ErrorKind::bad_file);
}

TEST(ApiType, TheSchemaSaysWhatIsThere) {
  const auto schema = schema_of(api_type<TestThing>().info());
  const auto& properties = schema.at("properties").as_object();
  EXPECT_EQ(properties.at("colour").at("$ref").as_string(), "#/components/schemas/Colour");
  EXPECT_EQ(json::serialize(properties.at("number").at("type")), R"(["number","null"])");
  EXPECT_EQ(properties.at("maybe").at("type").as_string(), "integer") << "left out, never null";
  EXPECT_TRUE(properties.at("nullable").as_object().contains("anyOf"));
  EXPECT_EQ(properties.at("parts").at("items").at("$ref").as_string(), "#/components/schemas/Part");
  EXPECT_EQ(properties.at("time").at("format").as_string(), "date-time");
  EXPECT_EQ(json::serialize(schema.at("required")),
            R"(["name","number","flag","nullable","parts","values","colour","time","pair"])");
  EXPECT_EQ(json::serialize(schema_of(api_enum<TestColour>().info).at("enum")), R"(["red","green"])");
  std::vector<std::string> names;
  for (const auto* type : with_referred({&api_type<TestThing>().info()})) names.push_back(type->name);
  EXPECT_THAT(names, ElementsAre("Colour", "Part", "Thing"));
}

TEST(ApiType, TheCheckOfTestsFindsWhatDoesNotFit) {
  auto written = write_api(full_thing());
  written["news"] = 1;
  written["number"] = "1";
  written["colour"] = "blue";
  written["pair"] = json::array{1, 2.0, 3};
  written["parts"] = json::array{json::object{{"name", nullptr}}};
  written.erase("values");
  const auto problems = schema_problems<TestThing>(written);
  EXPECT_THAT(problems, testing::UnorderedElementsAre(
                            HasSubstr("$.news is not described"), HasSubstr("$.number: \"1\" is no"),
                            HasSubstr("$.colour: \"blue\""), HasSubstr("$.pair: another length"),
                            HasSubstr("$.parts[0].name: null is no"), HasSubstr("$.values is missing")));
}

}  // namespace
}  // namespace assay
