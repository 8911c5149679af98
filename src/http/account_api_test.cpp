// People over the API: what a browser, a program, a guest and an attacker get to see.

#include "http/client_address.h"
#include "http/gatekeeper.h"
#include "http/leader_router.h"
#include "http/people_fixture.h"
#include "leader/test_agent_fixture.h"
#include "model/run.h"
#include "model/study.h"
#include "net/http_message.h"
#include "net/server_fixture.h"
#include "net/url_text.h"
#include "store/journal/journal_encoder.h"
#include "store/run_store.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AccountApi : public PeopleServerTest {
 protected:
  std::string order(const std::string& spec) {
    return json::serialize(json::object{{"spec", spec}, {"node", "gpu01"}});
  }
  void allow_runs() {
    TestAgent node;
    auto said = node.hello();
    said.allow = {"run"};
    ASSERT_TRUE(leader_->hello("gpu01", said).ok());
  }
};

TEST_F(AccountApi, ABrowserSignsInAndOut) {
  serve();
  const auto response = send("POST", "/api/v1/session", {}, sign_in_body("ada"));
  ASSERT_EQ(response.status, 200) << response.body;
  const std::string cookie(response.headers.find("Set-Cookie").value_or(""));
  EXPECT_THAT(cookie, AllOf(HasSubstr("HttpOnly"), HasSubstr("SameSite=Strict"), Not(HasSubstr("Secure")),
                            Not(HasSubstr("Path")), Not(HasSubstr("Domain"))))
      << "over plain HTTP on loopback, behind any prefix";
  const auto info = parsed(response.body);
  EXPECT_EQ(info.at("user").as_string(), "ada");
  EXPECT_EQ(info.at("role").as_string(), "user");
  EXPECT_THAT(cookie, Not(HasSubstr(std::string(info.at("csrf").as_string()))));
  const Browser ada{.cookie = cookie.substr(0, cookie.find(';')), .csrf = std::string(info.at("csrf").as_string())};
  EXPECT_EQ(good("GET", "/api/v1/session", ada.forged()).at("csrf").as_string(), ada.csrf) << "a reloaded page asks";
  EXPECT_EQ(status("GET", "/api/v1/nodes", ada.forged()), 200) << "looking needs no more than the cookie";
  const auto out = send("DELETE", "/api/v1/session", ada.headers());
  EXPECT_EQ(out.status, 200);
  EXPECT_THAT(std::string(out.headers.find("Set-Cookie").value_or("")), HasSubstr("Max-Age=0"));
  EXPECT_EQ(status("GET", "/api/v1/nodes", ada.headers()), 401);
}

TEST_F(AccountApi, AnotherPageCannotActForWhoIsSignedIn) {
  serve();
  const auto root = browser("root");
  const std::string body = R"({"name": "eve", "role": "admin", "password": "a long password"})";
  EXPECT_EQ(status("POST", "/api/v1/users", root.forged(), body), 403);
  EXPECT_EQ(status("POST", "/api/v1/users", {{"Cookie", root.cookie}, {"X-Assay-Csrf", "guess"}}, body), 403);
  const auto other = browser("ada");
  EXPECT_EQ(status("POST", "/api/v1/users", {{"Cookie", root.cookie}, {"X-Assay-Csrf", other.csrf}}, body), 403)
      << "that of another session";
  EXPECT_FALSE(people().find("eve"));
  EXPECT_EQ(status("DELETE", "/api/v1/session", root.forged()), 403);
  EXPECT_EQ(status("POST", "/api/v1/users", root.headers(), body), 200);
  EXPECT_EQ(status("POST", "/api/v1/silences", bearer(Role::admin), R"({"for": "2h", "rule": "xid"})"), 200)
      << "whom no browser speaks for needs none";
}

