#include <fstream>

#include "access/secrets.h"
#include "http/http_fixture.h"
#include "leader/alert_desk.h"
#include "leader/command_desk.h"
#include "leader/test_agent_fixture.h"
#include "model/run.h"
#include "store/lease.h"
#include "store/run_store.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// One request that its endpoint answers with 200 for the least role it asks for.
struct Call {
  std::string method;
  std::string target;
  std::optional<Role> least;
  std::string body;
};

// For every endpoint of the table: who may, who may not. Node gpu01 is online, gpu02 is not.
const std::vector<Call> kCalls = {
    {"GET", "/health", std::nullopt, ""},
    {"GET", "/", std::nullopt, ""},
    {"GET", "/api/v1/openapi.json", std::nullopt, ""},
    {"GET", "/metrics", Role::viewer, ""},
    {"GET", "/api/v1/status", Role::viewer, ""},
    {"GET", "/api/v1/nodes?values=true", Role::viewer, ""},
    {"GET", "/api/v1/nodes/gpu01", Role::viewer, ""},
    {"GET", "/api/v1/nodes/gpu01/trend", Role::viewer, ""},
    {"GET", "/api/v1/trends?limit=5", Role::viewer, ""},
    {"POST", "/api/v1/nodes/gpu01/drain", Role::admin, R"({"reason": "a new fan"})"},
    {"POST", "/api/v1/nodes/gpu01/resume", Role::admin, ""},
    {"GET", "/api/v1/events?limit=5", Role::viewer, ""},
    {"POST", "/api/v1/nodes/gpu01/commands", Role::admin, R"({"kind": "doctor"})"},
    {"GET", "/api/v1/slurm/jobs", Role::viewer, ""},
    {"GET", "/api/v1/commands", Role::user, ""},
    {"GET", "/api/v1/commands/{command}", Role::user, ""},
    {"GET", "/api/v1/series?q=host.load", Role::viewer, ""},
    {"GET", "/api/v1/query?q=host.load%20last=1h", Role::viewer, ""},
    {"DELETE", "/api/v1/series?q=host.load", Role::admin, ""},
    {"GET", "/api/v1/alerts?all=true", Role::viewer, ""},
    {"POST", "/api/v1/alerts/{alert}/acknowledge", Role::user, R"({"note": "on my way"})"},
    {"GET", "/api/v1/silences", Role::viewer, ""},
    {"POST", "/api/v1/silences", Role::user, R"({"for": "2h", "node": "gpu01"})"},
    {"DELETE", "/api/v1/silences/{silence}", Role::user, ""},
    {"POST", "/api/v1/backup", Role::admin, ""},
    {"DELETE", "/api/v1/nodes/gpu02/refusals", Role::admin, ""},
    {"DELETE", "/api/v1/nodes/gpu02", Role::admin, ""},
};

