// The queue over the API: who may look, who may change what, and what is said.

#include "http/http_fixture.h"
#include "leader/test_agent_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;

class QueueApi : public LeaderServerTest {
 protected:
  /// Two nodes that take runs.
  void SetUp() override {
    for (const char* name : {"gpu01", "gpu02"}) {
      TestAgent agent(name, std::string("stream-") + name);
      auto said = agent.hello();
      said.allow = {"run"};
      ASSERT_TRUE(leader_->hello(name, said).ok());
    }
    serve();
  }
  static std::string order(json::object more = {}, const std::string& spec = "kind: null\nprice: 2 EUR/h\n") {
    more["spec"] = spec;
    return json::serialize(more);
  }
  std::string asked(Role role, json::object more = {}) {
    return std::string(answer("POST", "/api/v1/runs", role, order(std::move(more))).at("run").as_string());
  }
  int status(const std::string& method, const std::string& target, Role role, std::string body = "") {
    return send(method, target, bearer(role), std::move(body)).status;
  }
  json::array queue(const std::string& query = "") {
    return answer("GET", "/api/v1/queue" + query, Role::user).at("runs").as_array();
  }
};

TEST_F(QueueApi, ComesInPages) {
  std::vector<std::string> all;
  for (int i = 0; i < 5; ++i) all.push_back(asked(Role::user));
  const auto page = [&](const std::string& more) {
    return answer("GET", "/api/v1/queue?limit=2" + more, Role::viewer);
  };
  const auto first = page("");
  EXPECT_EQ(first.at("total").to_number<int>(), 5);
  ASSERT_EQ(first.at("runs").as_array().size(), 2U);
  std::vector<std::string> seen;
  std::string next;
  do {
    const auto answer = page(next.empty() ? "" : "&after=" + next);
    for (const auto& run : answer.at("runs").as_array()) seen.emplace_back(run.at("run").as_string());
    next = answer.at("next").as_string();
  } while (!next.empty() && seen.size() < 10);
  EXPECT_THAT(seen, testing::UnorderedElementsAreArray(all));
  EXPECT_EQ(seen.size(), 5U);

  const auto second = page("&after=" + std::string(first.at("next").as_string()));
  answer("POST", "/api/v1/runs/" + seen[3] + "/stop", Role::admin);
  const auto third = page("&after=" + std::string(second.at("next").as_string()));
  EXPECT_EQ(third.at("total").to_number<int>(), 4);
  EXPECT_EQ(third.at("runs").as_array().size(), 1U) << "the run before it is gone, and what comes behind is not";
  EXPECT_EQ(status("GET", "/api/v1/queue?limit=1001", Role::viewer), 400);
  EXPECT_EQ(status("GET", "/api/v1/queue?after=yesterday", Role::viewer), 400);
}

TEST_F(QueueApi, ShowsWhatRunsAndWhyTheRestWaits) {
  const auto first = asked(Role::user);
  const auto second = asked(Role::admin);
  const auto third = asked(Role::user, {{"name", "late"}});
  const auto all = queue();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(answer("GET", "/api/v1/queue/" + first, Role::viewer).at("node").as_string(), "gpu01");
  EXPECT_EQ(all[2].at("run").as_string(), third);
  EXPECT_EQ(all[2].at("name").as_string(), "late");
  EXPECT_EQ(all[2].at("owner").as_string(), "token the-user");
  EXPECT_EQ(all[2].at("reason").as_string(), "gpus_busy");
  EXPECT_THAT(std::string(all[2].at("why").as_string()), HasSubstr("waits for free CPUs"));
  EXPECT_TRUE(all[2].as_object().contains("expected_start"));
  EXPECT_EQ(queue("?mine=true").size(), 2U);
  EXPECT_EQ(answer("GET", "/api/v1/queue/" + second, Role::viewer).at("node").as_string(), "gpu02");
  EXPECT_EQ(status("GET", "/api/v1/queue/nobody", Role::viewer), 404);
}

