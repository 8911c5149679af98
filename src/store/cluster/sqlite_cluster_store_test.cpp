#include "store/cluster/sqlite_cluster_store.h"

#include <future>

#include "store/account_contract.h"
#include "store/sqlite/sqlite.h"
#include "support/source_tree.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::Pair;

const auto kInSqlite = testing::Values(
    ClusterStoreFactory{"sqlite", [] {
                          static const TemporaryFolder folder;
                          static int stores = 0;
                          auto opened = open_cluster_store(folder.path() / std::to_string(stores++) / "cluster.db");
                          EXPECT_TRUE(opened.ok()) << opened.error().text();
                          return std::move(*opened);
                        }});
INSTANTIATE_TEST_SUITE_P(Sqlite, ClusterContract, kInSqlite);
INSTANTIATE_TEST_SUITE_P(Sqlite, AccountContract, kInSqlite);

WallTime wall_ns(std::int64_t ns) { return WallTime(Nanos(ns)); }

class SqliteClusterStoreTest : public testing::Test {
 protected:
  void open() {
    store_.reset();
    auto opened = open_cluster_store(file());
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    store_ = std::move(*opened);
  }
  /// Takes a database that an earlier version wrote.
  void open_fixture(const std::string& name = "cluster-1.db") {
    ASSERT_TRUE(make_folders(file().parent_path()).ok());
    fs::copy_file(test::fixture_folder() / "cluster" / name, file());
    open();
  }
  fs::path file() const { return folder_.path() / "deep" / "cluster.db"; }

  TemporaryFolder folder_;
  std::unique_ptr<ClusterStore> store_;
};

TEST_F(SqliteClusterStoreTest, NodesOfTheFirstFormatStay) {
  open_fixture();
  const auto nodes = store_->nodes().list("", 10);
  ASSERT_TRUE(nodes.ok()) << nodes.error().text();
  ASSERT_EQ(nodes->size(), 2U);
  const WallTime seen = wall_ns(1'760'000'000'123'000'000);
  const NodeRecord first{.name = "gpu01",
                         .first_seen = seen,
                         .last_seen = seen,
                         .draining = true,
                         .drain_reason = "new fans",
                         .version = "0.4.0",
                         .facts = {{"host", "gpu01 \"quoted\" ü"}, {"kernel", "6.1.0"}},
                         .devices = {{.id = "GPU-a", .facts = {{"index", "0"}, {"name", "NVIDIA H200"}}},
                                     {.id = "GPU-b", .facts = {{"index", "1"}, {"name", "NVIDIA H200"}}}},
                         .allow = {"doctor", "run"},
                         .sources = {"nvml", "procfs"},
                         .period_ms = 500};
  const NodeRecord second{
      .name = "sim002", .first_seen = seen, .last_seen = seen, .simulated = true, .version = "0.4.0"};
  EXPECT_EQ((*nodes)[0].row, first);
  EXPECT_EQ((*nodes)[1].row, second);
  EXPECT_TRUE(store_->nodes().put((*nodes)[0]).ok());
}

TEST_F(SqliteClusterStoreTest, AlertsAndSilencesOfTheFirstFormatStay) {
  open_fixture();
  const auto open_now = store_->alerts().open();
  ASSERT_TRUE(open_now.ok());
  ASSERT_EQ(open_now->size(), 1U);
  const AlertRecord& open = open_now->front().row;
  EXPECT_EQ(open.alert.id, "42z5vwmqvd");
  EXPECT_EQ(open.alert.severity, AlertSeverity::critical);
  EXPECT_EQ(open.alert.node, "sim002");
  EXPECT_EQ(open.alert.since, wall_ns(1'760'000'905'123'000'000));
  EXPECT_TRUE(std::isnan(open.alert.threshold));
  EXPECT_FALSE(open.told) << "it was silenced";
  EXPECT_FALSE(open.acknowledged_at);
  const auto resolved = store_->alerts().resolved({});
  ASSERT_TRUE(resolved.ok());
  ASSERT_EQ(resolved->alerts.size(), 2U);
  const AlertRecord& heard = resolved->alerts[0].row;
  EXPECT_EQ(heard.alert.what, "gpu01 is heard again; it was silent for 5 min 00 s.");
  EXPECT_EQ(heard.alert.resolved_at, wall_ns(1'760'000'335'123'000'000));
  EXPECT_EQ(heard.acknowledged_at, wall_ns(1'760'000'300'123'000'000));
  EXPECT_EQ(heard.acknowledged_by, "bob");
  EXPECT_EQ(heard.note, "seen it");
  EXPECT_TRUE(heard.told);
  EXPECT_EQ(heard.alert.worst_value, 1);
  const AlertRecord& fallen = resolved->alerts[1].row;
  EXPECT_EQ(fallen.alert.about, "GPU-a");
  EXPECT_TRUE(std::isnan(fallen.alert.last_value));
  EXPECT_THAT(fallen.alert.values, ElementsAre(Pair("xid", 79)));
  const auto silences = store_->silences().list();
  ASSERT_TRUE(silences.ok());
  EXPECT_THAT(*silences, ElementsAre(Silence{.id = "8wdw5shbsk",
                                             .rule = "node_lost",
                                             .node = "sim002",
                                             .until = wall_ns(1'760'018'900'123'000'000),
                                             .by = "alice",
                                             .reason = "moving"}));
}

