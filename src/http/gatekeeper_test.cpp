#include "http/gatekeeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "access/fake_authenticator.h"
#include "access/secrets.h"
#include "net/http_message.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A book with a viewer and a node, and another authenticator beside it.
class GatekeeperTest : public testing::Test {
 protected:
  GatekeeperTest() : book_(TokenBook::open(folder_.path() / "tokens.jsonl", clock_).value()) {
    secret_ = book_.create(Role::viewer, "eva", std::nullopt).value().secret;
    EXPECT_TRUE(book_.join(book_.create(Role::agent, "", std::nullopt).value().secret, "gpu01", key_).ok());
    auto sessions = std::make_unique<FakeAuthenticator>(std::map<std::string, Principal>{
        {"session", {.name = "otto", .scopes = {Scope::run}, .title = "otto's session"}}});
    sessions_ = sessions.get();
    std::vector<std::unique_ptr<Authenticator>> others;
    others.push_back(std::move(sessions));
    gatekeeper_.emplace(book_, std::move(others));
  }
  static HttpRequest from(const std::string& bearer, const std::string& node = "") {
    HttpRequest request{.method = "GET", .path = "/x"};
    if (!bearer.empty()) request.headers.add("Authorization", "Bearer " + bearer);
    if (!node.empty()) request.headers.add("Assay-Node", node);
    return request;
  }
  /// 200 for who is let in.
  int status(const HttpRequest& request, Scope scope) {
    const auto admitted = gatekeeper_->admit(request, scope);
    const auto* away = std::get_if<TurnedAway>(&admitted);
    return away ? away->status : 200;
  }

  TemporaryFolder folder_;
  ManualClock clock_;
  TokenBook book_;
  std::string secret_;
  std::string key_ = new_secret();
  FakeAuthenticator* sessions_ = nullptr;
  std::optional<Gatekeeper> gatekeeper_;
};

TEST_F(GatekeeperTest, AsksOneAfterTheOther) {
  EXPECT_EQ(status(from(secret_), Scope::read), 200);
  EXPECT_EQ(status(from("session"), Scope::run), 200);
  EXPECT_EQ(status(from("session"), Scope::read), 403) << "who may write need not be allowed to look";
  EXPECT_EQ(status(from(secret_), Scope::run), 403);
  EXPECT_EQ(status(from("nobody"), Scope::read), 401);
  EXPECT_EQ(status(from(""), Scope::read), 401);
  EXPECT_EQ(std::get<Principal>(gatekeeper_->admit(from("session"), Scope::run)).name, "otto");
}

TEST_F(GatekeeperTest, ANodeIsNobodyWherePeopleAskAndTheOtherWayRound) {
  EXPECT_EQ(status(from(key_, "gpu01"), Scope::node), 200);
  EXPECT_EQ(status(from(key_, "gpu01"), Scope::read), 401);
  EXPECT_EQ(status(from(key_, "gpu02"), Scope::node), 401);
  EXPECT_EQ(status(from(secret_, "gpu01"), Scope::node), 401);
  EXPECT_EQ(status(from(secret_, "gpu01"), Scope::read), 200) << "a name is no harm to who is known without it";
}

TEST_F(GatekeeperTest, OnlyWhoIsKnownHearsAReason) {
  const auto few = gatekeeper_->admit(from(secret_), Scope::manage);
  EXPECT_EQ(std::get<TurnedAway>(few).error.text(),
            "token 'eva' of role viewer may not: this needs the scope 'manage' (role admin)");
  const auto nobody = gatekeeper_->admit(from("nobody"), Scope::manage);
  EXPECT_THAT(std::get<TurnedAway>(nobody).error.text(), AllOf(HasSubstr("token"), Not(HasSubstr("unknown"))));
}

TEST_F(GatekeeperTest, OneThatCannotTellIsNotTheCallersFault) {
  sessions_->broken = true;
  EXPECT_EQ(status(from("session"), Scope::run), 503);
  EXPECT_EQ(status(from("nobody"), Scope::read), 503) << "perhaps it would have known";
  EXPECT_EQ(status(from(secret_), Scope::read), 200);
}

