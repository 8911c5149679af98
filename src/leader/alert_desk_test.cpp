#include "leader/alert_desk.h"

#include "leader/leader_fixture.h"
#include "leader/outlet_fixture.h"
#include "net/raw_connection_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A desk over a store of its own, and what its outlet was told.
class AlertDeskTest : public testing::Test {
 protected:
  AlertDeskTest() { open(); }

  void open() {
    desk_.reset();
    std::vector<std::unique_ptr<Outlet>> outlets;
    outlets.push_back(outlet_.outlet());
    auto desk = AlertDesk::load(store_, {}, std::move(outlets), clock_);
    ASSERT_TRUE(desk.ok()) << desk.error().text();
    desk_ = std::move(*desk);
    desk_->on_change([this](const std::string& text) { changes_.push_back(parsed(text)); });
  }

  /// Looks at one node that is lost, or not, for a while.
  void look(bool lost, Nanos time, const std::string& node = "gpu01") {
    const WallTime end = clock_.wall() + time;
    do {
      clock_.advance(std::chrono::seconds(5));
      if (!lost) last_seen_ = clock_.wall();
      ClusterView view;
      view.nodes.push_back(
          {.name = node, .state = lost ? NodeState::offline : NodeState::online, .last_seen = last_seen_});
      desk_->look(view);
    } while (clock_.wall() < end);
  }
  void raise(const std::string& node = "gpu01") { look(true, std::chrono::minutes(5), node); }
  void resolve() { look(false, std::chrono::minutes(10)); }

  std::vector<AlertRecord> list(const AlertDesk::Query& query = {}) {
    auto page = desk_->list(query);
    EXPECT_TRUE(page.ok());
    return page->alerts;
  }
  /// "raised node_lost", in order. Ends the desk, since its outlet works on its own time.
  std::vector<std::string> told(std::size_t expected) {
    outlet_.wait_for(expected);
    desk_.reset();
    return told_now();
  }
  std::vector<std::string> told_now() const {
    std::vector<std::string> texts;
    for (const auto& text : outlet_.bodies()) {
      const auto body = parsed(text);
      texts.push_back(std::string(body.at("change").as_string()) + " " +
                      std::string(body.at("alert").at("rule").as_string()));
    }
    return texts;
  }

  OutletNotes outlet_;
  ManualClock clock_;
  WallTime last_seen_ = clock_.wall();
  std::vector<json::object> changes_;
  ClusterMemory store_;
  std::unique_ptr<AlertDesk> desk_;
};

TEST_F(AlertDeskTest, RaisedKeptResolved) {
  look(false, std::chrono::minutes(1));
  EXPECT_THAT(list(), IsEmpty());
  raise();
  const auto open_now = list();
  ASSERT_THAT(open_now, SizeIs(1));
  EXPECT_EQ(open_now[0].alert.rule, "node_lost");
  EXPECT_EQ(open_now[0].alert.node, "gpu01");
  EXPECT_FALSE(open_now[0].silenced);
  ASSERT_THAT(changes_, SizeIs(1));
  EXPECT_EQ(changes_[0].at("state").as_string(), "open");
  resolve();
  EXPECT_THAT(list(), IsEmpty());
  ASSERT_THAT(list({.open_only = false}), SizeIs(1));
  EXPECT_EQ(list({.open_only = false})[0].alert.state, AlertState::resolved);
  EXPECT_THAT(changes_, SizeIs(2));
  EXPECT_THAT(told(2), ElementsAre("raised node_lost", "resolved node_lost"));
}

TEST_F(AlertDeskTest, WhatWasOpenIsOpenAfterARestartAndResolvedInTime) {
  raise();
  const std::string id = list()[0].alert.id;
  ASSERT_TRUE(desk_->acknowledge(id, "alice", "on my way").ok());
  open();
  ASSERT_THAT(list(), SizeIs(1));
  EXPECT_EQ(list()[0].alert.id, id);
  EXPECT_EQ(list()[0].acknowledged_by, "alice");
  EXPECT_EQ(list()[0].note, "on my way");
  EXPECT_EQ(list()[0].acknowledged_at, clock_.wall());
  changes_.clear();
  raise();
  EXPECT_THAT(changes_, IsEmpty()) << "it is not raised again";
  resolve();
  EXPECT_THAT(list(), IsEmpty());
  open();
  EXPECT_THAT(list(), IsEmpty());
}

