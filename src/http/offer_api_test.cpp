// Machines that join, prices and tags over the API.

#include "access/secrets.h"
#include "accounts/accounts.h"
#include "http/http_fixture.h"
#include "leader/test_agent_fixture.h"
#include "model/run.h"
#include "store/run_store.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

class OfferApi : public LeaderServerTest {
 protected:
  int status(const std::string& method, const std::string& target, Role role, std::string body = "") {
    return send(method, target, bearer(role), std::move(body)).status;
  }
  json::object admin(const std::string& method, const std::string& target, std::string body = "") {
    return answer(method, target, Role::admin, std::move(body));
  }
  /// The secret in a join token, as an agent reads it.
  static std::string secret_in(const json::object& made) {
    const auto token = parse_join_token(std::string(made.at("secret").as_string()));
    EXPECT_TRUE(token.ok());
    return token ? token->secret : "";
  }
  static std::string id_of(const json::object& made) { return std::string(made.at("token").at("id").as_string()); }
  json::object key_of(std::string_view node) {
    const auto list = admin("GET", "/api/v1/join-tokens");
    for (const auto& key : list.at("keys").as_array()) {
      if (key.at("node").as_string() == node) return key.as_object();
    }
    return {};
  }
  std::string last_audit() {
    const auto entries = leader_->accounts().audit().list({.limit = 1});
    return entries && !entries->empty() ? entries->front().what : "";
  }
};

TEST_F(OfferApi, TokensAndKeysComeInPages) {
  serve();
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(id_of(admin("POST", "/api/v1/join-tokens", "{}")));
  const std::string open = secret_in(admin("POST", "/api/v1/join-tokens", "{}"));
  const std::string guarded = secret_in(admin("POST", "/api/v1/join-tokens", R"({"approval": true})"));
  for (const char* node : {"a", "c", "e"}) EXPECT_TRUE(book_->join(open, node, new_secret()).ok());
  for (const char* node : {"b", "d"}) EXPECT_TRUE(book_->join(guarded, node, new_secret()).ok());
  std::string next_token, next_key, tokens, keys;
  int pages = 0;
  do {
    const auto page =
        admin("GET", "/api/v1/join-tokens?limit=2" + (next_token.empty() ? "" : "&before_token=" + next_token) +
                         (next_key.empty() ? "" : "&after_key=" + next_key));
    EXPECT_LE(page.at("tokens").as_array().size(), 2U);
    EXPECT_LE(page.at("keys").as_array().size(), 2U);
    for (const auto& token : page.at("tokens").as_array()) tokens += std::string(token.at("id").as_string()) + " ";
    for (const auto& key : page.at("keys").as_array()) keys += key.at("node").as_string();
    next_token = page.at("next_token").as_string();
    next_key = page.at("next_key").as_string();
  } while (!next_token.empty() && !next_key.empty() && ++pages < 5);
  EXPECT_EQ(keys, "abcdegpu01");
  EXPECT_THAT(tokens, HasSubstr(ids[2] + " " + ids[1] + " " + ids[0] + " ")) << "newest first";
  const auto waiting = admin("GET", "/api/v1/join-tokens?waiting=true");
  ASSERT_THAT(waiting.at("keys").as_array(), SizeIs(2));
  EXPECT_EQ(waiting.at("keys").at(1).at("node").as_string(), "d");
  EXPECT_EQ(status("GET", "/api/v1/join-tokens?before_token=nobody", Role::admin), 400);
}

TEST_F(OfferApi, AJoinTokenLetsInWhomItsTermsName) {
  serve();
  const auto made =
      admin("POST", "/api/v1/join-tokens", R"({"name": "rack-3", "for": "2h", "nodes": "rack3-*", "uses": 1})");
  EXPECT_EQ(last_audit(), "POST /api/v1/join-tokens");
  EXPECT_THAT(std::string(made.at("secret").as_string()), StartsWith("assay-join:"));
  EXPECT_THAT(std::string(made.at("secret").as_string()), HasSubstr("@sha256:aaaa")) << "agents know the leader by it";
  EXPECT_EQ(made.at("token").at("state").as_string(), "good");
  EXPECT_FALSE(made.at("token").at("expires").is_null());
  const std::string secret = secret_in(made);
  EXPECT_FALSE(book_->join(secret, "login", new_secret()).ok());
  EXPECT_TRUE(book_->join(secret, "rack3-1", new_secret()).ok());
  EXPECT_FALSE(book_->join(secret, "rack3-2", new_secret()).ok());
  const auto list = admin("GET", "/api/v1/join-tokens");
  EXPECT_EQ(list.at("tokens").as_array()[0].at("nodes_let_in").as_int64(), 1);
  EXPECT_EQ(json::serialize(list).find(secret), std::string::npos) << "it is shown once";
  EXPECT_EQ(key_of("rack3-1").at("by_token").as_string(), id_of(made));
}