TEST_F(AccountApi, AnotherPageSignsNobodyIn) {
  serve();
  const std::string host = "127.0.0.1:" + std::to_string(port_of(*server_));
  const auto tried = [&](Headers headers) {
    const auto response = send("POST", "/api/v1/session", std::move(headers), sign_in_body("ada"));
    EXPECT_EQ(response.headers.find("Set-Cookie").has_value(), response.status == 200) << response.body;
    return response.status;
  };
  for (const char* form : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                           "text/plain; application/json", "application/jsonp"}) {
    EXPECT_EQ(tried({{"Content-Type", form}}), 415) << "a form of any page can send " << form;
  }
  EXPECT_EQ(tried({{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(tried({{"Sec-Fetch-Site", "same-site"}}), 403) << "a neighbour below the same domain";
  for (const std::string& origin : {std::string("https://evil.example"), std::string("null"), "https://evil-" + host,
                                    "https://" + host + ".evil.example"}) {
    EXPECT_EQ(tried({{"Origin", origin}}), 403) << origin << ", in a browser that does not say more";
  }
  EXPECT_EQ(tried({{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://" + host}}), 200);
  EXPECT_EQ(tried({{"Origin", "http://" + host}}), 200);
  EXPECT_EQ(tried({{"Content-Type", "Application/JSON; charset=utf-8"}, {"Sec-Fetch-Site", "none"}}), 200);
}

TEST_F(AccountApi, NobodyLearnsWhoExists) {
  ASSERT_TRUE(people().change("bob", {.disabled = true}).ok());
  serve();
  const auto wrong = send("POST", "/api/v1/session", {}, sign_in_body("ada", "wrong password"));
  EXPECT_EQ(wrong.status, 401);
  for (const auto& [user, password] : std::vector<std::pair<std::string, std::string>>{
           {"nobody", "wrong password"}, {"bob", kPassword}, {"ada", ""}, {"'; DROP TABLE account", "x"}}) {
    const auto response = send("POST", "/api/v1/session", {}, sign_in_body(user, password));
    EXPECT_EQ(response.status, 401) << user;
    EXPECT_EQ(response.body, wrong.body) << user;
    EXPECT_FALSE(response.headers.find("Set-Cookie"));
  }
}

TEST_F(AccountApi, GuessingIsRefusedForAWhileWhoeverItIsAbout) {
  serve();
  for (const std::string user : {"ada", "nobody"}) {
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(status("POST", "/api/v1/session", {}, sign_in_body(user, "guess guess")), 401);
    const auto response = send("POST", "/api/v1/session", {}, sign_in_body(user));
    EXPECT_EQ(response.status, 429) << user << ": even with the right password";
    EXPECT_TRUE(response.headers.find("Retry-After"));
  }
  EXPECT_EQ(status("POST", "/api/v1/session", {}, sign_in_body("bob")), 200) << "others get in";
}

TEST_F(AccountApi, RefusedGuessesAreWrittenDownWithoutFillingTheLog) {
  serve();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status("POST", "/api/v1/session", {}, sign_in_body("ada", "guess guess")), 401);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(status("POST", "/api/v1/session", {}, sign_in_body("ada")), 429);
  const auto refused = [&] {
    std::vector<std::string> details;
    const auto answer = parsed(send("GET", "/api/v1/audit?limit=100", bearer(Role::admin)).body);
    for (const auto& entry : answer.at("entries").as_array()) {
      if (entry.at("status").as_int64() != 429) continue;
      EXPECT_EQ(entry.at("about").as_string(), "ada");
      EXPECT_EQ(entry.at("from").as_string(), "127.0.0.1");
      details.emplace_back(entry.at("detail").as_string());
    }
    return details;
  };
  ASSERT_EQ(refused().size(), 10U);
  EXPECT_THAT(refused().front(), AllOf(HasSubstr("too many attempts"), Not(HasSubstr("more were refused"))));
}

TEST_F(AccountApi, ALinkLetsInOnce) {
  serve();
  const auto made = good("POST", "/api/v1/users", bearer(Role::admin), R"({"name": "eve", "role": "user"})");
  const std::string body = json::serialize(json::object{{"once", made.at("once")}});
  const auto in = send("POST", "/api/v1/session", {}, body);
  ASSERT_EQ(in.status, 200) << in.body;
  EXPECT_TRUE(parsed(in.body).at("needs_password").as_bool());
  EXPECT_EQ(status("POST", "/api/v1/session", {}, body), 401);
  const std::string field(in.headers.find("Set-Cookie").value_or(""));
  const Browser eve{.cookie = field.substr(0, field.find(';')),
                    .csrf = std::string(parsed(in.body).at("csrf").as_string())};
  EXPECT_EQ(status("POST", "/api/v1/session/password", eve.headers(), R"({"password": "short"})"), 400);
  EXPECT_EQ(status("POST", "/api/v1/session/password", eve.headers(), R"({"password": "long enough now"})"), 200);
  EXPECT_EQ(status("POST", "/api/v1/session/password", eve.headers(), R"({"password": "and another one"})"), 403)
      << "now there is an old one";
  EXPECT_EQ(status("POST", "/api/v1/session", {}, sign_in_body("eve", "long enough now")), 200);
}

TEST_F(AccountApi, AnswersAreNeitherKeptNorTakenForPages) {
  serve();
  for (const char* target : {"/api/v1/session", "/api/v1/nodes"}) {
    const auto response = send("GET", target, browser("ada").headers());
    EXPECT_EQ(response.headers.find("Cache-Control"), "no-store") << target;
    EXPECT_EQ(response.headers.find("X-Content-Type-Options"), "nosniff") << target;
  }
}

TEST_F(AccountApi, TokensOfOnesOwnMayNoMoreThanTheirOwner) {
  serve();
  const auto ada = browser("ada");
  const auto made = good("POST", "/api/v1/tokens", ada.headers(),
                         R"({"name": "ci", "scopes": ["read", "run", "admin"], "for": "30d"})");
  const Headers token = bearing(made);
  EXPECT_EQ(good("GET", "/api/v1/session", token).at("via").as_string(), "token");
  EXPECT_EQ(status("GET", "/api/v1/nodes", token), 200);
  EXPECT_EQ(status("GET", "/api/v1/users", token), 403) << "she is no administrator";
  EXPECT_EQ(status("POST", "/api/v1/silences", token, R"({"for": "2h", "rule": "xid"})"), 403) << "not of its scopes";
  EXPECT_EQ(status("POST", "/api/v1/tokens", token, R"({"name": "more", "scopes": ["read"]})"), 403)
      << "a token makes no tokens";
  EXPECT_EQ(status("POST", "/api/v1/session/password", token, R"({"password": "a new password"})"), 403);
  ASSERT_TRUE(people().change("ada", {.disabled = true}).ok());
  EXPECT_EQ(status("GET", "/api/v1/nodes", token), 401);
  ASSERT_TRUE(people().change("ada", {.disabled = false}).ok());
  EXPECT_EQ(status("GET", "/api/v1/nodes", token), 200);
  const std::string id(made.at("token").at("id").as_string());
  const auto bob = browser("bob");
  EXPECT_EQ(status("DELETE", "/api/v1/tokens/" + id, bob.headers()), 404) << "not his";
  EXPECT_TRUE(good("GET", "/api/v1/tokens?all=true", bob.headers()).at("tokens").as_array().empty());
  EXPECT_EQ(status("DELETE", "/api/v1/tokens/" + id, browser("ada").headers()), 200);
  EXPECT_EQ(status("GET", "/api/v1/nodes", token), 401);
}

TEST_F(AccountApi, RunsAreChangedByTheirOwnersAndAdministrators) {
  serve();
  const auto ada = browser("ada").headers();
  const auto bob = browser("bob").headers();
  const auto id = recorded(ada);
  EXPECT_EQ(good("GET", "/api/v1/runs/" + id + "/owner", bob).at("owner").as_string(), "user ada");
  EXPECT_EQ(status("GET", "/api/v1/runs/" + id, bob), 200) << "everybody may look";
  const std::string put = json::serialize(json::object{{"run", to_json(*runs_->find_run(id))}, {"before", "x"}});
  const std::string lease = R"({"owner": "x", "length_ns": 1000000000})";
  for (const auto& [method, target, body] :
       std::vector<std::tuple<std::string, std::string, std::string>>{{"PUT", "", put},
                                                                      {"DELETE", "", ""},
                                                                      {"POST", "/stop", ""},
                                                                      {"POST", "/lease", lease},
                                                                      {"POST", "/join", R"({"name": "1"})"},
                                                                      {"PUT", "/artifacts/a", "x"}}) {
    EXPECT_EQ(status(method, "/api/v1/runs/" + id + target, bob, body), 403) << method << target;
    EXPECT_EQ(status(method, "/api/v1/runs/" + id + target, bearer(Role::user), body), 403) << method << target;
  }
  EXPECT_EQ(status("PUT", "/api/v1/runs/" + id + "/artifacts/a", ada, "x"), 200);
  EXPECT_EQ(status("PUT", "/api/v1/runs/" + id + "/artifacts/b", bearer(Role::admin), "x"), 200);
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + id, ada), 200);
  // A token that is called as she is, is not her.
  ASSERT_TRUE(book_->create(Role::user, "ada", std::nullopt).ok());
  Run nobodys;
  nobodys.kind = "null";
  ASSERT_TRUE(runs_->add_run(nobodys).ok());
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + nobodys.id, ada), 403);
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + nobodys.id, browser("root").headers()), 200);
}

