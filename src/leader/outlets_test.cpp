#include "leader/outlets.h"

#include "leader/leader_fixture.h"
#include "leader/outlet_fixture.h"
#include "net/raw_connection_fixture.h"
#include "store/notice_table.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Alert overheating() {
  return {.id = "a-1",
          .rule = "overheating",
          .severity = AlertSeverity::critical,
          .node = "gpu01",
          .about = "GPU-1",
          .what = "GPU 0 is at 91 °C.",
          .remedy = "Look at its fan."};
}

class OutletsTest : public testing::Test {
 protected:
  template <typename... Notes>
  std::unique_ptr<Outlets> outlets_of(Notes&... notes) {
    std::vector<std::unique_ptr<Outlet>> list;
    (list.push_back(notes.outlet()), ...);
    auto made = Outlets::load(std::move(list), store_.notices(), clock_, patience_);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return std::move(*made);
  }
  static void send(Outlets& outlets, std::string_view change) {
    outlets.send(std::vector<Outlets::News>{{.change = change, .alert = overheating()}});
  }
  std::size_t kept() { return store_.notices().list()->size(); }

  ClusterMemory store_;
  ManualClock clock_;
  OutletPatience patience_;
};

TEST_F(OutletsTest, TheBodySaysItInWordsAndInFields) {
  const auto raised = parsed(outlet_body("raised", overheating()));
  EXPECT_EQ(raised.at("change").as_string(), "raised");
  EXPECT_EQ(raised.at("text").as_string(), "critical on gpu01: GPU 0 is at 91 °C. Look at its fan.");
  EXPECT_EQ(raised.at("alert").at("rule").as_string(), "overheating");
  EXPECT_EQ(parsed(outlet_body("resolved", overheating())).at("text").as_string(),
            "Resolved on gpu01: GPU 0 is at 91 °C.");
}

TEST_F(OutletsTest, EachGetsEveryAlertInOrder) {
  OutletNotes one;
  OutletNotes other;
  const auto outlets = outlets_of(one, other);
  send(*outlets, "raised");
  send(*outlets, "resolved");
  for (auto* notes : {&one, &other}) {
    EXPECT_THAT(notes->wait_for(2),
                ElementsAre(outlet_body("raised", overheating()), outlet_body("resolved", overheating())));
  }
}

TEST_F(OutletsTest, OneThatHangsHoldsUpNoOther) {
  OutletNotes hanging;
  OutletNotes works;
  hanging.hold(true);
  const auto outlets = outlets_of(hanging, works);
  for (int i = 0; i < 5; ++i) send(*outlets, "raised");
  EXPECT_THAT(works.wait_for(5), SizeIs(5));
  EXPECT_THAT(hanging.wait_for(1), SizeIs(1));
}

TEST_F(OutletsTest, WhatDidNotGetOutIsSaidUntilSomethingDoes) {
  testing::internal::CaptureStderr();
  OutletNotes notes;
  notes.fail_with(Error{.kind = ErrorKind::io, .message = "it answered 500"});
  const auto outlets = outlets_of(notes);
  send(*outlets, "raised");
  EXPECT_TRUE(comes_true([&] { return !outlets->problems().empty(); }));
  EXPECT_EQ(outlets->problems()[0].text, "An alert did not reach the test: it answered 500.");
  EXPECT_EQ(outlets->problems()[0].outlet, "the test");
  notes.fail_with(std::nullopt);
  send(*outlets, "resolved");
  EXPECT_TRUE(comes_true([&] { return outlets->problems().empty(); }));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("An alert did not reach the test: it answered 500."));
}

TEST_F(OutletsTest, TheEndWaitsForNothingThatIsLeft) {
  testing::internal::CaptureStderr();
  OutletNotes notes;
  notes.hold(true);
  auto outlets = outlets_of(notes);
  for (int i = 0; i < 10; ++i) send(*outlets, "raised");
  EXPECT_THAT(notes.wait_for(1), SizeIs(1));
  outlets.reset();
  EXPECT_THAT(notes.bodies(), SizeIs(1)) << "the others were not begun";
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("9 alerts were not sent to the test"));
}