TEST_F(AlertDeskTest, AcknowledgedOnceItIsOpen) {
  EXPECT_EQ(desk_->acknowledge("nothing", "alice", "").error().kind, ErrorKind::not_found);
  EXPECT_EQ(desk_->acknowledge("", "alice", "").error().kind, ErrorKind::not_found);
  raise();
  const std::string id = list()[0].alert.id;
  changes_.clear();
  const auto record = desk_->acknowledge(id.substr(0, id.size() - 1), "alice", "a note");
  ASSERT_TRUE(record.ok()) << record.error().text();
  EXPECT_EQ(record->acknowledged_by, "alice");
  ASSERT_THAT(changes_, SizeIs(1));
  EXPECT_EQ(changes_[0].at("acknowledged_by").as_string(), "alice");
  resolve();
  const auto late = desk_->acknowledge(id, "bob", "");
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, ErrorKind::usage);
  EXPECT_THAT(late.error().message, HasSubstr("resolved already"));
  EXPECT_EQ(desk_->find(id)->acknowledged_by, "alice") << "what was said is kept with the resolved one";
}

TEST_F(AlertDeskTest, FoundByABeginningThatIsUnique) {
  for (const char* node : {"gpu01", "gpu02"}) raise(node);
  // The second look had another cluster: only the alert of gpu02 is about a node that is still in it.
  const auto all = list({.open_only = false});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(desk_->find(all[0].alert.id)->alert.id, all[0].alert.id);
  EXPECT_EQ(desk_->find("").error().kind, ErrorKind::not_found);
  EXPECT_EQ(desk_->find("zzz").error().kind, ErrorKind::not_found);
}

TEST_F(AlertDeskTest, SeveralWithOneBeginningAreAMistake) {
  ClusterView view;
  for (int i = 0; i < 40; ++i) {
    view.nodes.push_back({.name = "gpu" + std::to_string(i), .state = NodeState::offline, .last_seen = last_seen_});
  }
  for (int i = 0; i < 60; ++i) {
    clock_.advance(std::chrono::seconds(5));
    desk_->look(view);
  }
  const auto records = list();
  ASSERT_THAT(records, SizeIs(40));
  // Ids begin with one of sixteen or so characters: of forty, two begin alike.
  std::map<char, int> beginnings;
  for (const auto& record : records) ++beginnings[record.alert.id[0]];
  const auto shared =
      std::find_if(beginnings.begin(), beginnings.end(), [](const auto& one) { return one.second > 1; });
  ASSERT_NE(shared, beginnings.end());
  const auto found = desk_->find(std::string(1, shared->first));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::usage);
  EXPECT_THAT(list({.node = "gpu7"}), SizeIs(1));
  EXPECT_THAT(list({.limit = 5}), SizeIs(5));
}