TEST_F(AccountApi, AFurtherProcessOfAJobIsItsOwnersToRecord) {
  serve();
  const auto ada = browser("ada").headers();
  const auto id = recorded(ada);
  const auto lease = good("POST", "/api/v1/runs/" + id + "/join", ada, R"({"name": "rank-1"})");
  const auto frames_of = [&](const json::value& owner, const std::string& epoch) {
    return "/api/v1/runs/" + id + "/frames?journal=rank-1&offset=0&epoch=" + epoch +
           "&owner=" + percent_encode(std::string(owner.as_string()));
  };
  JournalEncoder encoder;
  ASSERT_TRUE(encoder.add_event(WallTime(), R"({"type": "x"})").ok());
  const std::string frames = encoder.frames();
  const auto other = browser("bob").headers();
  const std::string bobs = "/api/v1/runs/" + recorded(other) + "/join";
  const json::value bob = good("POST", bobs, other, R"({"name": "rank-1"})").at("owner");
  for (const std::string epoch : {"0", "00", "-0"}) {
    EXPECT_GE(status("POST", frames_of(bob, epoch), other, frames), 400) << epoch;
  }
  EXPECT_EQ(status("POST", frames_of(bob, "0"), other, frames), 403);
  auto release = json::object{{"lease", lease}};
  release["lease"].as_object()["owner"] = bob;
  const std::string body = json::serialize(release);
  EXPECT_EQ(status("POST", "/api/v1/runs/" + id + "/lease/release", other, body), 403);
  EXPECT_EQ(runs_->read_frames(id, "rank-1", 0, 1000).value(), "");
  EXPECT_EQ(status("POST", frames_of(lease.at("owner"), "0"), ada, frames), 200);
  EXPECT_EQ(runs_->read_frames(id, "rank-1", 0, 1000).value(), frames);
}