TEST_F(SqliteClusterStoreTest, EventsOfTheFirstFormatStay) {
  open_fixture();
  const auto page = store_->events().list({});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->events.size(), 3U);
  EXPECT_EQ(page->events[0].message, "by alice: new fans");
  EXPECT_EQ(page->events[2].kind, "xid");
  EXPECT_EQ(page->events[2].values.at("xid"), 79);
  EXPECT_TRUE(store_->events().append(page->events)->empty()) << "they are known";
  // They count towards what a node may have.
  ASSERT_TRUE(store_->events().forget({.most_per_node = 1}, 100).ok());
  EXPECT_EQ(store_->events().list({})->events.size(), 1U);
}

TEST_F(SqliteClusterStoreTest, WhatTheSecondFormatHasStays) {
  open_fixture("cluster-2.db");
  EXPECT_TRUE(store_->nodes().find("sim001")->row.draining);
  const auto open_now = store_->alerts().open();
  ASSERT_TRUE(open_now.ok());
  ASSERT_EQ(open_now->size(), 1U);
  EXPECT_EQ(open_now->front().row.note, "seen it");
  EXPECT_EQ(store_->silences().list()->size(), 1U);
  EXPECT_EQ(store_->events().list({})->events.size(), 7U);
  EXPECT_TRUE(store_->refusals().list()->empty());
  EXPECT_TRUE(store_->notices().list()->empty());
  ASSERT_TRUE(store_->refusals().put(std::vector<RefusalRecord>{{.node = "sim001", .what = "samples"}}).ok());
  open();
  EXPECT_EQ(store_->refusals().list()->size(), 1U);
}

TEST_F(SqliteClusterStoreTest, WhatTheSixthFormatHasOfPeopleStays) {
  open_fixture("cluster-6.db");
  auto& accounts = store_->accounts();
  const auto users = accounts.users().list();
  ASSERT_TRUE(users.ok()) << users.error().text();
  ASSERT_EQ(users->size(), 2U);
  EXPECT_EQ((*users)[0].full_name, "Ada ü");
  EXPECT_EQ((*users)[1].role, "admin");
  EXPECT_EQ(accounts.catalog().list()->at(0).models, std::vector<std::string>{"gpt2*"});
  EXPECT_EQ(accounts.quotas().list()->at(0).gpus_at_once, 4);
  EXPECT_EQ(accounts.prices().list()->at(0).on_demand, 3.5);
  EXPECT_TRUE(accounts.panels().list()->empty());
  const PanelRecord panel{
      .id = "p", .user = "ada", .content = {.name = "Nights", .metrics = {"loss"}, .runs = {}, .filter = ""}};
  ASSERT_TRUE(accounts.panels().put(panel).ok());
  open();
  EXPECT_EQ(*store_->accounts().panels().list(), std::vector<PanelRecord>{panel});
}

TEST_F(SqliteClusterStoreTest, WhatCouldNotBeReadBeforeIsLeftOut) {
  ASSERT_TRUE(make_folders(file().parent_path()).ok());
  fs::copy_file(test::fixture_folder() / "cluster/cluster-1.db", file());
  {
    auto database = Database::open(file().string());
    ASSERT_TRUE(database
                    ->execute("UPDATE document SET content = '{' WHERE id = 'gpu01';"
                              "UPDATE document SET content = '{\"id\": 7}' WHERE kind = 'alert';"
                              "UPDATE document SET content = '[]' WHERE kind = 'silence';")
                    .ok());
  }
  open();
  EXPECT_EQ(store_->nodes().list("", 10)->size(), 1U);
  EXPECT_TRUE(store_->alerts().open()->empty());
  EXPECT_TRUE(store_->silences().list()->empty());
}