TEST_F(GatekeeperTest, HoweverSomebodyIsSpelledItIsOneCaller) {
  const auto caller = [&](const std::string& authorization, std::optional<Scope> scope = Scope::read,
                          const std::string& host = "10.0.0.7") {
    HttpRequest head{.method = "POST", .path = "/x", .peer = {.host = host}};
    if (!authorization.empty()) head.headers.add("Authorization", authorization);
    return gatekeeper_->look_at(head, scope, [](const HttpRequest&, const TurnedAway&) { return HttpResponse(); })
        .caller;
  };
  for (const std::string scheme : {"Bearer ", "bearer ", "bEaReR ", "Bearer   ", "BEARER \t"}) {
    EXPECT_EQ(caller(scheme + secret_ + " "), "token eva") << scheme;
    EXPECT_EQ(caller(scheme + secret_, Scope::manage), "token eva") << "also where she may not";
    EXPECT_EQ(caller(scheme + "nobody"), "10.0.0.7") << scheme;
  }
  EXPECT_EQ(caller(""), "10.0.0.7");
  EXPECT_EQ(caller("Bearer " + secret_, std::nullopt), "10.0.0.7") << "where nobody is asked who they are";
  const auto node = gatekeeper_->look_at(from(key_, "gpu01"), Scope::node, {});
  EXPECT_EQ(node.caller, "node gpu01");
  EXPECT_FALSE(node.refuse);
}

TEST_F(GatekeeperTest, BehindAProxyStrangersCountByWhereTheyReallyAre) {
  Gatekeeper behind(book_, {}, {.behind_proxy = true});
  HttpRequest head{.method = "POST", .path = "/x", .peer = {.host = "127.0.0.1", .loopback = true}};
  head.headers.add("X-Forwarded-For", "made up, 10.0.0.9");
  EXPECT_EQ(behind.look_at(head, std::nullopt, {}).caller, "10.0.0.9");
}

TEST_F(GatekeeperTest, WhoMayNotIsAnsweredWithoutABody) {
  std::vector<int> answered;
  const auto turn_away = [&](const HttpRequest&, const TurnedAway& away) {
    answered.push_back(away.status);
    return HttpResponse::text(away.status, "");
  };
  EXPECT_FALSE(gatekeeper_->look_at(from(secret_), Scope::read, turn_away).refuse);
  for (const auto& [who, scope] :
       std::vector<std::pair<std::string, Scope>>{{secret_, Scope::run}, {"x", Scope::read}}) {
    const auto admission = gatekeeper_->look_at(from(who), scope, turn_away);
    ASSERT_TRUE(admission.refuse);
    (void)admission.refuse(from(who));
  }
  EXPECT_THAT(answered, testing::ElementsAre(403, 401));
}

TEST_F(GatekeeperTest, ARackJoinsAtOnceAndAfterThatFewASecondInFewLines) {
  const auto token = book_.create(Role::agent, "", std::nullopt).value().secret;
  const auto key = new_secret();
  testing::internal::CaptureStderr();
  int let_in = 0;
  int turned_away = 0;
  for (; turned_away == 0 && let_in < 5000; ++let_in) {
    const auto joined = gatekeeper_->join(from(token), "gpu02", key);
    if (const auto* away = std::get_if<TurnedAway>(&joined)) turned_away = away->status;
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(turned_away, 429);
  EXPECT_GT(let_in, 1024);
  EXPECT_LT(let_in, 1500);
  EXPECT_LT(std::count(said.begin(), said.end(), '\n'), 60) << "a line for each would fill the log";
}

TEST_F(GatekeeperTest, CanBeAskedAgain) {
  const auto admitted = gatekeeper_->admit(from(secret_), Scope::read);
  const auto& eva = std::get<Principal>(admitted);
  EXPECT_TRUE(eva.still_allowed());
  ASSERT_TRUE(book_.revoke("eva").ok());
  EXPECT_FALSE(eva.still_allowed());
  const auto session = gatekeeper_->admit(from("session"), Scope::run);
  sessions_->known["session"].scopes = {Scope::read};
  EXPECT_FALSE(std::get<Principal>(session).still_allowed()) << "it is about what they were let in for";
}

}  // namespace
}  // namespace assay