TEST_F(AccountApi, ATokenNamedLikeAUserIsNotThatUser) {
  serve();
  const auto id = recorded(browser("ada").headers());
  const auto token = book_->create(Role::user, "ada", std::nullopt);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + id, {{"Authorization", "Bearer " + token->secret}}), 403);
}

TEST_F(AccountApi, StudiesAndTheirRunsHaveOneOwner) {
  serve();
  const auto ada = browser("ada").headers();
  const auto bob = browser("bob").headers();
  Study study;
  study.name = "s";
  const auto made = good("POST", "/api/v1/studies", ada, json::serialize(to_json(study)));
  const std::string id(made.at("id").as_string());
  Run run;
  run.kind = "null";
  run.study = id;
  ASSERT_TRUE(runs_->add_run(run).ok());
  EXPECT_EQ(status("DELETE", "/api/v1/studies/" + id, bob), 403);
  EXPECT_EQ(status("POST", "/api/v1/studies/" + id + "/stop", bob), 403);
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + run.id, bob), 403);
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + run.id, ada), 200);
  EXPECT_EQ(status("DELETE", "/api/v1/studies/" + id, ada), 200);
}

TEST_F(AccountApi, ALinkShowsOneThingUntilItIsRevokedOrExpires) {
  serve();
  const auto ada = browser("ada").headers();
  const auto shown = recorded(ada);
  const auto hidden = recorded(ada);
  const std::string body = json::serialize(json::object{{"kind", "run"}, {"runs", json::array{shown}}, {"for", "1h"}});
  EXPECT_EQ(status("POST", "/api/v1/links", browser("vera").headers(), body), 403) << "viewers share nothing";
  const auto made = good("POST", "/api/v1/links", ada, body);
  const Headers guest = bearing(made);
  EXPECT_EQ(status("GET", "/api/v1/runs/" + shown, guest), 200);
  EXPECT_EQ(status("GET", "/api/v1/runs/" + shown + "/artifacts", guest), 200);
  EXPECT_EQ(status("POST", "/api/v1/runs/" + shown + "/curves", guest, R"({"width": 10})"), 200);
  const auto who = good("GET", "/api/v1/session", guest);
  EXPECT_EQ(who.at("via").as_string(), "link");
  EXPECT_EQ(who.at("shows").at("runs").as_array().at(0).as_string(), shown);
  for (const auto& [method, target] :
       std::vector<std::pair<std::string, std::string>>{{"GET", "/api/v1/runs/" + hidden},
                                                        {"GET", "/api/v1/runs/" + hidden + "/artifacts"},
                                                        {"GET", "/api/v1/runs"},
                                                        {"POST", "/api/v1/runs/search"},
                                                        {"GET", "/api/v1/studies"},
                                                        {"GET", "/api/v1/nodes"},
                                                        {"GET", "/metrics"},
                                                        {"GET", "/api/v1/events"},
                                                        {"GET", "/api/v1/tokens"},
                                                        {"GET", "/api/v1/users"},
                                                        {"DELETE", "/api/v1/runs/" + shown},
                                                        {"POST", "/api/v1/runs/" + shown + "/stop"},
                                                        {"PUT", "/api/v1/runs/" + shown + "/artifacts/a"}}) {
    EXPECT_EQ(status(method, target, guest, method == "POST" ? "{}" : ""), 403) << method << " " << target;
  }
  const std::string id(made.at("link").at("id").as_string());
  EXPECT_EQ(status("DELETE", "/api/v1/links/" + id, browser("bob").headers()), 404);
  EXPECT_EQ(status("DELETE", "/api/v1/links/" + id, ada), 200);
  EXPECT_EQ(status("GET", "/api/v1/runs/" + shown, guest), 401) << "revoked";
  const Headers late = bearing(good("POST", "/api/v1/links", ada, body));
  server_.reset();
  clock_.advance(std::chrono::hours(1));
  serve();
  EXPECT_EQ(status("GET", "/api/v1/runs/" + shown, late), 401) << "expired";
}