// The same for people, of whom each asks about what is theirs; more in account_api_test.cpp.
const std::vector<Call> kAccountCalls = {
    {"POST", "/api/v1/session", std::nullopt, R"({"once": "none"})"},
    {"GET", "/api/v1/session", Role::viewer, ""},
    {"DELETE", "/api/v1/session", Role::viewer, ""},
    {"POST", "/api/v1/session/password", Role::viewer, R"({"password": "x"})"},
    {"GET", "/api/v1/users", Role::admin, ""},
    {"POST", "/api/v1/users", Role::admin, R"({"name": "ada", "role": "user"})"},
    {"PUT", "/api/v1/users/ada", Role::admin, "{}"},
    {"POST", "/api/v1/users/ada/password", Role::admin, "{}"},
    {"DELETE", "/api/v1/users/ada", Role::admin, ""},
    {"GET", "/api/v1/tokens?all=true", Role::viewer, ""},
    {"POST", "/api/v1/tokens", Role::viewer, R"({"name": "t", "scopes": ["read"]})"},
    {"DELETE", "/api/v1/tokens/t", Role::viewer, ""},
    {"GET", "/api/v1/links?all=true", Role::user, ""},
    {"POST", "/api/v1/links", Role::user, R"({"kind": "run", "runs": ["r"]})"},
    {"DELETE", "/api/v1/links/l", Role::user, ""},
    {"GET", "/api/v1/panels", Role::viewer, ""},
    {"POST", "/api/v1/panels", Role::viewer, R"({"name": "p", "metrics": ["loss"]})"},
    {"PUT", "/api/v1/panels/p", Role::viewer, R"({"name": "p", "metrics": ["loss"]})"},
    {"DELETE", "/api/v1/panels/p", Role::viewer, ""},
    {"GET", "/api/v1/audit?limit=5", Role::admin, ""},
    {"GET", "/api/v1/catalog", Role::viewer, ""},
    {"PUT", "/api/v1/catalog", Role::admin, R"({"name": "o", "kind": "train"})"},
    {"DELETE", "/api/v1/catalog/o", Role::admin, ""},
    {"GET", "/api/v1/quotas", Role::admin, ""},
    {"PUT", "/api/v1/quotas", Role::admin, R"({"runs_at_once": 3})"},
    {"DELETE", "/api/v1/quotas/*", Role::admin, ""},
    {"GET", "/api/v1/quota", Role::viewer, ""},
    {"GET", "/api/v1/runs/r/owner", Role::viewer, ""},
    {"GET", "/api/v1/prices", Role::viewer, ""},
    {"PUT", "/api/v1/prices", Role::admin, R"({"gpu": "a", "on_demand": 1, "currency": "USD"})"},
    {"DELETE", "/api/v1/prices?gpu=a", Role::admin, ""},
    {"PUT", "/api/v1/prices/power", Role::admin, "{}"},
    {"GET", "/api/v1/join-tokens", Role::admin, ""},
    {"POST", "/api/v1/join-tokens", Role::admin, "{}"},
    {"DELETE", "/api/v1/join-tokens/t", Role::admin, ""},
    {"POST", "/api/v1/nodes/gpu01/approve", Role::admin, ""},
    {"DELETE", "/api/v1/nodes/gpu03/key", Role::admin, ""},
};

// The same for runs: who is let in. What they are then told is for run_api_test.cpp.
const std::vector<Call> kRunCalls = {
    {"GET", "/api/v1/runs", Role::viewer, ""},
    {"POST", "/api/v1/runs/search", Role::viewer, "{}"},
    {"GET", "/api/v1/runs/changes", Role::viewer, ""},
    {"POST", "/api/v1/runs/reindex", Role::admin, ""},
    {"GET", "/api/v1/runs/r", Role::viewer, ""},
    {"PUT", "/api/v1/runs/r", Role::user, "{}"},
    {"DELETE", "/api/v1/runs/r", Role::user, ""},
    {"POST", "/api/v1/runs/r/tags", Role::user, "{}"},
    {"POST", "/api/v1/runs/r/curves", Role::viewer, "{}"},
    {"POST", "/api/v1/runs/recorded", Role::user, "{}"},
    {"GET", "/api/v1/runs/r/lease", Role::viewer, ""},
    {"POST", "/api/v1/runs/r/lease", Role::user, "{}"},
    {"POST", "/api/v1/runs/r/lease/renew", Role::user, "{}"},
    {"POST", "/api/v1/runs/r/lease/release", Role::user, "{}"},
    {"PUT", "/api/v1/runs/r/owned", Role::user, "{}"},
    {"POST", "/api/v1/runs/r/join", Role::user, "{}"},
    {"POST", "/api/v1/runs/r/frames?journal=journal&owner=o&epoch=1&offset=0", Role::user, "x"},
    {"GET", "/api/v1/runs/r/journals", Role::viewer, ""},
    {"GET", "/api/v1/runs/r/journals/journal", Role::viewer, ""},
    {"GET", "/api/v1/runs/r/artifacts", Role::viewer, ""},
    {"GET", "/api/v1/runs/r/artifacts/a", Role::viewer, ""},
    {"PUT", "/api/v1/runs/r/artifacts/a", Role::user, "x"},
    {"GET", "/api/v1/studies", Role::viewer, ""},
    {"GET", "/api/v1/studies/s", Role::viewer, ""},
    {"POST", "/api/v1/studies", Role::user, "{}"},
    {"POST", "/api/v1/studies/s/plan/0", Role::user, "{}"},
    {"DELETE", "/api/v1/studies/s", Role::user, ""},
    {"POST", "/api/v1/runs", Role::user, "{}"},
    {"POST", "/api/v1/runs/r/stop", Role::user, ""},
    {"POST", "/api/v1/runs/r/hold", Role::user, ""},
    {"POST", "/api/v1/runs/r/release", Role::user, ""},
    {"POST", "/api/v1/runs/r/priority", Role::user, R"({"priority": 0})"},
    {"GET", "/api/v1/queue", Role::viewer, ""},
    {"GET", "/api/v1/queue/r", Role::viewer, ""},
    {"POST", "/api/v1/queue/preview", Role::user, "{}"},
    {"POST", "/api/v1/studies/s/stop", Role::user, ""},
    {"POST", "/api/v1/studies/s/resume", Role::user, ""},
    {"GET", "/api/v1/studies/s/jobs", Role::viewer, ""},
    {"GET", "/api/v1/runs/r/log", Role::viewer, ""},
    {"GET", "/api/v1/metrics/known", Role::viewer, ""},
    {"GET", "/api/v1/spec/schema", Role::viewer, ""},
    {"POST", "/api/v1/spec/validate", Role::viewer, R"({"spec": "kind: null"})"},
    {"GET", "/api/v1/reports?of=r", Role::viewer, ""},
    {"GET", "/api/v1/reports/file?of=r&format=md", Role::viewer, ""},
};

