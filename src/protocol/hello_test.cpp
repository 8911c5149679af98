#include "protocol/hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

json::object full_hello() {
  return {{"schema", 1},
          {"stream", "k3"},
          {"assay", "0.4.0"},
          {"period_ms", 250},
          {"simulated", true},
          {"facts", json::object{{"host", "gpu03"}, {"cpus", "64"}}},
          {"allow", json::array{"doctor"}},
          {"sources", json::array{"procfs", "nvml"}}};
}

TEST(Hello, ReadsEveryField) {
  const auto hello = parse_hello(json::serialize(full_hello()));
  ASSERT_TRUE(hello.ok()) << hello.error().text();
  EXPECT_EQ(hello->stream, "k3");
  EXPECT_EQ(hello->version, "0.4.0");
  EXPECT_EQ(hello->period_ms, 250);
  EXPECT_TRUE(hello->simulated);
  EXPECT_EQ(hello->facts.at("cpus"), "64");
  EXPECT_THAT(hello->allow, ElementsAre("doctor"));
  EXPECT_THAT(hello->sources, ElementsAre("procfs", "nvml"));
}

TEST(Hello, ComesBackAsItWas) {
  const auto hello = parse_hello(json::serialize(full_hello())).value();
  EXPECT_EQ(to_json(hello), full_hello());
  EXPECT_EQ(parse_hello(json::serialize(to_json(hello))).value(), hello);
}

TEST(Hello, TheAnswerIsWithinReason) {
  using namespace std::chrono_literals;
  const HelloAnswer answer{.now_ns = 1'800'000'000'000'000'000, .heartbeat = 2s};
  EXPECT_EQ(parse_hello_answer(json::serialize(to_json(answer))).value(), answer);
  EXPECT_EQ(parse_hello_answer("{}")->heartbeat, 1s);
  EXPECT_EQ(parse_hello_answer(R"({"heartbeat_ms": -5})")->heartbeat, 1s);
  EXPECT_EQ(parse_hello_answer(R"({"heartbeat_ms": 0})")->heartbeat, 100ms);
  EXPECT_EQ(parse_hello_answer(R"({"heartbeat_ms": 9000000000000000000})")->heartbeat, 60s);
  EXPECT_FALSE(parse_hello_answer("[]").ok());
  EXPECT_FALSE(parse_hello_answer(R"({"heartbeat_ms": "soon"})").ok());
}

TEST(Hello, OnlyTheStreamIsNeeded) {
  const auto hello = parse_hello(R"({"schema": 1, "stream": "x"})");
  ASSERT_TRUE(hello.ok()) << hello.error().text();
  EXPECT_EQ(hello->period_ms, 1000);
  EXPECT_FALSE(hello->simulated);
  EXPECT_TRUE(hello->allow.empty());
}

TEST(Hello, WhatIsNoneIsAMistakeOfTheSender) {
  for (const char* body : {"", "hello", "[]", "{}", R"({"schema": 2, "stream": "x"})", R"({"schema": 1})",
                           R"({"schema": 1, "stream": 5})", "{\"schema\": 1, \"stream\": \"\xff\"}"}) {
    const auto hello = parse_hello(body);
    ASSERT_FALSE(hello.ok()) << body;
    EXPECT_EQ(hello.error().kind, ErrorKind::usage) << body;
  }
}

struct BadField {
  const char* name;
  json::value value;
};

class BadHello : public testing::TestWithParam<BadField> {};

TEST_P(BadHello, NamesTheFieldAndTheRule) {
  json::object object = full_hello();
  object[GetParam().name] = GetParam().value;
  const auto hello = parse_hello(json::serialize(object));
  ASSERT_FALSE(hello.ok());
  EXPECT_EQ(hello.error().kind, ErrorKind::usage);
  EXPECT_THAT(hello.error().message, HasSubstr(GetParam().name));
}

json::object many_facts(std::size_t count, std::size_t bytes) {
  json::object facts;
  for (std::size_t i = 0; i < count; ++i) facts["fact" + std::to_string(i)] = std::string(bytes, 'x');
  return facts;
}

INSTANTIATE_TEST_SUITE_P(Fields, BadHello,
                         testing::Values(BadField{"stream", ""}, BadField{"stream", json::string(65, 'x')},
                                         BadField{"assay", json::string(65, 'x')}, BadField{"period_ms", 0},
                                         BadField{"period_ms", 600'001}, BadField{"period_ms", "1s"},
                                         BadField{"simulated", "yes"}, BadField{"facts", many_facts(65, 1)},
                                         BadField{"facts", many_facts(1, 1025)},
                                         BadField{"facts", json::object{{"cpus", 64}}},
                                         BadField{"allow", json::array(33, "x")}, BadField{"allow", "doctor"},
                                         BadField{"sources", json::array{std::string(1025, 'x')}}));

}  // namespace
}  // namespace assay