TEST_F(AccountApi, ALinkShowsWhatThePagesOfItsThingNeedAndNoOther) {
  serve();
  const auto ada = browser("ada").headers();
  Study study;
  study.name = "s";
  const std::string id(good("POST", "/api/v1/studies", ada, json::serialize(to_json(study))).at("id").as_string());
  const std::string other(good("POST", "/api/v1/studies", ada, json::serialize(to_json(study))).at("id").as_string());
  Run inside;
  inside.kind = "null";
  inside.study = id;
  ASSERT_TRUE(runs_->add_run(inside).ok());
  const auto one = recorded(ada);
  const auto two = recorded(ada);
  const auto hidden = recorded(ada);
  const auto link = [&](const json::object& wanted) {
    return bearing(good("POST", "/api/v1/links", ada, json::serialize(wanted)));
  };
  const Headers of_study = link({{"kind", "study"}, {"study", id}});
  for (const std::string& target :
       {"/api/v1/studies/" + id, "/api/v1/studies/" + id + "/jobs", "/api/v1/runs?filter=study%3D" + id + "&limit=10",
        "/api/v1/reports?of=study:" + id, "/api/v1/runs/" + inside.id + "/log",
        "/api/v1/reports/file?format=csv&of=" + inside.id, std::string("/api/v1/metrics/known")}) {
    const int answered = status("GET", target, of_study);
    EXPECT_TRUE(answered != 401 && answered != 403 && answered < 500) << target << ": " << answered;
  }
  for (const std::string& target :
       {"/api/v1/studies/" + other, "/api/v1/runs?filter=study%3D" + other, std::string("/api/v1/runs"),
        "/api/v1/runs?filter=study%3D" + id + "%20or%20kind%3Dnull", std::string("/api/v1/runs?filter=study%3D"),
        "/api/v1/reports?of=study:" + other, "/api/v1/reports?of=study:" + id + "," + hidden,
        "/api/v1/reports?of=" + hidden, std::string("/api/v1/reports?of=@last"),
        std::string("/api/v1/reports?of=study:"), std::string("/api/v1/reports?of=study:s"),
        std::string("/api/v1/reports?of=tag:x"), "/api/v1/reports/file?format=csv&of=" + hidden,
        std::string("/api/v1/reports"), std::string("/api/v1/spec/schema")}) {
    EXPECT_EQ(status("GET", target, of_study), 403) << target;
  }
  const Headers of_two = link({{"kind", "compare"}, {"runs", json::array{one, two}}});
  EXPECT_NE(status("GET", "/api/v1/reports?compare=true&of=" + one + "," + two, of_two), 403);
  EXPECT_EQ(status("GET", "/api/v1/reports?compare=true&of=" + one + "," + hidden, of_two), 403);
  EXPECT_EQ(status("GET", "/api/v1/reports?of=" + one + ",", of_two), 403) << "an empty part is none of its runs";
  EXPECT_EQ(status("GET", "/api/v1/runs?filter=study%3D", of_two), 403);
  EXPECT_NE(status("GET", "/api/v1/reports?compare=true&of=study:" + id, link({{"kind", "compare"}, {"study", id}})),
            403);
  EXPECT_EQ(status("POST", "/api/v1/links", ada,
                   json::serialize(json::object{{"kind", "compare"}, {"study", id}, {"runs", json::array{one}}})),
            400);
}

