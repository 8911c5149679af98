#include "accounts/offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "accounts/share_links.h"
#include "store/memory/account_memory.h"

namespace assay {
namespace {

using testing::HasSubstr;

bool offered(const std::vector<CatalogRecord>& catalog, const WantedRun& run) { return check_offer(catalog, run).ok(); }

TEST(Catalog, AnEmptyOneOffersEverythingButCommands) {
  EXPECT_TRUE(offered({}, {.kind = "train", .model = "gpt2"}));
  EXPECT_TRUE(offered({}, {.kind = "null"}));
  EXPECT_FALSE(offered({}, {.kind = "command", .command = "true", .by_shell = true}));
}

TEST(Catalog, OffersWhatFitsAnEntry) {
  const std::vector<CatalogRecord> catalog = {
      {.name = "gpt", .kind = "train", .models = {"gpt2*"}, .datasets = {"spiral", "text:/data/*"}},
      {.name = "serve", .kind = "serve"}};
  EXPECT_TRUE(offered(catalog, {.kind = "train", .model = "gpt2-xl", .dataset = "spiral"}));
  EXPECT_TRUE(offered(catalog, {.kind = "train", .model = "gpt2", .dataset = "text:/data/a.txt"}));
  EXPECT_FALSE(offered(catalog, {.kind = "train", .model = "gpt2", .dataset = "text:/etc/passwd"}));
  EXPECT_FALSE(offered(catalog, {.kind = "train", .model = "mlp", .dataset = "spiral"}));
  EXPECT_FALSE(offered(catalog, {.kind = "train", .model = "gpt2"})) << "no data set is none that is offered";
  EXPECT_TRUE(offered(catalog, {.kind = "serve", .model = "anything"}));
  EXPECT_FALSE(offered(catalog, {.kind = "null"}));
  EXPECT_THAT(check_offer(catalog, {.kind = "null"}).error().hint, HasSubstr("gpt, serve"));
}

TEST(Catalog, ACommandIsTheOneThatIsOffered) {
  const std::vector<CatalogRecord> catalog = {
      {.name = "smi", .kind = "command", .commands = {"nvidia-smi -L", "python3 train.py --lr *", "a; b"}}};
  const auto shell = [&](const std::string& text) {
    return offered(catalog, {.kind = "command", .command = text, .by_shell = true});
  };
  EXPECT_TRUE(shell("nvidia-smi -L"));
  EXPECT_FALSE(shell("nvidia-smi -L; rm -rf ~"));
  EXPECT_TRUE(shell("python3 train.py --lr 0.1"));
  for (const std::string more : {"; id", "$(id)", "`id`", "| sh", "&& id", "\nid", "> /etc/passwd"}) {
    EXPECT_FALSE(shell("python3 train.py --lr 0.1 " + more)) << more;
  }
  EXPECT_TRUE(shell("a; b")) << "as it stands there";
  EXPECT_TRUE(offered(catalog, {.kind = "command", .command = "python3 train.py --lr $x"})) << "no shell reads it";
  EXPECT_FALSE(offered(catalog, {.kind = "command", .command = "nvidia-smi -L", .own_surroundings = true}))
      << "with another PATH it is another program";
}

TEST(Catalog, AWildcardLeadsOutOfNoFolder) {
  const std::vector<CatalogRecord> catalog = {
      {.name = "gpt", .kind = "train", .datasets = {"text:/data/*"}},
      {.name = "jobs", .kind = "command", .commands = {"python3 /opt/jobs/* --fast", "python3 ../bin/*"}}};
  const auto trains_on = [&](const std::string& dataset) {
    return offered(catalog, {.kind = "train", .dataset = dataset});
  };
  EXPECT_TRUE(trains_on("text:/data/books/a..b.txt"));
  EXPECT_TRUE(trains_on("text:/data/..hidden"));
  EXPECT_FALSE(trains_on("text:/data/../etc/passwd"));
  EXPECT_FALSE(trains_on("text:/data/books/.."));
  const auto runs = [&](const std::string& command) {
    return offered(catalog, {.kind = "command", .command = command});
  };
  EXPECT_TRUE(runs("python3 /opt/jobs/a.py --fast"));
  EXPECT_FALSE(runs("python3 /opt/jobs/../../tmp/mine.py --fast"));
  EXPECT_FALSE(runs("python3 /opt/jobs/a.py --config=../mine.yaml --fast"));
  EXPECT_TRUE(runs("python3 ../bin/a.py")) << "it says so itself";
}

TEST(Catalog, EntriesMakeSense) {
  EXPECT_TRUE(check_entry({.name = "a", .kind = "train", .models = {"m"}}).ok());
  EXPECT_FALSE(check_entry({.name = "", .kind = "train"}).ok());
  EXPECT_FALSE(check_entry({.name = "a", .kind = "trian"}).ok());
  EXPECT_FALSE(check_entry({.name = "a", .kind = "train", .commands = {"x"}}).ok());
  EXPECT_FALSE(check_entry({.name = "a", .kind = "command", .models = {"x"}}).ok());
  EXPECT_FALSE(check_entry({.name = "a", .kind = "train", .models = {""}}).ok());
}

TEST(Quota, HoldsEachOfItsLimits) {
  const QuotaRecord quota{.runs_at_once = 2, .runs_per_order = 10, .gpu_hours_per_day = 4};
  EXPECT_TRUE(check_quota(quota, {.runs = 1, .gpu_hours = 3.9}, 10).ok());
  EXPECT_THAT(check_quota(quota, {.runs = 2}, 1).error().message, HasSubstr("2 of your runs"));
  EXPECT_THAT(check_quota(quota, {}, 11).error().message, HasSubstr("11 runs"));
  EXPECT_THAT(check_quota(quota, {.gpu_hours = 4}, 1).error().message, HasSubstr("4.0 GPU hours"));
  EXPECT_TRUE(check_quota({}, {.runs = 1000, .gpu_hours = 1e6}, 1000).ok()) << "no limits";
  EXPECT_FALSE(check_quota({.runs_at_once = 0}, {}, 1).ok()) << "nothing at all";
  EXPECT_FALSE(check_limits({.runs_at_once = -1}).ok());
  EXPECT_FALSE(check_limits({.gpu_hours_per_day = std::nan("")}).ok());
}

TEST(CheckLink, ShowsWhatItNamesAndNothingElse) {
  const auto study_of = [](std::string_view run) { return std::string(run == "r3" ? "s1" : run == "r4" ? "s2" : ""); };
  const LinkRecord one{.kind = "run", .runs = {"r1"}};
  const LinkRecord study{.kind = "study", .study = "s1"};
  const auto shows = [&](const LinkRecord& link, const Asked& asked) { return check_link(link, asked, study_of).ok(); };
  EXPECT_TRUE(shows(one, {.endpoint = "/api/v1/runs/{run}", .run = "r1"}));
  EXPECT_TRUE(shows(one, {.endpoint = "/api/v1/runs/{run}/curves", .run = "r1"}));
  EXPECT_TRUE(shows(one, {.endpoint = "/api/v1/session"}));
  EXPECT_FALSE(shows(one, {.endpoint = "/api/v1/runs/{run}", .run = "r2"}));
  EXPECT_FALSE(shows(one, {.endpoint = "/api/v1/runs/{run}", .run = "r3"})) << "it has no study";
  EXPECT_FALSE(shows(one, {.endpoint = "/api/v1/runs/{run}", .run = ""}));
  EXPECT_FALSE(shows(one, {.endpoint = "/api/v1/runs"}));
  EXPECT_FALSE(shows(one, {.endpoint = "/api/v1/runsX/{run}", .run = "r1"}));
  EXPECT_FALSE(shows(one, {.endpoint = "/mlflow/{run}", .run = "r1"})) << "another API";
  EXPECT_FALSE(shows(one, {.endpoint = "/api/v1/studies/{study}", .study = "s1"}));
  EXPECT_FALSE(shows(one, {.endpoint = "/api/v1/studies/{study}", .study = ""})) << "no study is not the same as none";
  EXPECT_TRUE(shows(study, {.endpoint = "/api/v1/studies/{study}", .study = "s1"}));
  EXPECT_TRUE(shows(study, {.endpoint = "/api/v1/runs/{run}", .run = "r3"})) << "a run of it";
  EXPECT_FALSE(shows(study, {.endpoint = "/api/v1/runs/{run}", .run = "r4"}));
  EXPECT_FALSE(shows(study, {.endpoint = "/api/v1/studies", .study = "s1"}));
}

TEST(CheckLink, ShowsReportsOnWhatItNamesByWholeIds) {
  const auto study_of = [](std::string_view run) { return std::string(run == "r3" ? "s1" : ""); };
  const LinkRecord two{.kind = "compare", .runs = {"r1", "r2"}};
  const LinkRecord study{.kind = "study", .study = "s1"};
  const auto shows = [&](const LinkRecord& link, const std::string& of) {
    return check_link(link, {.endpoint = "/api/v1/reports", .of = of}, study_of).ok();
  };
  EXPECT_TRUE(shows(two, "r1,r2"));
  EXPECT_TRUE(shows(two, "r2"));
  EXPECT_TRUE(shows(study, "study:s1"));
  EXPECT_TRUE(shows(study, "r3,study:s1"));
  for (const char* of : {"", ",", "r1,", "r", "r1,r3", "study:", "study:s1", "tag:x", "@last", " r1"}) {
    EXPECT_FALSE(shows(two, of)) << of;
  }
  for (const char* of : {"", "study:", "study:s", "study:s1,r1", "s1"}) EXPECT_FALSE(shows(study, of)) << of;
  const auto lists = [&](const LinkRecord& link, const std::string& filter) {
    return check_link(link, {.endpoint = "/api/v1/runs", .filter = filter}, study_of).ok();
  };
  EXPECT_TRUE(lists(study, "study=s1"));
  for (const char* filter : {"", "study=", "study=s10", "study=s1 ", "study!=s1", "kind=null"}) {
    EXPECT_FALSE(lists(study, filter)) << filter;
    EXPECT_FALSE(lists(two, filter)) << filter;
  }
}

TEST(ShareLinksTest, AreMadeFoundRevokedAndExpire) {
  ManualClock clock;
  const auto tables = make_account_memory();
  ShareLinks links(*tables, clock);
  ASSERT_TRUE(links.load().ok());
  const auto made = links.create({.user = "ada", .kind = "run", .runs = {"r1"}}, std::chrono::hours(1));
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(links.check(made->secret)->id, made->link.id);
  EXPECT_FALSE(links.check(made->link.hash)) << "what is stored opens nothing";
  clock.advance(std::chrono::hours(1));
  EXPECT_FALSE(links.check(made->secret)) << "expired";
  const auto other = links.create({.user = "ada", .kind = "compare", .runs = {"r1", "r2"}}, {});
  ASSERT_TRUE(other.ok());
  clock.advance(std::chrono::hours(24 * 365));
  EXPECT_TRUE(links.check(other->secret));
  ASSERT_TRUE(links.revoke(other->link.id).ok());
  EXPECT_FALSE(links.check(other->secret));
  ASSERT_TRUE(links.tidy().ok());
  EXPECT_TRUE(tables->links().list()->empty());
  for (const LinkRecord& bad : std::vector<LinkRecord>{{.kind = "run"},
                                                       {.kind = "run", .runs = {"a", "b"}},
                                                       {.kind = "run", .runs = {"a"}, .study = "s"},
                                                       {.kind = "study"},
                                                       {.kind = "compare", .runs = {"a"}},
                                                       {.kind = "report"},
                                                       {.kind = "cluster", .study = "s"}}) {
    EXPECT_EQ(links.create(bad, {}).error().kind, ErrorKind::usage) << bad.kind;
  }
}

}  // namespace
}  // namespace assay