class Access : public LeaderServerTest {
 protected:
  Access() {
    hello(TestAgent("gpu02", "two"));
    // Lost for long enough to be an alert.
    for (int i = 0; i < 60; ++i) {
      clock_.advance(std::chrono::seconds(5));
      ClusterView view;
      view.nodes.push_back({.name = "gpu02", .state = NodeState::offline, .last_seen = WallTime()});
      leader_->alerts().look(view);
    }
    TestAgent online;
    hello(online);
    taken(online, {online.batch(clock_.wall(), {sample_of("host.load", 1)})});
    serve();
    replaced_["{alert}"] = leader_->alerts().list({})->alerts.at(0).alert.id;
    replaced_["{command}"] = leader_->commands().create("gpu01", "doctor", {}, "test")->id;
    replaced_["{silence}"] =
        leader_->alerts().silence({.node = "gpu09", .until = clock_.wall() + std::chrono::hours(1)})->id;
  }
  std::string filled(std::string text) const {
    for (const auto& [name, value] : replaced_) {
      if (const auto at = text.find(name); at != std::string::npos) text.replace(at, name.size(), value);
    }
    return text;
  }
  ClientResponse call(const Call& call, Headers headers) {
    return send(call.method, filled(call.target), std::move(headers), filled(call.body));
  }

  std::map<std::string, std::string> replaced_;
};

TEST_F(Access, TheCallsCoverEveryEndpointOfTheTable) {
  const auto document = parsed(send("GET", "/api/v1/openapi.json", {}).body);
  std::size_t operations = 0;
  for (const auto& [path, methods] : document.at("paths").as_object()) {
    operations += methods.as_object().size();
  }
  // The live stream is asked for elsewhere; three routes are outside of the table.
  EXPECT_EQ(operations, kCalls.size() - 3 + 1 + kRunCalls.size() + kAccountCalls.size());
}

TEST_F(Access, WithoutATokenNothingIsSaid) {
  for (const auto& one : kCalls) {
    const auto response = call(one, {});
    EXPECT_EQ(response.status, one.least ? 401 : 200) << one.method << " " << one.target;
    if (!one.least) continue;
    EXPECT_EQ(response.headers.find("WWW-Authenticate"), "Bearer realm=\"assay\"");
    EXPECT_EQ(parsed(response.body).at("error").at("kind").as_string(), "denied");
  }
}

TEST_F(Access, ATokenThatIsNoneIsRefusedWithoutAReason) {
  for (const std::string value : {"Bearer nonsense", "Bearer ", "Basic YWRtaW46YWRtaW4=", "Bearer",
                                  "bearer 0000000000000000000000000000000000000000000000000000000000000000"}) {
    const auto response = send("GET", "/api/v1/nodes", {{"Authorization", value}});
    EXPECT_EQ(response.status, 401) << value;
    EXPECT_THAT(response.body, testing::Not(HasSubstr("unknown")));
  }
}

TEST_F(Access, TooSmallARoleIsRefused) {
  for (const auto& one : kCalls) {
    if (!one.least) continue;
    for (const Role role : {Role::agent, Role::viewer, Role::user}) {
      if (role >= *one.least) continue;
      const auto response = call(one, bearer(role));
      EXPECT_EQ(response.status, 403) << one.method << " " << one.target << " as " << name_of(role);
    }
  }
}

