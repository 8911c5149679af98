#include "access/token_record.h"

#include <gtest/gtest.h>

#include "access/secrets.h"

namespace assay {
namespace {

const WallTime kTime{std::chrono::seconds(1'800'000'000)};

TEST(Roles, HaveNames) {
  for (const Role role : {Role::agent, Role::viewer, Role::user, Role::admin}) {
    EXPECT_EQ(role_from(name_of(role)), role) << name_of(role);
  }
  EXPECT_EQ(role_from("root"), std::nullopt);
  EXPECT_EQ(role_from(""), std::nullopt);
}

TEST(Names, OfNodesAndTokens) {
  for (const std::string& name :
       {std::string("gpu03"), std::string("a"), std::string("rack-1_n.2"), std::string(64, 'x')}) {
    EXPECT_TRUE(is_node_name(name)) << name;
    EXPECT_TRUE(is_token_name(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string(65, 'x'), std::string("."), std::string(".."), std::string("a/b"),
        std::string("a b"), std::string("gpu\n"), std::string("gpü"), std::string("a\0b", 3), std::string("node:a")}) {
    EXPECT_FALSE(is_node_name(name)) << name;
    EXPECT_FALSE(is_token_name(name)) << name;
  }
  EXPECT_TRUE(is_token_name("ann@example.org"));
  EXPECT_FALSE(is_node_name("ann@example.org"));
}

TEST(Names, OfNodesByPatterns) {
  EXPECT_TRUE(matches_node_pattern("gpu*", "gpu03"));
  EXPECT_TRUE(matches_node_pattern("login,gpu0[1-3]", "gpu03"));
  EXPECT_FALSE(matches_node_pattern("login,gpu0[1-3]", "gpu04"));
  EXPECT_FALSE(matches_node_pattern("gpu?", "gpu03"));
  EXPECT_TRUE(is_node_pattern("gpu*,login-a"));
  for (const char* text : {"", "gpu*,", "a/b", "gpu 1", "ann@example.org"}) EXPECT_FALSE(is_node_pattern(text)) << text;
}

TEST(TokenRecords, ComeBackAsTheyWereWritten) {
  const std::string hash = sha256_hex("x");
  const std::vector<TokenRecord> records = {
      TokenMade{.id = "t1", .name = "ci", .role = Role::user, .hash = hash, .time = kTime, .expires = std::nullopt},
      TokenMade{.id = "t2", .name = "a", .role = Role::admin, .hash = hash, .time = kTime, .expires = kTime + Nanos(1)},
      TokenRevoked{.id = "t1", .time = kTime},
      NodeJoined{.node = "gpu03", .hash = hash, .token = "t2", .time = kTime},
      NodeRevoked{.node = "gpu03", .time = kTime},
      TokenMade{.id = "t3",
                .name = "join",
                .role = Role::agent,
                .hash = hash,
                .time = kTime,
                .expires = kTime + Nanos(1),
                .terms = {.nodes = "gpu*,login[12]", .most_nodes = 8, .needs_approval = true}},
      TokenRevoked{.id = "t1", .time = kTime, .with_nodes = true},
      NodeJoined{.node = "gpu04", .hash = hash, .token = "t3", .time = kTime, .waits = true},
      NodeApproved{.node = "gpu04", .time = kTime},
  };
  for (const TokenRecord& record : records) {
    const std::string line = line_of(record);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_LE(line.size(), kLongestTokenLine);
    const auto again = parse_token_line(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(again.ok()) << line << again.error().text();
    EXPECT_EQ(*again, record) << line;
  }
}

TEST(TokenRecords, LongestOnesFitTheirLine) {
  const WallTime late{Nanos::max()};
  const std::string name(64, 'x');
  const std::string hash = sha256_hex("x");
  const JoinTerms terms{.nodes = std::string(256, 'x'), .most_nodes = INT64_MAX, .needs_approval = true};
  EXPECT_LE(line_of(TokenMade{name, name, Role::viewer, hash, late, late, terms}).size(), kLongestTokenLine);
  EXPECT_LE(line_of(NodeJoined{name, hash, name, late, true}).size(), kLongestTokenLine);
}

TEST(TokenRecords, WhatIsNotUnderstoodIsAnError) {
  const std::string hash = sha256_hex("x");
  for (const std::string& line : {
           std::string(),
           std::string("{"),
           std::string("[]"),
           std::string("{}"),
           std::string(R"({"kind":"later","id":"t1","time_ns":1})"),
           std::string(R"({"kind":"token_revoked","time_ns":1})"),
           std::string(R"({"kind":"token_revoked","id":"t 1","time_ns":1})"),
           std::string(R"({"kind":"token_revoked","id":"t1","time_ns":"now"})"),
           R"({"kind":"token","id":"t1","name":"n","role":"root","hash":")" + hash + R"(","time_ns":1})",
           std::string(R"({"kind":"node","node":"n","hash":"12","token":"t1","time_ns":1})"),
           R"({"kind":"token_revoked","id":"t1","time_ns":1})" + std::string(kLongestTokenLine, ' '),
       }) {
    const auto record = parse_token_line(line);
    ASSERT_FALSE(record.ok()) << line;
    EXPECT_EQ(record.error().kind, ErrorKind::bad_file) << line;
  }
}

}  // namespace
}  // namespace assay