TEST_F(OfferApi, AMachineWaitsForWhoLetsItIn) {
  serve();
  const std::string secret = secret_in(admin("POST", "/api/v1/join-tokens", R"({"approval": true})"));
  const std::string key = new_secret();
  ASSERT_TRUE(book_->join(secret, "new1", key).ok());
  EXPECT_EQ(key_of("new1").at("state").as_string(), "waits");
  EXPECT_FALSE(book_->check_node("new1", key).ok());
  admin("POST", "/api/v1/nodes/new1/approve");
  EXPECT_EQ(last_audit(), "POST /api/v1/nodes/{node}/approve");
  EXPECT_TRUE(book_->check_node("new1", key).ok());
  EXPECT_EQ(status("POST", "/api/v1/nodes/never-seen/approve", Role::admin), 404);
}

TEST_F(OfferApi, ATokenAndAMachineAreShutOut) {
  serve();
  const auto made = admin("POST", "/api/v1/join-tokens", "{}");
  const std::string secret = secret_in(made);
  const std::string first = new_secret();
  const std::string second = new_secret();
  ASSERT_TRUE(book_->join(secret, "m1", first).ok());
  ASSERT_TRUE(book_->join(secret, "m2", second).ok());
  admin("DELETE", "/api/v1/nodes/m1/key");
  EXPECT_FALSE(book_->check_node("m1", first).ok());
  EXPECT_EQ(key_of("m1").at("state").as_string(), "revoked");
  admin("DELETE", "/api/v1/join-tokens/" + id_of(made));
  EXPECT_FALSE(book_->join(secret, "m3", new_secret()).ok());
  EXPECT_TRUE(book_->check_node("m2", second).ok()) << "who is in stays";
  admin("DELETE", "/api/v1/join-tokens/" + id_of(made) + "?with_nodes=true");
  EXPECT_FALSE(book_->check_node("m2", second).ok());
  EXPECT_EQ(status("DELETE", "/api/v1/nodes/never-seen/key", Role::admin), 404);
}

TEST_F(OfferApi, OnlyTokensOfMachinesAreMadeAndRevokedHere) {
  serve();
  for (const auto& token : book_->tokens()) {
    if (token.role == Role::agent) continue;
    EXPECT_EQ(status("DELETE", "/api/v1/join-tokens/" + token.id, Role::admin), 404) << token.name;
  }
  EXPECT_EQ(status("GET", "/api/v1/nodes", Role::viewer), 200) << "its token is still good";
  EXPECT_THAT(admin("GET", "/api/v1/join-tokens").at("tokens").as_array(), SizeIs(1));
}

TEST_F(OfferApi, AJoinTokenThatCannotBeIsRefused) {
  serve();
  for (const char* bad : {R"({"for": "31d"})", R"({"for": "never"})", R"({"for": "0s"})", R"({"name": "<b>"})",
                          R"({"nodes": "a b/c"})", R"({"uses": 0})", R"({"uses": -1})", R"({"role": "admin"})"}) {
    EXPECT_EQ(status("POST", "/api/v1/join-tokens", Role::admin, bad), 400) << bad;
  }
}