TEST_F(AlertDeskTest, ComesInPagesOfOpenOnesAndThenOfResolvedOnes) {
  const auto put = [&](const std::string& id, const std::string& node, AlertState state) {
    clock_.advance(std::chrono::seconds(1));
    AlertRecord record{.alert = {.id = id, .rule = "xid", .node = node, .since = clock_.wall(), .state = state}};
    if (state == AlertState::resolved) record.alert.resolved_at = clock_.wall();
    std::vector<Stored<AlertRecord>> records = {{.row = record}};
    ASSERT_TRUE(store_.alerts().put(records).ok());
  };
  for (int i = 0; i < 6; ++i) put("r" + std::to_string(i), i % 2 == 0 ? "gpu01" : "gpu02", AlertState::resolved);
  put("o0", "gpu01", AlertState::open);
  put("o1", "gpu02", AlertState::open);
  open();
  const auto pages = [&](AlertDesk::Query query, bool by_id) {
    std::string ids;
    while (true) {
      const auto page = desk_->list(query);
      EXPECT_TRUE(page.ok());
      EXPECT_LE(page->alerts.size(), query.limit);
      for (const auto& record : page->alerts) ids += record.alert.id + " ";
      if (by_id ? page->alerts.empty() : page->next.empty()) return ids;
      query.before = by_id ? page->alerts.back().alert.id : page->next;
    }
  };
  for (const bool by_id : {false, true}) {
    EXPECT_EQ(pages({.open_only = false, .limit = 3}, by_id), "o1 o0 r5 r4 r3 r2 r1 r0 ");
    EXPECT_EQ(pages({.open_only = false, .limit = 2}, by_id), "o1 o0 r5 r4 r3 r2 r1 r0 ");
    EXPECT_EQ(pages({.open_only = false, .node = "gpu01", .limit = 1}, by_id), "o0 r4 r2 r0 ");
    EXPECT_EQ(pages({.limit = 1}, by_id), "o1 o0 ");
  }
  EXPECT_EQ(desk_->list({.limit = 2})->next, "") << "that is all";
  const auto unknown = desk_->list({.open_only = false, .before = "nothing"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::usage);
}

TEST_F(AlertDeskTest, APageGoesOnWhereItEndedAlsoWhenThatAlertIsOverMeanwhile) {
  for (const char* id : {"o0", "o1", "o2"}) {
    clock_.advance(std::chrono::seconds(1));
    std::vector<Stored<AlertRecord>> records = {
        {.row = {.alert = {.id = id, .rule = "node_lost", .node = id, .since = clock_.wall()}}}};
    ASSERT_TRUE(store_.alerts().put(records).ok());
  }
  open();
  const auto first = desk_->list({.limit = 1});
  ASSERT_THAT(first->alerts, SizeIs(1));
  EXPECT_EQ(first->alerts[0].alert.id, "o2");
  auto over = store_.alerts().find("o2");
  over->row.alert.state = AlertState::resolved;
  std::vector<Stored<AlertRecord>> records = {*over};
  ASSERT_TRUE(store_.alerts().put(records).ok());
  open();
  const auto second = list({.before = first->next, .limit = 1});
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].alert.id, "o1") << "what is still open is not passed over";
  for (const char* nonsense : {"warning.x.o2", "grave.5.o2", "warning.5", ".."}) {
    EXPECT_EQ(desk_->list({.before = nonsense}).error().kind, ErrorKind::usage) << nonsense;
  }
}

TEST_F(AlertDeskTest, ASilenceCoversWhatItNames) {
  const Alert alert{.rule = "xid", .node = "gpu01", .about = "GPU-1"};
  const WallTime now = clock_.wall();
  const WallTime later = now + std::chrono::hours(1);
  EXPECT_TRUE((Silence{.until = later}).covers(alert, now));
  EXPECT_TRUE((Silence{.rule = "xid", .node = "gpu01", .about = "GPU-1", .until = later}).covers(alert, now));
  EXPECT_FALSE((Silence{.rule = "ecc", .until = later}).covers(alert, now));
  EXPECT_FALSE((Silence{.node = "gpu02", .until = later}).covers(alert, now));
  EXPECT_FALSE((Silence{.about = "GPU-2", .until = later}).covers(alert, now));
  EXPECT_FALSE((Silence{.until = later}).covers(alert, later));
}

TEST_F(AlertDeskTest, NobodyIsToldOfASilencedAlertNorThatItIsOver) {
  ASSERT_TRUE(desk_->silence({.node = "gpu01", .until = clock_.wall() + std::chrono::hours(2)}).ok());
  raise();
  ASSERT_THAT(list(), SizeIs(1));
  EXPECT_TRUE(list()[0].silenced);
  EXPECT_THAT(changes_, SizeIs(1)) << "who looks sees it all the same";
  resolve();
  EXPECT_THAT(told(0), IsEmpty());
}