TEST_F(Access, AKeyOfANodeOpensNothingThatIsForPeople) {
  for (const auto& one : kCalls) {
    if (!one.least) continue;
    EXPECT_EQ(call(one, agent("gpu01")).status, 401) << one.method << " " << one.target;
  }
}

TEST_F(Access, TheLeastRoleIsEnough) {
  for (const auto& one : kCalls) {
    const auto response = call(one, bearer(one.least));
    EXPECT_EQ(response.status, 200) << one.method << " " << one.target << ": " << response.body;
  }
}

TEST_F(Access, RunsAreForWhoMaySeeOrRunThem) {
  for (const auto& one : kRunCalls) {
    const auto what = one.method + " " + one.target;
    EXPECT_EQ(call(one, {}).status, 401) << what;
    for (const Role role : {Role::agent, Role::viewer, Role::user, Role::admin}) {
      const auto status = call(one, bearer(role)).status;
      if (role == Role::agent || role < *one.least) {
        EXPECT_EQ(status, 403) << what << " as " << name_of(role);
      } else if (one.target.find("owner=o") == std::string::npos) {
        EXPECT_TRUE(status != 401 && status != 403 && status < 500)
            << what << " as " << name_of(role) << ": " << status;
      }
    }
  }
}

TEST_F(Access, AccountsAreForWhoMayManageThem) {
  for (const auto& one : kAccountCalls) {
    const auto what = one.method + " " + one.target;
    EXPECT_EQ(call(one, {}).status, 401) << what;
    EXPECT_EQ(call(one, agent("gpu01")).status, 401) << what;
    if (!one.least) continue;
    for (const Role role : {Role::agent, Role::viewer, Role::user}) {
      if (role == Role::agent || role < *one.least) {
        EXPECT_EQ(call(one, bearer(role)).status, 403) << what << " as " << name_of(role);
      }
    }
    const auto status = call(one, bearer(Role::admin)).status;
    EXPECT_TRUE(status < 500 && status != 401) << what << ": " << status;
  }
}

TEST_F(Access, ANodeSeesTheRunsThatItWasGivenAndNoOthers) {
  Run mine;
  mine.kind = "null";
  mine.placement.node = "gpu01";
  ASSERT_TRUE(runs_->add_run(mine).ok());
  Run other = mine;
  other.id.clear();
  other.placement.node = "gpu02";
  ASSERT_TRUE(runs_->add_run(other).ok());
  EXPECT_EQ(send("GET", "/api/v1/runs/" + mine.id, agent("gpu01")).status, 200);
  EXPECT_EQ(send("GET", "/api/v1/runs/" + other.id, agent("gpu01")).status, 404);
  EXPECT_EQ(send("PUT", "/api/v1/runs/" + mine.id + "/artifacts/a", agent("gpu01"), "x").status, 200);
  EXPECT_EQ(send("PUT", "/api/v1/runs/" + other.id + "/artifacts/a", agent("gpu01"), "x").status, 404);
  for (const auto& one : kRunCalls) {
    const bool for_nodes = one.target.starts_with("/api/v1/runs/r") && one.target != "/api/v1/runs/reindex" &&
                           one.target != "/api/v1/runs/recorded" && one.target != "/api/v1/runs/r/log";
    if (for_nodes) continue;
    EXPECT_EQ(call(one, agent("gpu01")).status, 401) << one.method << " " << one.target;
  }
  EXPECT_EQ(send("DELETE", "/api/v1/runs/" + mine.id, agent("gpu01")).status, 401);
  EXPECT_EQ(send("POST", "/api/v1/runs/" + mine.id + "/lease", agent("gpu01"), "{}").status, 401)
      << "it takes what it is offered, by the way for agents";
  EXPECT_EQ(send("POST", "/api/v1/runs/" + mine.id + "/stop", agent("gpu01")).status, 401);
  // Nor can it hold a lease in the name of somebody else.
  const auto lease = runs_->take_run(mine.id, {.owner = "gpu02", .length = std::chrono::minutes(1)});
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(send("POST", "/api/v1/runs/" + mine.id + "/frames?journal=journal&owner=gpu02&epoch=1&offset=0",
                 agent("gpu01"), "")
                .status,
            403);
}

TEST_F(Access, ARevokedTokenIsRefusedAtOnce) {
  EXPECT_EQ(send("GET", "/api/v1/nodes", bearer(Role::viewer)).status, 200);
  ASSERT_TRUE(book_->revoke("the-viewer").ok());
  EXPECT_EQ(send("GET", "/api/v1/nodes", bearer(Role::viewer)).status, 401);
}