TEST_F(AccountApi, WhatIsChangedIsWrittenDown) {
  serve();
  const auto root = browser("root").headers();
  EXPECT_EQ(status("POST", "/api/v1/session", {}, sign_in_body("ada", "wrong password")), 401);
  good("POST", "/api/v1/users", root, R"({"name": "eve", "role": "viewer", "password": "a secret of eve"})");
  EXPECT_EQ(status("POST", "/api/v1/nodes/gpu09/drain", root), 404);
  EXPECT_EQ(status("GET", "/api/v1/nodes", root), 200);
  const auto response = send("GET", "/api/v1/audit", bearer(Role::admin));
  EXPECT_THAT(response.body, Not(HasSubstr("a secret of eve")));
  const auto entries = parsed(response.body).at("entries").as_array();
  ASSERT_EQ(entries.size(), 4U) << response.body;
  EXPECT_EQ(entries[0].at("what").as_string(), "POST /api/v1/nodes/{node}/drain");
  EXPECT_EQ(entries[0].at("about").as_string(), "gpu09");
  EXPECT_EQ(entries[0].at("who").as_string(), "user root");
  EXPECT_EQ(entries[0].at("from").as_string(), "127.0.0.1");
  EXPECT_EQ(entries[0].at("status").as_int64(), 404);
  EXPECT_EQ(entries[1].at("status").as_int64(), 200);
  EXPECT_EQ(entries[1].at("about").as_string(), "eve");
  EXPECT_EQ(entries[2].at("about").as_string(), "ada");
  EXPECT_EQ(entries[2].at("status").as_int64(), 401);
  EXPECT_EQ(entries[3].at("what").as_string(), "POST /api/v1/session");
  EXPECT_EQ(good("GET", "/api/v1/audit?who=user%20root&limit=2", bearer(Role::admin)).at("entries").as_array().size(),
            2U);
}

