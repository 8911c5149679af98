#include "protocol/join.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Join, ComesBackAsItWas) {
  const JoinRequest join{.node = "gpu03", .key = "0123"};
  EXPECT_EQ(parse_join(json::serialize(to_json(join))).value(), join);
}

TEST(Join, WhatIsNoneIsAMistakeOfTheSender) {
  for (const char* body : {"", "[]", "{}", R"({"node": "a"})", R"({"key": "k"})", R"({"node": 1, "key": "k"})"}) {
    const auto join = parse_join(body);
    ASSERT_FALSE(join.ok()) << body;
    EXPECT_EQ(join.error().kind, ErrorKind::usage) << body;
  }
}

}  // namespace
}  // namespace assay
