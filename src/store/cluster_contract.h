#pragma once

// What every ClusterStore must do, the contract test. A test program of an implementation includes this once and says
//
//   INSTANTIATE_TEST_SUITE_P(Sqlite, ClusterContract, testing::Values(ClusterStoreFactory{"sqlite", …}));

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "store/alert_table.h"
#include "store/cluster_store.h"
#include "store/event_log.h"
#include "store/job_table.h"
#include "store/node_table.h"
#include "store/notice_table.h"
#include "store/refusal_table.h"

namespace assay {

struct ClusterStoreFactory {
  std::string name;
  std::function<std::unique_ptr<ClusterStore>()> make;  ///< an empty store, each time another one
};
inline std::ostream& operator<<(std::ostream& out, const ClusterStoreFactory& factory) { return out << factory.name; }

class ClusterContract : public testing::TestWithParam<ClusterStoreFactory> {
 protected:
  static WallTime at(std::int64_t second) { return WallTime(std::chrono::seconds(1'760'000'000 + second)); }
  template <typename T>
  static T must(Result<T> result) {
    EXPECT_TRUE(result.ok()) << result.error().text();
    return std::move(result).value();
  }

  NodeTable& nodes() { return store_->nodes(); }
  AlertTable& alerts() { return store_->alerts(); }
  EventLog& events() { return store_->events(); }

  Stored<AlertRecord> put_alert(const std::string& id, std::int64_t second, AlertState state,
                                const std::string& node = "gpu01") {
    std::vector<Stored<AlertRecord>> rows(1);
    rows[0].row.alert = {.id = id, .rule = "xid", .node = node, .since = at(second), .state = state};
    const auto put = alerts().put(rows);
    EXPECT_TRUE(put.ok()) << put.error().text();
    return rows[0];
  }
  static std::string ids(const std::vector<Stored<AlertRecord>>& rows) {
    std::string text;
    for (const auto& row : rows) text += (text.empty() ? "" : " ") + row.row.alert.id;
    return text;
  }
  std::string resolved_ids(const AlertPageQuery& query) { return ids(must(alerts().resolved(query)).alerts); }

  static ClusterEvent event(std::int64_t second, const std::string& node = "gpu01", const std::string& kind = "xid") {
    return {.time = at(second), .node = node, .kind = kind, .about = "GPU-1", .message = std::to_string(second)};
  }
  void append(std::vector<ClusterEvent> list) {
    const auto added = events().append(list);
    ASSERT_TRUE(added.ok()) << added.error().text();
    ASSERT_EQ(added->size(), list.size());
  }
  /// The messages of all pages, and how many pages it took.
  std::pair<std::string, int> walk(EventQuery query) {
    std::string messages;
    for (int pages = 1;; ++pages) {
      const auto page = must(events().list(query));
      EXPECT_LE(page.events.size(), query.limit);
      for (const auto& one : page.events) messages += (messages.empty() ? "" : " ") + one.message;
      if (!page.next) return {messages, pages};
      query.after = page.next;
    }
  }

  const std::unique_ptr<ClusterStore> store_ = GetParam().make();
};

TEST_P(ClusterContract, ANodeComesBackAsItWasPut) {
  const NodeRecord record{
      .name = "gpu01",
      .first_seen = at(1),
      .last_seen = at(2) + Nanos(3),
      .simulated = true,
      .draining = true,
      .drain_reason = "new fans \"soon\"",
      .maintenance = {{.from = at(3), .until = at(4) + Nanos(1)}},
      .version = "0.4.0",
      .facts = {{"kernel", "6.1.0"}, {"host", "ü\n"}},
      .devices = {{.id = "GPU-a", .facts = {{"name", "NVIDIA H200"}}}, {.id = "GPU-b", .facts = {}}},
      .allow = {"doctor", "run"},
      .sources = {"nvml"},
      .period_ms = 500};
  EXPECT_EQ(must(nodes().put({.row = record})), 1);
  const auto found = must(nodes().find("gpu01"));
  EXPECT_EQ(found.row, record);
  EXPECT_EQ(found.revision, 1);
  EXPECT_EQ(nodes().find("gpu02").error().kind, ErrorKind::not_found);
}

TEST_P(ClusterContract, WhoeverWasOvertakenIsRefused) {
  EXPECT_EQ(must(nodes().put({.row = {.name = "gpu01", .version = "a"}})), 1);
  EXPECT_EQ(nodes().put({.row = {.name = "gpu01", .version = "b"}}).error().kind, ErrorKind::busy) << "it is there";
  EXPECT_EQ(must(nodes().put({.row = {.name = "gpu01", .version = "c"}, .revision = 1})), 2);
  EXPECT_EQ(nodes().put({.row = {.name = "gpu01", .version = "d"}, .revision = 1}).error().kind, ErrorKind::busy);
  EXPECT_EQ(must(nodes().find("gpu01")).row.version, "c");
  ASSERT_TRUE(nodes().remove("gpu01").ok());
  EXPECT_EQ(nodes().put({.row = {.name = "gpu01"}, .revision = 2}).error().kind, ErrorKind::busy)
      << "what was removed does not come back by a change";
}

TEST_P(ClusterContract, OfManyWhoChangeARowOneWins) {
  ASSERT_TRUE(nodes().put({.row = {.name = "gpu01"}}).ok());
  std::atomic<int> won = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        if (nodes().put({.row = {.name = "gpu01"}, .revision = 1}).ok()) ++won;
      });
    }
  }
  EXPECT_EQ(won, 1);
  EXPECT_EQ(must(nodes().find("gpu01")).revision, 2);
}

