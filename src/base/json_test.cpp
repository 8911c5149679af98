#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

std::string error_of(std::string_view text) {
  const auto value = parse_json(text);
  if (value.ok()) {
    ADD_FAILURE() << "was accepted: " << text;
    return {};
  }
  EXPECT_EQ(value.error().kind, ErrorKind::bad_file);
  return value.error().message;
}

TEST(ParseJson, ReadsOneDocument) {
  EXPECT_EQ(*parse_json(R"({"a": [1, 2.5, "x", null, true]})"),
            (json::value{{"a", json::array{1, 2.5, "x", nullptr, true}}}));
  EXPECT_EQ(*parse_json("12"), json::value(12));
  EXPECT_EQ(*parse_json(" {} \r\n\t"), json::value(json::object{}));
}

TEST(ParseJson, SaysWhereItWentWrong) {
  EXPECT_THAT(error_of(R"({"a": tru})"), StartsWith("not valid JSON at byte "));
  EXPECT_THAT(error_of(R"({"a": 1)"), StartsWith("not valid JSON at byte 7: "));
  EXPECT_EQ(error_of("{} x"), "not valid JSON: extra text at byte 3");
  EXPECT_THAT(error_of(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{'a': 1}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("[1,]"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("NaN"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("\"\xff\""), HasSubstr("not valid JSON"));
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_TRUE(parse_json(std::string(32, '[') + std::string(32, ']')).ok());
  EXPECT_THAT(error_of(std::string(33, '[') + std::string(33, ']')), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("not valid JSON"));
}

TEST(ParseJsonStrictly, RefusesAKeyThatStandsTwice) {
  for (const char* text : {R"({"node": "gpu03", "node": ""})", R"({"a": [{"b": 1, "b": 1}]})",
                           R"({"a": 1, "\u0061": 2})", R"({"a": {"c": ":"}, "b": "\\", "a": 3})"}) {
    EXPECT_TRUE(parse_json(text).ok()) << text;
    const auto value = parse_json_strictly(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_THAT(value.error().message, HasSubstr("twice")) << text;
  }
  EXPECT_EQ(parse_json_strictly(R"({"x": 1, "x": 2})").error().message, "the key 'x' stands there twice");
}

TEST(ParseJsonStrictly, TakesEverythingElse) {
  for (const char* text : {R"({"a": {"a": 1}, "b": {"a": 1}})", R"([{"a": 1}, {"a": 1}])", R"({"a": "\"a\": 1, {"})",
                           R"({"a": ["a", "a:", "{"], "b": "a"})", "[]", "\"a:\"", "7", R"({"": 1, " ": 2})"}) {
    EXPECT_EQ(*parse_json_strictly(text), *parse_json(text)) << text;
  }
  EXPECT_THAT(parse_json_strictly("{").error().message, HasSubstr("not valid JSON"));
}

TEST(Finite, TurnsWhatJsonCannotSayIntoNull) {
  EXPECT_EQ(finite(0.5), json::value(0.5));
  EXPECT_TRUE(finite(std::nan("")).is_null());
  EXPECT_TRUE(finite(std::numeric_limits<double>::infinity()).is_null());
}

TEST(PrettyJson, IsIndentedAndKeepsTheOrder) {
  const json::value value{
      {"b", 1}, {"a", {{"x", json::array{1, 2}}, {"empty", json::object{}}}}, {"none", json::array{}}};
  EXPECT_EQ(pretty_json(value),
            "{\n"
            "  \"b\": 1,\n"
            "  \"a\": {\n"
            "    \"x\": [1, 2],\n"
            "    \"empty\": {}\n"
            "  },\n"
            "  \"none\": []\n"
            "}\n");
  EXPECT_EQ(pretty_json(json::array{json::object{{"a", 1}}, 2}), "[\n  {\n    \"a\": 1\n  },\n  2\n]\n");
  EXPECT_EQ(pretty_json("a \"quoted\"\nline"), "\"a \\\"quoted\\\"\\nline\"\n");
}

TEST(PrettyJson, WritesNumbersAsPeopleDoAndReadsThemBack) {
  const json::value numbers =
      json::array{0.5, 1.0, -0.0, 0.1, 2e-4, 1e300, 123456789.125, 7, std::numeric_limits<std::uint64_t>::max()};
  EXPECT_EQ(pretty_json(numbers), "[0.5, 1.0, -0.0, 0.1, 0.0002, 1e+300, 123456789.125, 7, 18446744073709551615]\n");
  EXPECT_EQ(*parse_json(pretty_json(numbers)), numbers);
}

TEST(PrettyJson, WritesNullForWhatIsNotFinite) {
  const double nan = std::nan("");
  EXPECT_EQ(pretty_json(nan), "null\n");
  EXPECT_EQ(pretty_json(json::array{nan, 1}), "[null, 1]\n");
  json::array nested;
  nested.push_back(json::array{std::numeric_limits<double>::infinity()});
  EXPECT_EQ(pretty_json(nested), "[\n  [null]\n]\n");
}

TEST(JsonFields, ReadsEveryType) {
  const json::value value{{"text", "x"},  {"whole", 7},         {"exact", 7.0},       {"number", 2.5},
                          {"flag", true}, {"nothing", nullptr}, {"list", {"a", "b"}}, {"map", {{"k", "v"}}}};
  JsonFields fields(value, "file");
  EXPECT_EQ(fields.text("text"), "x");
  EXPECT_EQ(fields.text_or("absent", "y"), "y");
  EXPECT_EQ(fields.integer("whole"), 7);
  EXPECT_EQ(fields.integer("exact"), 7);
  EXPECT_EQ(fields.integer_or("absent", 9), 9);
  EXPECT_EQ(fields.small_integer("whole"), 7);
  EXPECT_EQ(fields.small_integer_or("absent", 9), 9);
  EXPECT_EQ(fields.number("number"), 2.5);
  EXPECT_EQ(fields.number("whole"), 7.0);
  EXPECT_TRUE(std::isnan(fields.number("nothing")));
  EXPECT_EQ(fields.number_or("absent", 1.5), 1.5);
  EXPECT_TRUE(fields.boolean_or("flag", false));
  EXPECT_TRUE(fields.boolean_or("absent", true));
  EXPECT_EQ(fields.array_or_empty("list").size(), 2u);
  EXPECT_TRUE(fields.array_or_empty("absent").empty());
  EXPECT_EQ(fields.object_or_empty("map").size(), 1u);
  EXPECT_THAT(fields.texts_or_empty("list"), ElementsAre("a", "b"));
  EXPECT_THAT(fields.text_map_or_empty("map"), ElementsAre(Pair("k", "v")));
  EXPECT_NE(fields.find("nothing"), nullptr);
  EXPECT_EQ(fields.find("absent"), nullptr);
  EXPECT_TRUE(fields.finish().ok());
}

TEST(JsonFields, KeepsTheFirstProblem) {
  const json::value value{{"a", 1}, {"b", "x"}};
  JsonFields fields(value, "run.json");
  EXPECT_EQ(fields.text("a"), "");
  EXPECT_EQ(fields.integer("b"), 0);
  EXPECT_EQ(fields.text("c"), "");
  const auto result = fields.finish();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::bad_file);
  EXPECT_EQ(result.error().message, "run.json: 'a' must be a string");
}

TEST(JsonFields, NamesEachProblem) {
  const auto problem = [](const json::value& value, const auto& read) {
    JsonFields fields(value, "f");
    read(fields);
    const auto result = fields.finish();
    return result.ok() ? std::string("none") : result.error().message;
  };
  EXPECT_EQ(problem(json::array{}, [](auto& fields) { fields.text_or("a", ""); }), "f: expected a JSON object");
  EXPECT_EQ(problem({{"b", 1}}, [](auto& fields) { fields.integer("a"); }), "f: 'a' is missing");
  EXPECT_EQ(problem({{"a", 1.5}}, [](auto& fields) { fields.integer("a"); }), "f: 'a' must be a whole number");
  EXPECT_EQ(problem({{"a", 1e30}}, [](auto& fields) { fields.integer("a"); }), "f: 'a' must be a whole number");
  EXPECT_EQ(problem({{"a", nullptr}}, [](auto& fields) { fields.integer("a"); }), "f: 'a' must be a whole number");
  EXPECT_EQ(problem({{"a", 1LL << 31}}, [](auto& fields) { fields.small_integer("a"); }), "f: 'a' is out of range");
  EXPECT_EQ(problem({{"a", "1"}}, [](auto& fields) { fields.number("a"); }), "f: 'a' must be a number");
  EXPECT_EQ(problem({{"a", 0}}, [](auto& fields) { fields.boolean_or("a", true); }), "f: 'a' must be true or false");
  EXPECT_EQ(problem({{"a", 0}}, [](auto& fields) { fields.array_or_empty("a"); }), "f: 'a' must be a list");
  EXPECT_EQ(problem({{"a", 0}}, [](auto& fields) { fields.object_or_empty("a"); }), "f: 'a' must be an object");
  EXPECT_EQ(problem({{"a", json::array{1}}}, [](auto& fields) { fields.texts_or_empty("a"); }),
            "f: 'a' must hold strings only");
  EXPECT_EQ(problem({{"a", {{"k", 1}}}}, [](auto& fields) { fields.text_map_or_empty("a"); }),
            "f: 'a' must hold strings only");
  EXPECT_EQ(problem({{"a", 1}}, [](auto& fields) { fields.fail("a", "is odd"); }), "f: 'a' is odd");
}

TEST(CheckSchema, ReadsOlderAndRefusesNewer) {
  EXPECT_EQ(*check_schema({{"schema", 1}}, 3, "run"), 1);
  EXPECT_EQ(*check_schema({{"schema", 3}}, 3, "run"), 3);
  const auto newer = check_schema({{"schema", 4}}, 3, "run");
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().kind, ErrorKind::bad_file);
  EXPECT_EQ(newer.error().message, "run: written by a newer assay (schema 4, this one reads up to 3)");
  EXPECT_EQ(newer.error().hint, "Update assay on this machine.");
  EXPECT_EQ(check_schema({{"schema", 0}}, 3, "run").error().message, "run: schema 0 does not exist");
  EXPECT_EQ(check_schema(json::object{}, 3, "run").error().message, "run: 'schema' is missing");
}

}  // namespace
}  // namespace assay
