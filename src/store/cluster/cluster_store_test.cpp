#include "store/cluster/cluster_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "store/sqlite/sqlite.h"

namespace assay {
namespace {

WallTime at(std::int64_t second) { return WallTime(std::chrono::seconds(1'760'000'000 + second)); }

class ClusterStoreTest : public testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    store_.reset();
    auto opened = open_cluster_store(file());
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = std::move(*opened);
  }
  fs::path file() const { return folder_.path() / "deep" / "cluster.db"; }
  void put(const std::string& id, std::int64_t second, bool open, json::object content = {}) {
    const auto done = store_->put("alert", {.id = id, .time = at(second), .content = std::move(content)}, open);
    ASSERT_TRUE(done) << done.error().text();
  }
  std::vector<std::string> ids(const ClusterDocumentQuery& query) {
    auto list = store_->list(query);
    EXPECT_TRUE(list);
    std::vector<std::string> ids;
    for (const auto& document : *list) ids.push_back(document.id);
    return ids;
  }

  TemporaryFolder folder_;
  std::unique_ptr<ClusterStore> store_;
};

using Ids = std::vector<std::string>;

TEST_F(ClusterStoreTest, DocumentsSurviveAndAreReplaced) {
  put("a", 1, true, {{"value", 1}});
  put("a", 1, false, {{"value", 2}});
  open();
  const auto found = store_->find("alert", "a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->content.at("value").to_number<int>(), 2);
  EXPECT_EQ(found->time, at(1));
  EXPECT_EQ(store_->find("node", "a").error().kind, ErrorKind::not_found);
}

TEST_F(ClusterStoreTest, ListsNewestFirstWithinItsKind) {
  put("old", 1, true);
  put("new", 3, true);
  put("settled", 2, false);
  ASSERT_TRUE(store_->put("node", {.id = "n", .time = at(9)}, true));
  EXPECT_EQ(ids({.kind = "alert"}), (Ids{"new", "settled", "old"}));
  EXPECT_EQ(ids({.kind = "alert", .open_only = true}), (Ids{"new", "old"}));
  EXPECT_EQ(ids({.kind = "alert", .from = at(2)}), (Ids{"new", "settled"}));
  EXPECT_EQ(ids({.kind = "alert", .limit = 1}), (Ids{"new"}));
  ASSERT_TRUE(store_->remove("alert", "new"));
  ASSERT_TRUE(store_->remove("alert", "new"));
  EXPECT_EQ(ids({.kind = "alert"}), (Ids{"settled", "old"}));
}

TEST_F(ClusterStoreTest, AnEventIsKnownOnce) {
  const ClusterEvent event{.time = at(5),
                           .node = "gpu03",
                           .kind = "xid",
                           .about = "GPU-1",
                           .message = "fell off",
                           .values = {{"xid", 79}, {"odd", std::numeric_limits<double>::quiet_NaN()}}};
  ClusterEvent other = event;
  other.node = "gpu04";
  auto added = store_->append_events(std::vector{event, other, event});
  ASSERT_TRUE(added) << added.error().text();
  EXPECT_EQ(added->size(), 2U);
  added = store_->append_events(std::vector{other});
  ASSERT_TRUE(added);
  EXPECT_TRUE(added->empty());
  const auto all = store_->events({});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].node, "gpu04");
  EXPECT_EQ((*all)[1].values.at("xid"), 79);
  EXPECT_TRUE(std::isnan((*all)[1].values.at("odd")));
}

TEST_F(ClusterStoreTest, EventsAreFilteredAndPaged) {
  std::vector<ClusterEvent> events;
  events.reserve(10);
  for (int i = 0; i < 10; ++i) {
    events.push_back({.time = at(i),
                      .node = i % 2 == 0 ? "even" : "odd",
                      .kind = i < 5 ? "ecc" : "xid",
                      .about = "GPU",
                      .message = "m"});
  }
  // What was kept while the leader was away comes late, and has its place in time all the same.
  std::rotate(events.begin(), events.begin() + 6, events.end());
  ASSERT_TRUE(store_->append_events(events));
  EXPECT_EQ(store_->events({.node = "even"})->size(), 5U);
  EXPECT_EQ(store_->events({.kind = "xid"})->size(), 5U);
  EXPECT_EQ(store_->events({.node = "even", .kind = "xid"})->size(), 2U);
  EXPECT_EQ(store_->events({.from = at(3), .to = at(5)})->size(), 2U);
  const auto page = store_->events({.limit = 4});
  ASSERT_EQ(page->size(), 4U);
  EXPECT_EQ(page->front().time, at(9));
  const auto next = store_->events({.before_id = page->back().id, .limit = 4});
  ASSERT_EQ(next->size(), 4U);
  EXPECT_EQ(next->front().time, at(5));
}

TEST_F(ClusterStoreTest, ForgetsWhatIsOldAndSettled) {
  put("open", 1, true);
  put("settled", 1, false);
  put("fresh", 9, false);
  ASSERT_TRUE(store_->append_events(
      std::vector<ClusterEvent>{{.time = at(1), .node = "n", .kind = "k", .about = "", .message = ""},
                                {.time = at(9), .node = "n", .kind = "k", .about = "", .message = ""}}));
  ASSERT_TRUE(store_->forget_before(at(5), "alert"));
  EXPECT_EQ(ids({.kind = "alert"}), (Ids{"fresh", "open"}));
  EXPECT_EQ(store_->events({})->size(), 1U);
}

TEST_F(ClusterStoreTest, ABackupIsAWholeStore) {
  put("a", 1, true, {{"value", 1}});
  const fs::path copy = folder_.path() / "copy.db";
  ASSERT_TRUE(store_->backup_to(copy));
  put("b", 2, true);
  const auto copied = open_cluster_store(copy);
  ASSERT_TRUE(copied) << copied.error().text();
  EXPECT_EQ((*copied)->list({.kind = "alert"})->size(), 1U);
}

TEST_F(ClusterStoreTest, WhatCannotBeReadIsLeftOut) {
  put("good", 1, true);
  put("bad", 2, true);
  store_.reset();
  {
    auto database = Database::open(file().string());
    ASSERT_TRUE(database->execute("UPDATE document SET content = '{' WHERE id = 'bad'"));
  }
  open();
  EXPECT_EQ(ids({.kind = "alert"}), (Ids{"good"}));
}

TEST_F(ClusterStoreTest, AStoreOfANewerVersionIsRefused) {
  store_.reset();
  {
    auto database = Database::open(file().string());
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99"));
  }
  const auto opened = open_cluster_store(file());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace assay