TEST_P(ClusterContract, NodesAreListedByNameInPages) {
  for (const char* name : {"c", "a", "d", "b"}) ASSERT_TRUE(nodes().put({.row = {.name = name}}).ok());
  const auto names = [&](std::string_view after, std::size_t limit) {
    std::string text;
    for (const auto& node : must(nodes().list(after, limit))) text += node.row.name;
    return text;
  };
  EXPECT_EQ(names("", 10), "abcd");
  EXPECT_EQ(names("", 3), "abc");
  EXPECT_EQ(names("c", 3), "d");
  ASSERT_TRUE(nodes().remove("b").ok());
  ASSERT_TRUE(nodes().remove("b").ok());
  EXPECT_EQ(names("", 10), "acd");
}

TEST_P(ClusterContract, WhenANodeWasHeardOfIsNoChangeOfTheRest) {
  ASSERT_TRUE(nodes().put({.row = {.name = "gpu01", .version = "0.4.0"}}).ok());
  ASSERT_TRUE(nodes().note_seen(std::vector<NodeTable::Seen>{{"gpu01", at(9)}, {"gone", at(9)}}).ok());
  const auto found = must(nodes().find("gpu01"));
  EXPECT_EQ(found.row.last_seen, at(9));
  EXPECT_EQ(found.row.version, "0.4.0");
  EXPECT_EQ(found.revision, 1);
  EXPECT_FALSE(nodes().find("gone").ok());
}

TEST_P(ClusterContract, AnAlertComesBackAsItWasPut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Stored<AlertRecord>> rows(1);
  rows[0].row = {.alert = {.id = "a1",
                           .rule = "xid",
                           .severity = AlertSeverity::critical,
                           .node = "gpu01",
                           .about = "GPU-1",
                           .what = "x",
                           .remedy = "y",
                           .since = at(5),
                           .last_value = nan,
                           .worst_value = 91.5,
                           .threshold = 3,
                           .values = {{"xid", 79}, {"odd", nan}},
                           .state = AlertState::resolved,
                           .resolved_at = at(9)},
                 .acknowledged_at = at(7),
                 .acknowledged_by = "alice",
                 .note = "on my way",
                 .told = true};
  ASSERT_TRUE(alerts().put(rows).ok());
  EXPECT_EQ(rows[0].revision, 1);
  const auto found = must(alerts().find("a1"));
  EXPECT_EQ(json::serialize(to_json(found.row)), json::serialize(to_json(rows[0].row)));
  EXPECT_TRUE(std::isnan(found.row.alert.last_value));
  EXPECT_TRUE(std::isnan(found.row.alert.values.at("odd")));
  EXPECT_EQ(found.row.alert.resolved_at, at(9));
  EXPECT_EQ(found.revision, 1);
  EXPECT_EQ(alerts().find("a2").error().kind, ErrorKind::not_found);
}