TEST_F(OutletsTest, WhatWaitsHasAMost) {
  testing::internal::CaptureStderr();
  OutletNotes notes;
  notes.hold(true);
  const auto outlets = outlets_of(notes);
  send(*outlets, "raised");
  ASSERT_THAT(notes.wait_for(1), SizeIs(1));
  for (std::size_t i = 0; i < Outlets::kMaxWaiting + 10; ++i) send(*outlets, "raised");
  notes.hold(false);
  EXPECT_THAT(notes.wait_for(1 + Outlets::kMaxWaiting), SizeIs(1 + Outlets::kMaxWaiting));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("since 257 others wait already"));
}

TEST_F(OutletsTest, WithoutOutletsNothingHappens) {
  const auto outlets = outlets_of();
  send(*outlets, "raised");
  EXPECT_THAT(outlets->problems(), SizeIs(0));
  EXPECT_EQ(kept(), 0u);
}

TEST_F(OutletsTest, WhatDidNotGetOutIsTriedAgainInItsOrder) {
  testing::internal::CaptureStderr();
  patience_.first_pause = patience_.longest_pause = std::chrono::milliseconds(1);
  OutletNotes notes;
  notes.fail_with(Error{.kind = ErrorKind::io, .message = "it answered 500"});
  const auto outlets = outlets_of(notes);
  send(*outlets, "raised");
  EXPECT_THAT(notes.wait_for(3), testing::Each(outlet_body("raised", overheating()))) << "again and again";
  send(*outlets, "resolved");
  EXPECT_EQ(kept(), 2u);
  notes.fail_with(std::nullopt);
  EXPECT_TRUE(comes_true([&] { return kept() == 0; }));
  EXPECT_EQ(notes.bodies().back(), outlet_body("resolved", overheating()));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(log.find("did not reach"), log.rfind("did not reach")) << "said once";
}

TEST_F(OutletsTest, WhatDidNotGetOutIsSentAfterARestart) {
  testing::internal::CaptureStderr();
  OutletNotes notes;
  notes.fail_with(Error{.kind = ErrorKind::io, .message = "it answered 500"});
  auto outlets = outlets_of(notes);
  send(*outlets, "raised");
  send(*outlets, "resolved");
  notes.wait_for(1);
  outlets.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("they will be when it is started again"));
  EXPECT_EQ(kept(), 2u);
  OutletNotes later;
  outlets = outlets_of(later);
  EXPECT_THAT(later.wait_for(2),
              ElementsAre(outlet_body("raised", overheating()), outlet_body("resolved", overheating())));
  EXPECT_TRUE(comes_true([&] { return kept() == 0; }));
}

TEST_F(OutletsTest, WhatIsTooOldOrForNobodyIsGivenUp) {
  testing::internal::CaptureStderr();
  std::vector<NoticeRecord> notices = {{.outlet = "the test", .body = "old", .time = clock_.wall()},
                                       {.outlet = "the test", .body = "new", .time = clock_.wall()},
                                       {.outlet = "gone", .body = "lost", .time = clock_.wall()}};
  clock_.advance(patience_.keep);
  notices[1].time = clock_.wall();
  ASSERT_TRUE(store_.notices().add(notices).ok());
  clock_.advance(Nanos(1));
  OutletNotes notes;
  const auto outlets = outlets_of(notes);
  EXPECT_THAT(notes.wait_for(1), ElementsAre("new"));
  EXPECT_TRUE(comes_true([&] { return kept() == 0; }));
  testing::internal::GetCapturedStderr();
}

TEST_F(OutletsTest, ADiskThatIsFullKeepsNobodyFromBeingTold) {
  testing::internal::CaptureStderr();
  store_.fail_writes(Error{.kind = ErrorKind::io, .message = "the disk is full"});
  OutletNotes notes;
  const auto outlets = outlets_of(notes);
  send(*outlets, "raised");
  EXPECT_THAT(notes.wait_for(1), SizeIs(1));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("in memory alone: the disk is full"));
}

}  // namespace
}  // namespace assay
