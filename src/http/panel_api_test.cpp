// Panels over the API: whose they are, who sees them, what is refused.

#include "http/people_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PanelApi : public PeopleServerTest {
 protected:
  static std::string panel(const std::string& name, bool shared = false) {
    return json::serialize(json::object{{"name", name},
                                        {"shared", shared},
                                        {"metrics", json::array{"loss", "val_loss"}},
                                        {"filter", "tag=night"},
                                        {"newest", 4},
                                        {"axis", "wall"},
                                        {"smoothing", 0.5},
                                        {"logarithmic", true}});
  }
  std::string saved(const Headers& who, const std::string& name, bool shared = false) {
    return std::string(good("POST", "/api/v1/panels", who, panel(name, shared)).at("id").as_string());
  }
  std::vector<std::string> names_seen(const Headers& who) {
    std::vector<std::string> names;
    const auto list = good("GET", "/api/v1/panels", who);
    for (const auto& one : list.at("panels").as_array()) names.emplace_back(one.at("name").as_string());
    return names;
  }
};

TEST_F(PanelApi, OnesOwnAreSavedChangedAndRemoved) {
  serve();
  const auto ada = browser("ada").headers();
  const auto made = good("POST", "/api/v1/panels", ada, panel("Nights"));
  EXPECT_EQ(made.at("user").as_string(), "ada");
  EXPECT_EQ(made.at("axis").as_string(), "wall");
  EXPECT_EQ(made.at("metrics").as_array().size(), 2U);
  const std::string at = "/api/v1/panels/" + std::string(made.at("id").as_string());
  const auto changed = good("PUT", at, ada, R"({"name": "Days", "metrics": ["loss"], "shared": true})");
  EXPECT_EQ(changed.at("id"), made.at("id"));
  EXPECT_FALSE(changed.contains("filter")) << "a change is the whole of it";
  EXPECT_THAT(names_seen(browser("bob").headers()), ElementsAre("Days"));
  good("DELETE", at, ada);
  EXPECT_THAT(names_seen(ada), IsEmpty());
  EXPECT_EQ(status("DELETE", at, ada), 404);
}

TEST_F(PanelApi, OthersSeeWhatIsSharedAndChangeNothing) {
  serve();
  const auto ada = browser("ada").headers();
  const auto bob = browser("bob").headers();
  const auto root = browser("root").headers();
  const auto hidden = "/api/v1/panels/" + saved(ada, "hers");
  const auto shown = "/api/v1/panels/" + saved(ada, "for all", true);
  for (const auto& who : {bob, root, browser("vera").headers(), bearer(Role::viewer), bearer(Role::admin)}) {
    EXPECT_THAT(names_seen(who), ElementsAre("for all"));
  }
  EXPECT_THAT(names_seen(ada), ElementsAre("for all", "hers"));
  for (const char* method : {"PUT", "DELETE"}) {
    const std::string body = std::string(method) == "PUT" ? panel("stolen") : "";
    EXPECT_EQ(status(method, hidden, bob, body), 404) << method << ": nobody learns that it exists";
    EXPECT_EQ(status(method, hidden, root, body), 404) << method << ": administrators neither";
    EXPECT_EQ(status(method, shown, bob, body), 403) << method;
  }
  EXPECT_EQ(status("PUT", shown, root, panel("stolen")), 403) << "in her name nobody says anything";
  EXPECT_EQ(status("DELETE", shown, root), 200) << "an administrator removes what is shared";
  EXPECT_THAT(names_seen(ada), ElementsAre("hers"));
  EXPECT_EQ(status("POST", "/api/v1/panels", bob, R"({"name": "p", "metrics": ["loss"], "user": "ada"})"), 400)
      << "whose it is, is not for the caller to say";
}