TEST_F(AccountApi, WhoIsRefusedForTheirRoleIsWrittenDown) {
  serve();
  const auto vera = browser("vera").headers();
  EXPECT_EQ(status("PUT", "/api/v1/users/vera", vera, R"({"role": "admin"})"), 403);
  EXPECT_EQ(status("GET", "/api/v1/users", vera), 403);
  EXPECT_EQ(status("PUT", "/api/v1/users/vera", {}, R"({"role": "admin"})"), 401);
  const auto ada = browser("ada").headers();
  const auto link = good("POST", "/api/v1/links", ada,
                         json::serialize(json::object{{"kind", "run"}, {"runs", json::array{recorded(ada)}}}));
  EXPECT_EQ(status("POST", "/api/v1/nodes/gpu01/drain", bearing(link)), 403);
  const auto entries =
      parsed(send("GET", "/api/v1/audit?who=user%20vera", bearer(Role::admin)).body).at("entries").as_array();
  ASSERT_EQ(entries.size(), 2U) << "with her sign-in, without what only looks";
  EXPECT_EQ(entries[0].at("what").as_string(), "PUT /api/v1/users/{user}");
  EXPECT_EQ(entries[0].at("about").as_string(), "vera");
  EXPECT_EQ(entries[0].at("status").as_int64(), 403);
  EXPECT_THAT(std::string(entries[0].at("detail").as_string()), HasSubstr("scope 'admin'"));
  EXPECT_THAT(send("GET", "/api/v1/audit", bearer(Role::admin)).body, Not(HasSubstr("drain")))
      << "whoever has a link must not be able to fill the log";
}

TEST_F(AccountApi, UsersStartWhatTheCatalogOffersWithinTheirQuota) {
  allow_runs();
  serve();
  const auto ada = browser("ada").headers();
  const std::string command = order("kind: command\ncommand: nvidia-smi -L\n");
  EXPECT_EQ(status("POST", "/api/v1/runs", ada, command), 403);
  EXPECT_EQ(status("POST", "/api/v1/runs", bearer(Role::user), command), 403) << "tokens of that role neither";
  EXPECT_EQ(status("POST", "/api/v1/runs", bearer(Role::admin), command), 200);
  const auto first = send("POST", "/api/v1/runs", ada, order("kind: null\n"));
  EXPECT_EQ(first.status, 200) << first.body;
  const std::string offer = R"({"name": "smi", "kind": "command", "commands": ["nvidia-smi *"]})";
  EXPECT_EQ(status("PUT", "/api/v1/catalog", ada, offer), 403);
  good("PUT", "/api/v1/catalog", bearer(Role::admin), offer);
  EXPECT_EQ(status("POST", "/api/v1/runs", ada, order("kind: null\n")), 403) << "now only what stands there";
  EXPECT_EQ(status("POST", "/api/v1/runs", ada, order("kind: command\ncommand: nvidia-smi -L; id\n")), 403);
  EXPECT_EQ(status("POST", "/api/v1/runs", ada, order("kind: command\ncommand: nvidia-smi -L\nenv: {PATH: /tmp}\n")),
            403);
  EXPECT_EQ(status("POST", "/api/v1/runs", ada, command), 200);
  good("PUT", "/api/v1/quotas", bearer(Role::admin), R"({"runs_at_once": 3})");
  EXPECT_EQ(good("GET", "/api/v1/quota", ada).at("runs").as_int64(), 2);
  EXPECT_EQ(status("POST", "/api/v1/runs", ada, command), 200);
  const auto over = send("POST", "/api/v1/runs", ada, command);
  EXPECT_EQ(over.status, 403);
  EXPECT_THAT(over.body, HasSubstr("3 of your runs"));
  EXPECT_EQ(status("POST", "/api/v1/runs", browser("bob").headers(), command), 200) << "each has their own";
  good("PUT", "/api/v1/quotas", bearer(Role::admin), R"({"user": "ada", "runs_at_once": 9})");
  EXPECT_EQ(status("POST", "/api/v1/runs", ada, command), 200);
}