TEST_P(ClusterContract, AlertsArePutAllOrNone) {
  std::vector<Stored<AlertRecord>> rows = {put_alert("a", 1, AlertState::open), put_alert("b", 1, AlertState::open)};
  std::vector<Stored<AlertRecord>> stale = rows;
  rows[1].row.note = "first";
  ASSERT_TRUE(alerts().put(std::span(rows).subspan(1)).ok());
  EXPECT_EQ(rows[1].revision, 2);
  stale[0].row.note = "second";
  EXPECT_EQ(alerts().put(stale).error().kind, ErrorKind::busy);
  EXPECT_EQ(stale[0].revision, 1);
  EXPECT_EQ(must(alerts().find("a")).row.note, "");
  EXPECT_EQ(must(alerts().find("b")).row.note, "first");
}

TEST_P(ClusterContract, OpenAndResolvedAlertsAreListedApart) {
  put_alert("o1", 1, AlertState::open);
  put_alert("o2", 2, AlertState::open, "gpu02");
  for (const int second : {3, 1, 2}) put_alert("r" + std::to_string(second), second, AlertState::resolved);
  put_alert("r4", 2, AlertState::resolved, "gpu02");
  auto open_now = must(alerts().open());
  std::sort(open_now.begin(), open_now.end(),
            [](const auto& a, const auto& b) { return a.row.alert.id < b.row.alert.id; });
  EXPECT_EQ(ids(open_now), "o1 o2");
  EXPECT_EQ(resolved_ids({}), "r3 r2 r4 r1");
  EXPECT_EQ(resolved_ids({.limit = 2}), "r3 r2");
  EXPECT_EQ(resolved_ids({.after = AlertPlace{at(2), "r2"}}), "r4 r1");
  EXPECT_EQ(resolved_ids({.node = "gpu01", .after = AlertPlace{at(2), "r2"}}), "r1");
  EXPECT_EQ(resolved_ids({.node = "gpu02"}), "r4");
  EXPECT_EQ(resolved_ids({.node = "gpu03"}), "");
}

TEST_P(ClusterContract, ResolvedAlertsOfATimeAreThoseThatOverlapIt) {
  for (const int second : {1, 4, 7}) {
    std::vector<Stored<AlertRecord>> rows = {put_alert("r" + std::to_string(second), second, AlertState::resolved)};
    rows[0].row.alert.resolved_at = at(second + 2);
    ASSERT_TRUE(alerts().put(rows).ok());
  }
  EXPECT_EQ(resolved_ids({.from = at(3), .to = at(5)}), "r4 r1");
  EXPECT_EQ(resolved_ids({.from = at(4)}), "r7 r4");
  EXPECT_EQ(resolved_ids({.to = at(4)}), "r1");
  EXPECT_EQ(resolved_ids({.after = AlertPlace{at(4), "r4"}, .from = at(3), .to = at(5)}), "r1");
  EXPECT_EQ(resolved_ids({.node = "gpu02", .from = at(3), .to = at(5)}), "");
}

