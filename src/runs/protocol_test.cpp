#include "runs/protocol.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

using Outcome = ProtocolParser::Outcome;

TEST(ProtocolParser, ReadsAnEvent) {
  ProtocolParser parser;
  ASSERT_EQ(parser.parse(R"(  {"assay":1,"type":"step","step":3,"loss":0.5})", false), Outcome::event);
  EXPECT_EQ(parser.type(), EventType::step);
  EXPECT_EQ(parser.body().at("loss").as_double(), 0.5);
}

TEST(ProtocolParser, OrdinaryTextIsNotProtocol) {
  ProtocolParser parser;
  for (const auto* text : {"", "   ", "loss=0.5", "{}", R"({"loss": 0.5})", R"(the "assay" of {things})", "[1,2]",
                           R"({"assay":"tray","type":"step"})"}) {
    EXPECT_EQ(parser.parse(text, false), Outcome::not_protocol) << text;
  }
}

TEST(ProtocolParser, MalformedLinesSayWhy) {
  ProtocolParser parser;
  EXPECT_EQ(parser.parse(R"({"assay":1,"type":"step",)", false), Outcome::malformed);
  EXPECT_FALSE(parser.problem().empty());
  EXPECT_EQ(parser.parse(R"({"assay":1,"loss":0.5})", false), Outcome::malformed);
  EXPECT_EQ(parser.problem(), "an event needs a \"type\"");
  EXPECT_EQ(parser.parse("what is this", true), Outcome::malformed);
  EXPECT_EQ(parser.parse("[1]", true), Outcome::malformed);
  EXPECT_EQ(parser.parse(R"({"assay":1,"type":7})", true), Outcome::malformed);
}

TEST(ProtocolParser, OnItsOwnPipeTheMarkMayBeLeftOut) {
  ProtocolParser parser;
  EXPECT_EQ(parser.parse(R"({"type":"eval","val_loss":1})", true), Outcome::event);
  EXPECT_EQ(parser.type(), EventType::eval);
}

TEST(ProtocolParser, ANewerVersionIsNotRead) {
  ProtocolParser parser;
  EXPECT_EQ(parser.parse(R"({"assay":2,"type":"step","loss":0.5})", false), Outcome::newer);
}

TEST(ProtocolParser, AnUnknownTypeIsAnEvent) {
  ProtocolParser parser;
  EXPECT_EQ(parser.parse(R"({"assay":1,"type":"stpe"})", false), Outcome::event);
  EXPECT_EQ(parser.type(), EventType::unknown);
}

TEST(ProtocolParser, PythonsBareNaNAndInfinityAreNull) {
  ProtocolParser parser;
  ASSERT_EQ(parser.parse(R"({"assay":1,"type":"step","loss":NaN,"a":-Infinity,"b":[Infinity],"note":"NaN \"Infinity"})",
                         false),
            Outcome::event);
  EXPECT_TRUE(parser.body().at("loss").is_null());
  EXPECT_TRUE(parser.body().at("a").is_null());
  EXPECT_EQ(parser.body().at("note").as_string(), "NaN \"Infinity");
  EXPECT_TRUE(std::isnan(*metric_value(parser.body().at("loss"))));
}

TEST(ProtocolParser, RefusesDeepNesting) {
  ProtocolParser parser;
  const std::string deep =
      R"({"assay":1,"type":"step","x":)" + std::string(10'000, '[') + std::string(10'000, ']') + "}";
  EXPECT_EQ(parser.parse(deep, false), Outcome::malformed);
}

TEST(ProtocolParser, SurvivesLinesLargerThanItsBuffer) {
  ProtocolParser parser;
  std::string line = R"({"assay":1,"type":"steps","first":0,"loss":[0)";
  for (int i = 1; i < 50'000; ++i) line += ",0.25";
  line += "]}";
  ASSERT_EQ(parser.parse(line, false), Outcome::event);
  EXPECT_EQ(parser.body().at("loss").as_array().size(), 50'000U);
  ASSERT_EQ(parser.parse(R"({"assay":1,"type":"step","loss":1})", false), Outcome::event);
  EXPECT_EQ(parser.body().size(), 3U);
}

}  // namespace
}  // namespace assay