TEST_F(PanelApi, ViewersSaveForThemselvesAndShareNothing) {
  serve();
  const auto vera = browser("vera").headers();
  const auto id = saved(vera, "mine");
  EXPECT_EQ(status("POST", "/api/v1/panels", vera, panel("for all", true)), 403);
  EXPECT_EQ(status("PUT", "/api/v1/panels/" + id, vera, panel("mine", true)), 403);
  EXPECT_EQ(status("PUT", "/api/v1/panels/" + id, vera, panel("still mine")), 200);
  EXPECT_THAT(names_seen(vera), ElementsAre("still mine"));
}

TEST_F(PanelApi, WhoHasNoAccountOrMayOnlyLookSavesNothing) {
  serve();
  const auto ada = browser("ada");
  const auto id = saved(ada.headers(), "for all", true);
  const auto link =
      bearing(good("POST", "/api/v1/links", ada.headers(),
                   json::serialize(json::object{{"kind", "run"}, {"runs", json::array{recorded(ada.headers())}}})));
  const auto reader =
      bearing(good("POST", "/api/v1/tokens", ada.headers(), R"({"name": "reader", "scopes": ["read"]})"));
  for (const auto& who : {link, reader, bearer(Role::viewer), bearer(Role::user), ada.forged()}) {
    EXPECT_EQ(status("POST", "/api/v1/panels", who, panel("p")), 403);
    EXPECT_EQ(status("PUT", "/api/v1/panels/" + id, who, panel("p")), 403);
    EXPECT_EQ(status("DELETE", "/api/v1/panels/" + id, who), 403);
  }
  EXPECT_EQ(status("GET", "/api/v1/panels", link), 403) << "a link shows one thing";
  EXPECT_EQ(status("POST", "/api/v1/panels", {}, panel("p")), 401);
  EXPECT_EQ(status("POST", "/api/v1/panels", agent("gpu01"), panel("p")), 401);
  EXPECT_THAT(names_seen(ada.headers()), ElementsAre("for all"));
  const auto writer =
      bearing(good("POST", "/api/v1/tokens", ada.headers(), R"({"name": "writer", "scopes": ["read", "run"]})"));
  EXPECT_EQ(status("DELETE", "/api/v1/panels/" + id, writer), 200);
}

TEST_F(PanelApi, NonsenseIsRefusedWithTheReason) {
  serve();
  const auto ada = browser("ada").headers();
  const std::string long_name(1000, 'x');
  for (const auto& [body, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"metrics": ["loss"]})", "'name' is missing"},
           {R"({"name": "  ", "metrics": ["loss"]})", "has a name"},
           {R"({"name": "p", "metrics": []})", "one metric"},
           {R"({"name": ")" + long_name + R"(", "metrics": ["loss"]})", "has a name"},
           {R"({"name": "p", "metrics": ["loss"], "axis": "sideways"})", "no axis"},
           {R"({"name": "p", "metrics": ["loss"], "newest": 1000})", "from 1 to 24"},
           {R"({"name": "p", "metrics": ["loss"], "smoothing": 7})", "from 0 to 0.98"},
           {R"({"name": "p", "metrics": ["loss"], "filter": "nmae=x"})", "Did you mean"},
           {R"({"name": "p", "metrics": ["loss"], "fliter": ""})", "Did you mean 'filter'"}}) {
    const auto response = send("POST", "/api/v1/panels", ada, body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_THAT(response.body, HasSubstr(why)) << body;
  }
  EXPECT_THAT(names_seen(ada), IsEmpty());
}

TEST_F(PanelApi, ChangesAreWrittenDownAndGoWithTheAccount) {
  serve();
  const auto id = saved(browser("ada").headers(), "for all", true);
  const auto entries = leader_->accounts().audit().list({.who = "user ada", .limit = 1});
  ASSERT_TRUE(entries.ok() && entries->size() == 1);
  EXPECT_EQ(entries->front().what, "POST /api/v1/panels");
  EXPECT_EQ(entries->front().about, "for all");
  const auto root = browser("root").headers();
  good("DELETE", "/api/v1/users/ada", root);
  EXPECT_THAT(names_seen(root), IsEmpty());
  EXPECT_EQ(status("DELETE", "/api/v1/panels/" + id, root), 404);
}

}  // namespace
}  // namespace assay