TEST_P(ClusterContract, ATimeWithoutAlertsCostsABoundedLook) {
  std::vector<Stored<AlertRecord>> rows(2 * AlertTable::kMostExamined + 5);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto second = static_cast<std::int64_t>(i);
    rows[i].row.alert = {.id = "r" + std::to_string(i),
                         .rule = "xid",
                         .node = "gpu01",
                         .since = at(second),
                         .state = AlertState::resolved,
                         .resolved_at = at(second + 1)};
  }
  ASSERT_TRUE(alerts().put(rows).ok());
  AlertPageQuery query{.from = at(static_cast<std::int64_t>(rows.size()) + 9)};
  int pages = 0;
  for (bool more = true; more; ++pages) {
    const auto page = must(alerts().resolved(query));
    EXPECT_THAT(page.alerts, testing::IsEmpty());
    more = page.next.has_value();
    query.after = page.next;
  }
  EXPECT_EQ(pages, 3);
  query = {.node = "gpu01", .limit = 2, .to = at(5)};
  const auto page = must(alerts().resolved(query));
  EXPECT_EQ(ids(page.alerts), "r4 r3");
  ASSERT_TRUE(page.next);
  query.after = page.next;
  EXPECT_EQ(resolved_ids(query), "r2 r1");
}

TEST_P(ClusterContract, OldResolvedAlertsAreForgottenInSlices) {
  put_alert("open", 1, AlertState::open);
  for (int i = 1; i <= 5; ++i) put_alert("r" + std::to_string(i), i, AlertState::resolved);
  EXPECT_TRUE(must(alerts().forget_resolved(at(4), 2)));
  EXPECT_FALSE(must(alerts().forget_resolved(at(4), 2)));
  EXPECT_EQ(resolved_ids({}), "r5 r4");
  EXPECT_EQ(ids(must(alerts().open())), "open");
}

TEST_P(ClusterContract, SilencesAreAddedAndRemoved) {
  const Silence silence{
      .id = "s", .rule = "xid", .node = "gpu01", .about = "GPU-1", .until = at(9), .by = "alice", .reason = "moving"};
  ASSERT_TRUE(store_->silences().add(silence).ok());
  EXPECT_EQ(store_->silences().add(silence).error().kind, ErrorKind::busy);
  EXPECT_EQ(must(store_->silences().list()), std::vector{silence});
  ASSERT_TRUE(store_->silences().remove("s").ok());
  ASSERT_TRUE(store_->silences().remove("s").ok());
  EXPECT_TRUE(must(store_->silences().list()).empty());
}

TEST_P(ClusterContract, AnEventIsKnownOnce) {
  ClusterEvent one = event(5);
  one.values = {{"xid", 79}, {"odd", std::numeric_limits<double>::quiet_NaN()}};
  const ClusterEvent other = event(5, "gpu02");
  const auto added = must(events().append(std::vector{one, other, one}));
  ASSERT_EQ(added.size(), 2U);
  EXPECT_LT(added[0].id, added[1].id);
  EXPECT_TRUE(must(events().append(std::vector{other})).empty());
  const auto page = must(events().list({}));
  ASSERT_EQ(page.events.size(), 2U);
  EXPECT_FALSE(page.next);
  EXPECT_EQ(page.events[0].node, "gpu02");
  EXPECT_EQ(page.events[1].id, added[0].id);
  EXPECT_EQ(page.events[1].values.at("xid"), 79);
  EXPECT_TRUE(std::isnan(page.events[1].values.at("odd")));
}