TEST_F(SqliteClusterStoreTest, ADamagedListCostsNoMoreThanTheList) {
  open_fixture();
  {
    auto database = Database::open(file().string());
    ASSERT_TRUE(database->execute("UPDATE node SET facts = '{' WHERE name = 'gpu01'").ok());
  }
  const auto node = store_->nodes().find("gpu01");
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node->row.draining);
  EXPECT_TRUE(node->row.facts.empty());
}

TEST_F(SqliteClusterStoreTest, WhatWasWrittenIsThereAfterARestart) {
  open();
  ASSERT_TRUE(store_->nodes().put({.row = {.name = "gpu01", .version = "1"}}).ok());
  open();
  EXPECT_EQ(store_->nodes().find("gpu01")->row.version, "1");
}

TEST_F(SqliteClusterStoreTest, ReadersWaitForNoWriter) {
  open();
  ASSERT_TRUE(store_->nodes().put({.row = {.name = "gpu01"}}).ok());
  auto other = Database::open(file().string());
  ASSERT_TRUE(other->execute("BEGIN IMMEDIATE").ok());
  auto writing = std::async(std::launch::async, [&] { return store_->nodes().put({.row = {.name = "gpu02"}}); });
  ASSERT_EQ(writing.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout) << "the disk is busy";
  EXPECT_EQ(store_->nodes().list("", 10)->size(), 1U);
  EXPECT_TRUE(store_->events().list({}).ok());
  EXPECT_TRUE(store_->alerts().open().ok());
  EXPECT_TRUE(store_->backup_to(folder_.path() / "copy.db").ok());
  EXPECT_EQ(writing.wait_for(Nanos(0)), std::future_status::timeout) << "all of that while it waited";
  ASSERT_TRUE(other->execute("ROLLBACK").ok());
  EXPECT_TRUE(writing.get().ok());
}

TEST_F(SqliteClusterStoreTest, ABackupIsAWholeStore) {
  open();
  ASSERT_TRUE(store_->nodes().put({.row = {.name = "gpu01"}}).ok());
  const fs::path copy = folder_.path() / "copy.db";
  ASSERT_TRUE(store_->backup_to(copy).ok());
  ASSERT_TRUE(store_->nodes().put({.row = {.name = "gpu02"}}).ok());
  const auto copied = open_cluster_store(copy);
  ASSERT_TRUE(copied.ok()) << copied.error().text();
  EXPECT_EQ((*copied)->nodes().list("", 10)->size(), 1U);
}

TEST_F(SqliteClusterStoreTest, AStoreOfANewerVersionIsRefused) {
  open();
  store_.reset();
  {
    auto database = Database::open(file().string());
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99").ok());
  }
  const auto opened = open_cluster_store(file());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::unsupported);
}

/// How the answer is found, in SQLite's words.
TEST_F(SqliteClusterStoreTest, ListsOfEventsAreWalkedInTheOrderOfAnIndex) {
  open();
  auto database = Database::open(file().string());
  for (const std::string where : {"INDEXED BY event_by_time WHERE", "INDEXED BY event_of_node WHERE node = 'n' AND",
                                  "INDEXED BY event_of_kind WHERE kind = 'k' AND"}) {
    auto plan = database->prepare("EXPLAIN QUERY PLAN SELECT id, message FROM event " + where +
                                  " time >= 1 AND (time, id) < (5, 6) ORDER BY time DESC, id DESC");
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    std::string text;
    while (*plan->step()) text += plan->text(3) + "\n";
    EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
    EXPECT_NE(text.find("time<?"), std::string::npos) << text;
  }
}

TEST_F(SqliteClusterStoreTest, ListsOfAlertsAreWalkedInTheOrderOfAnIndex) {
  open();
  auto database = Database::open(file().string());
  for (const std::string where : {"INDEXED BY alert_by_time WHERE", "INDEXED BY alert_of_node WHERE node = 'n' AND"}) {
    auto plan = database->prepare("EXPLAIN QUERY PLAN SELECT id, what FROM alert " + where +
                                  " state = 'resolved' AND since <= 5 AND (since < 5 OR id > 'a') "
                                  "ORDER BY since DESC, id");
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    std::string text;
    while (*plan->step()) text += plan->text(3) + "\n";
    EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
    EXPECT_NE(text.find("since<?"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace assay