TEST_F(Access, ABookThatCannotBeReadIsNotTheCallersFault) {
  std::ofstream(folder_.path() / "tokens.jsonl", std::ios::app) << "damaged\n";
  EXPECT_EQ(send("GET", "/api/v1/nodes", bearer(Role::admin)).status, 503);
  const auto agents = send("POST", "/agent/v1/batch", agent("gpu01"));
  EXPECT_EQ(agents.status, 503) << "with 401 it would join again";
  EXPECT_TRUE(agents.headers.find("Retry-After").has_value());
  const std::string body = json::serialize(json::object{{"node", "gpu03"}, {"key", new_secret()}});
  EXPECT_EQ(send("POST", "/agent/v1/join", bearer(Role::agent), body).status, 503);
  EXPECT_EQ(send("GET", "/health", {}).status, 200);
}

TEST_F(Access, AgentRoutesAreForKeysOfNodesAlone) {
  const std::string report = R"({"state": "done"})";
  const std::vector<Call> calls = {{"POST", "/agent/v1/hello", {}, R"({"schema": 1, "stream": "x"})"},
                                   {"POST", "/agent/v1/batch", {}, ""},
                                   {"POST", "/agent/v1/commands/x", {}, report},
                                   {"GET", "/agent/v1/commands", {}, ""},
                                   {"GET", "/agent/v1/jobs", {}, ""},
                                   {"POST", "/agent/v1/jobs/r/take", {}, ""},
                                   {"POST", "/agent/v1/jobs/r/part", {}, "{}"},
                                   {"POST", "/agent/v1/jobs/r/frames?epoch=1&offset=0", {}, ""}};
  for (const auto& one : calls) {
    EXPECT_EQ(call(one, {}).status, 401) << one.target;
    for (const auto& [role, secret] : secrets_) {
      EXPECT_EQ(call(one, bearer(role)).status, 401) << one.target << " as " << name_of(role);
      Headers with_name = bearer(role);
      with_name.add("Assay-Node", "gpu01");
      EXPECT_EQ(call(one, with_name).status, 401) << one.target << " as " << name_of(role);
    }
    // The key of another node.
    EXPECT_EQ(call(one, {{"Authorization", "Bearer " + keys_["gpu02"]}, {"Assay-Node", "gpu01"}}).status, 401)
        << one.target;
    // Its own key is no token of the API.
    EXPECT_EQ(send("GET", "/api/v1/nodes", agent("gpu01")).status, 401);
  }
}

TEST_F(Access, JoiningNeedsAnAgentsToken) {
  const std::string key = new_secret();
  const std::string body = json::serialize(json::object{{"node", "gpu03"}, {"key", key}});
  EXPECT_EQ(send("POST", "/agent/v1/join", {}, body).status, 401);
  for (const Role role : {Role::viewer, Role::user, Role::admin}) {
    EXPECT_EQ(send("POST", "/agent/v1/join", bearer(role), body).status, 403) << name_of(role);
  }
  const auto joined = send("POST", "/agent/v1/join", bearer(Role::agent), body);
  EXPECT_EQ(joined.status, 200) << joined.body;
  EXPECT_EQ(parsed(joined.body).at("node").as_string(), "gpu03");
  EXPECT_EQ(send("POST", "/agent/v1/join", bearer(Role::agent), body).status, 200) << "again with the same key";
  const std::string other = json::serialize(json::object{{"node", "gpu03"}, {"key", new_secret()}});
  const auto second = send("POST", "/agent/v1/join", bearer(Role::agent), other);
  EXPECT_EQ(second.status, 409) << second.body;
  keys_["gpu03"] = key;
  EXPECT_EQ(send("POST", "/agent/v1/hello", agent("gpu03"), R"({"schema": 1, "stream": "x"})").status, 200);
}

TEST_F(Access, JoiningWithABadNameOrKeyIsAMistake) {
  for (const char* body : {R"({"node": "../x", "key": "k"})", R"({"node": "gpu03"})", R"({"node": 3, "key": "k"})",
                           R"({"node": "gpu03", "key": "short"})", "[]", "{", ""}) {
    EXPECT_EQ(send("POST", "/agent/v1/join", bearer(Role::agent), body).status, 400) << body;
  }
}

}  // namespace
}  // namespace assay