TEST_P(ClusterContract, EventsAreFilteredAndPaged) {
  std::vector<ClusterEvent> list;
  for (int i = 0; i < 10; ++i) list.push_back(event(i, i % 2 == 0 ? "even" : "odd", i < 5 ? "ecc" : "xid"));
  list[7].about = "GPU-2";
  // What was kept while the leader was away comes late, and has its place in time all the same.
  std::rotate(list.begin(), list.begin() + 6, list.end());
  append(list);
  for (const std::size_t limit : {1, 3, 100}) {
    EXPECT_EQ(walk({.limit = limit}).first, "9 8 7 6 5 4 3 2 1 0");
    EXPECT_EQ(walk({.node = "even", .limit = limit}).first, "8 6 4 2 0");
    EXPECT_EQ(walk({.kind = "xid", .limit = limit}).first, "9 8 7 6 5");
    EXPECT_EQ(walk({.node = "even", .kind = "xid", .limit = limit}).first, "8 6");
    EXPECT_EQ(walk({.about = "GPU-2", .limit = limit}).first, "7");
    EXPECT_EQ(walk({.kind = "ecc", .about = "GPU-2", .limit = limit}).first, "");
    EXPECT_EQ(walk({.from = at(3), .to = at(6), .limit = limit}).first, "5 4 3");
    EXPECT_EQ(walk({.kind = "nosuch", .limit = limit}).first, "");
  }
  EXPECT_EQ(walk({.to = at(6), .after = EventPlace{at(8), 99}}).first, "5 4 3 2 1 0") << "whichever comes later";
}

TEST_P(ClusterContract, EventsOfOneTimeHaveTheirOrder) {
  std::vector<ClusterEvent> list;
  for (int i = 0; i < 7; ++i) {
    list.push_back(event(1));
    list.back().message = std::to_string(i);
  }
  append(list);
  for (const std::size_t limit : {1, 2, 7}) EXPECT_EQ(walk({.limit = limit}).first, "6 5 4 3 2 1 0");
}

TEST_P(ClusterContract, AnEventHasItsPlace) {
  append({event(1), event(2), event(3)});
  const auto all = must(events().list({})).events;
  const auto place = must(events().place_of(all[1].id));
  EXPECT_EQ(place, (EventPlace{at(2), all[1].id}));
  EXPECT_EQ(walk({.after = place}).first, "1");
  EXPECT_EQ(events().place_of(4711).error().kind, ErrorKind::not_found);
}

TEST_P(ClusterContract, AFilterThatFitsNothingCostsABoundedLook) {
  std::vector<ClusterEvent> list;
  for (std::size_t i = 0; i < 2 * EventLog::kMostExamined + 5; ++i) list.push_back(event(static_cast<int>(i)));
  append(list);
  EventQuery query{.node = "gpu01", .kind = "nosuch"};
  auto page = must(events().list(query));
  EXPECT_TRUE(page.events.empty());
  ASSERT_TRUE(page.next) << "so far was looked";
  EXPECT_EQ(page.next->time, list[list.size() - EventLog::kMostExamined].time);
  EXPECT_EQ(walk(query), (std::pair<std::string, int>("", 3)));
  query.kind.clear();
  query.about = "GPU-9";
  EXPECT_EQ(walk(query).second, 3);
}

TEST_P(ClusterContract, EventsAreForgottenByAge) {
  append({event(1), event(2, "gpu02"), event(3), event(4)});
  EXPECT_TRUE(must(events().forget({.from = at(4)}, 2)));
  EXPECT_EQ(walk({}).first, "4 3") << "the oldest first";
  EXPECT_FALSE(must(events().forget({.from = at(4)}, 2)));
  EXPECT_EQ(walk({}).first, "4");
  append({event(1)});
  EXPECT_EQ(walk({}).first, "4 1") << "what was forgotten may come again";
}

TEST_P(ClusterContract, EventsAreForgottenByTheirNumberPerNode) {
  std::vector<ClusterEvent> list;
  for (int i = 0; i < 8; ++i) list.push_back(event(i, i < 6 ? "noisy" : "quiet"));
  append(list);
  const EventRetention retention{.from = at(0), .most_per_node = 2};
  EXPECT_TRUE(must(events().forget(retention, 3)));
  EXPECT_FALSE(must(events().forget(retention, 3)));
  EXPECT_EQ(walk({.node = "noisy"}).first, "5 4");
  EXPECT_EQ(walk({.node = "quiet"}).first, "7 6");
  append({event(9, "noisy")});
  EXPECT_FALSE(must(events().forget(retention, 3)));
  EXPECT_EQ(walk({.node = "noisy"}).first, "9 5");
}