TEST_F(AccountApi, WithoutAnonymousAccessNothingIsShown) {
  serve();
  EXPECT_EQ(status("GET", "/api/v1/nodes", {}), 401);
}

class AnonymousApi : public LeaderServerTest {
 protected:
  AnonymousApi() {
    anonymous_ = true;
    open();
    gatekeeper_ = make_gatekeeper(*leader_, *book_);
  }
};

TEST_F(AnonymousApi, WhoSaysNothingMayLookAndNoMore) {
  serve();
  EXPECT_EQ(send("GET", "/api/v1/nodes", {}).status, 200);
  EXPECT_EQ(parsed(send("GET", "/api/v1/session", {}).body).at("via").as_string(), "anonymous");
  EXPECT_EQ(send("POST", "/api/v1/silences", {}, R"({"for": "2h", "rule": "xid"})").status, 403);
  EXPECT_EQ(send("GET", "/api/v1/users", {}).status, 403);
  EXPECT_EQ(send("GET", "/api/v1/tokens", {}).status, 403);
  EXPECT_EQ(send("GET", "/api/v1/panels", {}).status, 200);
  EXPECT_EQ(send("POST", "/api/v1/panels", {}, R"({"name": "p", "metrics": ["loss"]})").status, 403);
  EXPECT_EQ(send("GET", "/api/v1/nodes", {{"Authorization", "Bearer bad"}}).status, 401)
      << "who says something must be known";
  EXPECT_EQ(send("GET", "/api/v1/nodes", {{"Cookie", "assay_session=bad"}}).status, 401);
}

TEST(ClientAddress, IsWhatAProxyOnThisMachineSaysAndNobodyElse) {
  HttpRequest request;
  request.peer = {.host = "127.0.0.1", .port = 1, .loopback = true};
  request.headers.add("X-Forwarded-For", "6.6.6.6, 10.0.0.7");
  request.headers.add("X-Forwarded-Proto", "https");
  EXPECT_EQ(client_address(request, false), "127.0.0.1");
  EXPECT_EQ(client_address(request, true), "10.0.0.7") << "what stands before it the client has written";
  EXPECT_FALSE(came_by_tls(request, false));
  EXPECT_TRUE(came_by_tls(request, true));
  request.peer = {.host = "10.0.0.9", .port = 1, .loopback = false};
  EXPECT_EQ(client_address(request, true), "10.0.0.9");
  EXPECT_FALSE(came_by_tls(request, true));
  request.tls = true;
  EXPECT_TRUE(came_by_tls(request, false));
}

TEST(CookieOf, FindsTheOneThatIsMeant) {
  HttpRequest request;
  EXPECT_EQ(cookie_of(request, "assay_session"), "");
  request.headers.add("Cookie", "a=1; xassay_session=no; assay_session=yes; b");
  EXPECT_EQ(cookie_of(request, "assay_session"), "yes");
  EXPECT_EQ(cookie_of(request, "b"), "");
}

}  // namespace
}  // namespace assay