TEST_F(QueueApi, WhatWaitsIsChangedByWhoseItIs) {
  const auto mine = asked(Role::user, {{"hold", true}});
  const auto theirs = asked(Role::admin, {{"hold", true}});
  for (const char* what : {"/hold", "/release"}) {
    EXPECT_EQ(status("POST", "/api/v1/runs/" + theirs + what, Role::user), 403) << what;
  }
  EXPECT_EQ(status("POST", "/api/v1/runs/" + theirs + "/priority", Role::user, R"({"priority": -1})"), 403);
  const auto log = answer("GET", "/api/v1/audit", Role::admin).at("entries").as_array();
  EXPECT_THAT(json::serialize(log), HasSubstr("belongs to token the-admin")) << "refusals are written down";

  EXPECT_EQ(answer("POST", "/api/v1/runs/" + mine + "/priority", Role::user, R"({"priority": -2})").at("priority"), -2);
  const auto pushy = send("POST", "/api/v1/runs/" + mine + "/priority", bearer(Role::user), R"({"priority": 1})");
  EXPECT_EQ(pushy.status, 403);
  EXPECT_THAT(pushy.body, HasSubstr("for administrators"));
  EXPECT_EQ(status("POST", "/api/v1/runs", Role::user, order({{"priority", 1}})), 403);
  EXPECT_EQ(answer("POST", "/api/v1/runs/" + mine + "/priority", Role::admin, R"({"priority": 5})").at("priority"), 5);
  EXPECT_EQ(status("POST", "/api/v1/runs", Role::user, order({{"within", "6h"}})), 403);
  EXPECT_EQ(status("POST", "/api/v1/runs", Role::admin, order({{"within", "soon"}})), 400);
  const auto due = asked(Role::admin, {{"within", "6h"}, {"hold", true}});
  EXPECT_TRUE(answer("GET", "/api/v1/queue/" + due, Role::user).contains("deadline"));
  EXPECT_FALSE(answer("POST", "/api/v1/runs/" + mine + "/release", Role::user).at("held").as_bool());
  EXPECT_TRUE(answer("POST", "/api/v1/runs/" + mine + "/hold", Role::user).at("held").as_bool());
}

TEST_F(QueueApi, OrdersArePreviewedWithTheirCost) {
  const auto body = order({{"name", "x"}});
  const auto preview = answer("POST", "/api/v1/queue/preview", Role::user, body);
  const auto& run = preview.at("runs").as_array().at(0);
  EXPECT_EQ(run.at("node").as_string(), "gpu01");
  EXPECT_NEAR(run.at("cost").to_number<double>(), run.at("length").at("seconds").to_number<double>() / 3600 * 2, 1e-9);
  EXPECT_EQ(preview.at("currency").as_string(), "EUR");
  EXPECT_TRUE(queue().empty());
  EXPECT_EQ(status("POST", "/api/v1/queue/preview", Role::user, order({}, "kind: command\ncommand: id\n")), 403)
      << "what would be refused is refused";
  EXPECT_EQ(status("POST", "/api/v1/queue/preview", Role::user, order({}, "kind: nul\n")), 400);
}

TEST_F(QueueApi, OneRunOnEachNode) {
  const auto study = answer("POST", "/api/v1/runs", Role::user, order({{"each_node", true}}));
  EXPECT_TRUE(study.contains("study"));
  const auto all = queue();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_NE(all[0].at("node").as_string(), all[1].at("node").as_string());
  answer("POST", "/api/v1/runs", Role::user, order({}, "kind: null\nnodes: all\neach_node: true\n"));
  EXPECT_EQ(queue().size(), 4U);
  const auto refused = [&](json::object more, const std::string& spec) {
    return send("POST", "/api/v1/runs", bearer(Role::user), order(std::move(more), spec)).body;
  };
  EXPECT_THAT(refused({{"each_node", true}, {"node", "gpu01"}}, "kind: null\n"), HasSubstr("on 'gpu01' alone"));
  EXPECT_THAT(refused({{"node", "gpu02"}}, "kind: null\nnodes: [gpu01]\n"),
              HasSubstr("the specification says 'gpu01'"));
  const auto over_all = send("POST", "/api/v1/runs", bearer(Role::user), order({}, "kind: null\nnodes: all\n"));
  EXPECT_GE(over_all.status, 400);
  EXPECT_THAT(over_all.body, HasSubstr("each_node: true"));
}

TEST_F(QueueApi, AKeyGivesTheSameRunWhateverTheQuotaSays) {
  answer("PUT", "/api/v1/quotas", Role::admin, R"({"runs_at_once": 1})");
  const auto first = asked(Role::user, {{"key", "k"}});
  EXPECT_EQ(asked(Role::user, {{"key", "k"}}), first);
  EXPECT_EQ(status("POST", "/api/v1/runs", Role::user, order()), 403);
  EXPECT_NE(asked(Role::admin, {{"key", "k"}}), first) << "keys are everybody's own";
}

}  // namespace
}  // namespace assay