TEST_F(AlertDeskTest, WhatIsStillOpenWhenItsSilenceEndsIsTold) {
  const auto silence = desk_->silence({.until = clock_.wall() + std::chrono::hours(1)});
  ASSERT_TRUE(silence.ok());
  raise();
  ASSERT_THAT(list(), SizeIs(1));
  look(true, std::chrono::hours(1));
  EXPECT_THAT(told(1), ElementsAre("raised node_lost"));
}

TEST_F(AlertDeskTest, WhoWasToldOfAnAlertIsToldThatItIsOver) {
  raise();
  ASSERT_TRUE(comes_true([&] { return told_now().size() == 1; }));
  open();  // also after a restart
  ASSERT_TRUE(desk_->silence({.until = clock_.wall() + std::chrono::hours(2)}).ok());
  resolve();
  EXPECT_THAT(told(2), ElementsAre("raised node_lost", "resolved node_lost"));
}

TEST_F(AlertDeskTest, SilencesEndAndOutliveARestart) {
  const auto made = desk_->silence(
      {.rule = "node_lost", .until = clock_.wall() + std::chrono::hours(1), .by = "alice", .reason = "moving"});
  ASSERT_TRUE(made.ok());
  open();
  ASSERT_THAT(desk_->silences(), SizeIs(1));
  EXPECT_EQ(desk_->silences()[0].by, "alice");
  EXPECT_EQ(desk_->silences()[0].reason, "moving");
  EXPECT_EQ(desk_->silences()[0].until, clock_.wall() + std::chrono::hours(1));
  ASSERT_TRUE(desk_->end_silence(made->id).ok());
  EXPECT_THAT(desk_->silences(), IsEmpty());
  EXPECT_EQ(desk_->end_silence(made->id).error().kind, ErrorKind::not_found);
  ASSERT_TRUE(desk_->silence({.until = clock_.wall() + std::chrono::hours(1)}).ok());
  clock_.advance(std::chrono::hours(1));
  EXPECT_THAT(desk_->silences(), IsEmpty());
}

TEST_F(AlertDeskTest, ASilenceHasALength) {
  for (const Nanos length : {Nanos(0), Nanos(-1), Nanos(std::chrono::hours(24 * 400))}) {
    const auto refused = desk_->silence({.until = clock_.wall() + length});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  }
}

TEST_F(AlertDeskTest, WhatPeopleSaidToAnotherLeaderIsKept) {
  raise();
  auto other = store_.alerts().find(list()[0].alert.id);
  ASSERT_TRUE(other.ok());
  other->row.acknowledged_by = "bob";
  std::vector<Stored<AlertRecord>> records = {*other};
  ASSERT_TRUE(store_.alerts().put(records).ok());
  const auto refused = desk_->acknowledge(other->row.alert.id, "alice", "mine");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  EXPECT_EQ(list()[0].acknowledged_by, "bob") << "who was first is known now";
  records[0].row.note = "on my way";
  ASSERT_TRUE(store_.alerts().put(records).ok());
  resolve();
  const auto kept = store_.alerts().find(other->row.alert.id);
  EXPECT_EQ(kept->row.alert.state, AlertState::resolved);
  EXPECT_EQ(kept->row.acknowledged_by, "bob");
  EXPECT_EQ(kept->row.note, "on my way");
}

TEST_F(AlertDeskTest, ADiskThatIsFullForAWhileCostsNoAlert) {
  store_.fail_writes(Error{.kind = ErrorKind::io, .message = "no space left"});
  raise();
  ASSERT_THAT(list(), SizeIs(1));
  const std::string id = list()[0].alert.id;
  store_.fail_writes(std::nullopt);
  raise();
  EXPECT_TRUE(store_.alerts().find(id).ok()) << "written with its newest values";
  resolve();
  EXPECT_EQ(store_.alerts().find(id)->row.alert.state, AlertState::resolved);
}

}  // namespace
}  // namespace assay