TEST_P(ClusterContract, RefusalsAreCountedByReasonAndRemovedByNode) {
  const RefusalRecord late{.node = "gpu02", .what = "samples", .why = "too old", .count = 3, .since = at(1)};
  const RefusalRecord many{.node = "gpu02", .what = "series", .why = "a limit", .count = 1, .since = at(2)};
  const RefusalRecord other{.node = "gpu01", .what = "events", .why = "a limit", .count = 9, .since = at(3)};
  ASSERT_TRUE(store_->refusals().put(std::vector{late, many, other}).ok());
  RefusalRecord more = late;
  more.count = 70;
  more.since = at(9);
  ASSERT_TRUE(store_->refusals().put(std::vector{more}).ok());
  more.since = at(1);
  EXPECT_THAT(must(store_->refusals().list()), testing::ElementsAre(other, more, many)) << "since the first";
  ASSERT_TRUE(store_->refusals().remove("gpu02").ok());
  ASSERT_TRUE(store_->refusals().remove("gpu03").ok());
  EXPECT_THAT(must(store_->refusals().list()), testing::ElementsAre(other));
}

TEST_P(ClusterContract, NoticesWaitInTheirOrder) {
  std::vector<NoticeRecord> notices = {{.outlet = "chat", .body = "one", .time = at(1)},
                                       {.outlet = "mail", .body = "two", .time = at(2)}};
  ASSERT_TRUE(store_->notices().add(notices).ok());
  EXPECT_GT(notices[1].id, notices[0].id);
  std::vector<NoticeRecord> third = {{.outlet = "chat", .body = "three", .time = at(0)}};
  ASSERT_TRUE(store_->notices().add(third).ok());
  EXPECT_THAT(must(store_->notices().list()), testing::ElementsAre(notices[0], notices[1], third[0]));
  ASSERT_TRUE(store_->notices().remove(notices[1].id).ok());
  ASSERT_TRUE(store_->notices().remove(notices[1].id).ok()) << "one that is gone is no error";
  EXPECT_THAT(must(store_->notices().list()), testing::ElementsAre(notices[0], third[0]));
}

TEST_P(ClusterContract, JobsAreKeptInTheOrderInWhichTheyWereAskedFor) {
  auto& jobs = store_->jobs();
  Stored<JobRecord> second{.row = {.run = "b", .node = "gpu01", .created = at(2), .by = "ada"}};
  second.row.planned = {{"variant", "baseline"}, {"spec", json::object{{"kind", "null"}}}};
  second.row.gpus = {"GPU-1", "GPU-2"};
  second.row.study = "s1";
  second.row.entry = 7;
  second.row.current = "b2";
  second.row.owner = "user ada";
  second.row.priority = -3;
  second.row.held = true;
  second.row.after = {"a", "c"};
  second.row.attempts = 4;
  second.row.attempt = 2;
  second.row.not_before = at(9);
  second.row.deadline = at(10) + Nanos(1);
  second.revision = must(jobs.put(second));
  const Stored<JobRecord> first{.row = {.run = "c", .node = "gpu02", .created = at(1)}};
  must(jobs.put(first));
  EXPECT_EQ(jobs.put(first).error().kind, ErrorKind::busy) << "there is one already";

  const auto stale = second;
  second.row.stop = true;
  EXPECT_EQ(must(jobs.put(second)), 2);
  EXPECT_EQ(jobs.put(stale).error().kind, ErrorKind::busy);
  const auto all = must(jobs.list());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].row.run, "c");
  EXPECT_EQ(all[0].row.gpus, std::nullopt);
  EXPECT_EQ(all[1].row, second.row);
  EXPECT_EQ(all[1].revision, 2);
  ASSERT_TRUE(jobs.remove("c").ok());
  ASSERT_TRUE(jobs.remove("c").ok());
  EXPECT_EQ(must(jobs.list()).size(), 1U);
}

}  // namespace assay