TEST_F(OfferApi, PricesHoldForTheGpusTheyName) {
  TestAgent node;
  hello(node);
  Reading reading;
  reading.devices = {
      {{.id = "GPU-1", .facts = {{"name", "NVIDIA H200"}}}, {.id = "GPU-2", .facts = {{"name", "Tesla T4"}}}}};
  taken(node, {node.batch(clock_.wall(), std::move(reading))});
  serve();
  admin("PUT", "/api/v1/prices",
        R"({"gpu": "*H200*", "on_demand": 3.5, "spot": 1.25, "currency": "USD", "source": "a list"})");
  EXPECT_EQ(last_audit(), "PUT /api/v1/prices");
  admin("PUT", "/api/v1/prices/power", R"({"per_kwh": 0.3, "currency": "EUR", "grams_co2_per_kwh": 380})");
  const auto list = answer("GET", "/api/v1/prices", Role::viewer);
  ASSERT_THAT(list.at("gpus").as_array(), SizeIs(2));
  EXPECT_EQ(list.at("gpus").as_array()[0].at("price").at("gpu").as_string(), "*H200*");
  EXPECT_TRUE(list.at("gpus").as_array()[1].at("price").is_null());
  EXPECT_EQ(list.at("power").at("grams_co2_per_kwh").to_number<double>(), 380);
  admin("DELETE", "/api/v1/prices?gpu=*H200*");
  EXPECT_EQ(status("DELETE", "/api/v1/prices?gpu=*H200*", Role::admin), 404);
  EXPECT_THAT(answer("GET", "/api/v1/prices", Role::viewer).at("prices").as_array(), SizeIs(0));
  for (const char* bad :
       {R"({"gpu": "a", "currency": "USD"})", R"({"gpu": "", "on_demand": 1, "currency": "USD"})",
        R"({"gpu": "a", "on_demand": -1, "currency": "USD"})", R"({"gpu": "a", "on_demand": 1, "currency": "$"})"}) {
    EXPECT_EQ(status("PUT", "/api/v1/prices", Role::admin, bad), 400) << bad;
  }
}

TEST_F(OfferApi, AReportTakesThePriceOfTheBookAndSaysSo) {
  Run run{.id = "priced", .kind = "train"};
  run.state = RunState::ended;
  run.verdict = Verdict::valid;
  run.duration = std::chrono::hours(2);
  run.metrics = {{"samples_per_second", 100}};
  run.provenance.cpu_cores = 8;
  run.provenance.gpus = {{.uuid = "GPU-1", .name = "NVIDIA H200"}};
  ASSERT_TRUE(runs_->add_run(run).ok());
  serve();
  EXPECT_EQ(answer("GET", "/api/v1/reports?of=priced", Role::viewer).size(), 1U);
  const auto text = [&] { return send("GET", "/api/v1/reports/file?format=md&of=priced", bearer(Role::viewer)).body; };
  EXPECT_THAT(text(), testing::Not(HasSubstr("USD")));
  admin("PUT", "/api/v1/prices",
        R"({"gpu": "NVIDIA H200", "on_demand": 4, "spot": 1, "currency": "USD", "source": "a list"})");
  EXPECT_THAT(text(), testing::AllOf(HasSubstr("$8.00"), HasSubstr("price book, NVIDIA H200: a list"),
                                     HasSubstr("spot market 1 USD/GPUh: 75 % less")));
}

TEST_F(OfferApi, TagsAreTheOwnersToChange) {
  Run run;
  run.kind = "null";
  serve();
  const auto made =
      answer("POST", "/api/v1/runs/recorded", Role::user, json::serialize(json::object{{"run", to_json(run)}}));
  const std::string path = "/api/v1/runs/" + std::string(made.at("run").at("id").as_string()) + "/tags";
  const auto tagged = answer("POST", path, Role::user, R"({"add": ["gpu=h200", "checked"]})");
  EXPECT_EQ(json::serialize(tagged.at("tags")), R"(["gpu=h200","checked"])");
  EXPECT_EQ(last_audit(), "POST /api/v1/runs/{run}/tags");
  EXPECT_EQ(json::serialize(admin("POST", path, R"({"add": ["b"], "remove": ["checked"]})").at("tags")),
            R"(["gpu=h200","b"])");
  EXPECT_EQ(status("POST", path, Role::viewer, R"({"add": ["x"]})"), 403);
  EXPECT_EQ(status("POST", path, Role::user, R"({"add": ["not a tag"]})"), 400);
  ASSERT_TRUE(runs_->add_run(run = {.id = "others", .kind = "null"}).ok());
  EXPECT_EQ(status("POST", "/api/v1/runs/others/tags", Role::user, R"({"add": ["x"]})"), 403);
  EXPECT_EQ(status("POST", "/api/v1/runs/none/tags", Role::admin, R"({"add": ["x"]})"), 404);
  EXPECT_THAT(runs_->find_run("others")->tags, SizeIs(0));
}

}  // namespace
}  // namespace assay
