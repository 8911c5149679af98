#include "leader/outlets.h"

#include "leader/leader_fixture.h"
#include "leader/outlet_fixture.h"
#include "net/raw_connection.h"

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

template <typename... Notes>
std::unique_ptr<Outlets> outlets_of(Notes&... notes) {
  std::vector<std::unique_ptr<Outlet>> list;
  (list.push_back(notes.outlet()), ...);
  return std::make_unique<Outlets>(std::move(list));
}

TEST(Outlets, TheBodySaysItInWordsAndInFields) {
  const auto raised = parsed(outlet_body("raised", overheating()));
  EXPECT_EQ(raised.at("change").as_string(), "raised");
  EXPECT_EQ(raised.at("text").as_string(), "critical on gpu01: GPU 0 is at 91 °C. Look at its fan.");
  EXPECT_EQ(raised.at("alert").at("rule").as_string(), "overheating");
  EXPECT_EQ(parsed(outlet_body("resolved", overheating())).at("text").as_string(),
            "Resolved on gpu01: GPU 0 is at 91 °C.");
}

TEST(Outlets, EachGetsEveryAlertInOrder) {
  OutletNotes one;
  OutletNotes other;
  const auto outlets = outlets_of(one, other);
  outlets->send("raised", overheating());
  outlets->send("resolved", overheating());
  for (auto* notes : {&one, &other}) {
    EXPECT_THAT(notes->wait_for(2),
                ElementsAre(outlet_body("raised", overheating()), outlet_body("resolved", overheating())));
  }
}

TEST(Outlets, OneThatHangsHoldsUpNoOther) {
  OutletNotes hanging;
  OutletNotes works;
  hanging.hold(true);
  const auto outlets = outlets_of(hanging, works);
  for (int i = 0; i < 5; ++i) outlets->send("raised", overheating());
  EXPECT_THAT(works.wait_for(5), SizeIs(5));
  EXPECT_THAT(hanging.wait_for(1), SizeIs(1));
}

TEST(Outlets, WhatDidNotGetOutIsSaidUntilSomethingDoes) {
  testing::internal::CaptureStderr();
  OutletNotes notes;
  notes.fail_with(Error{.kind = ErrorKind::io, .message = "it answered 500"});
  const auto outlets = outlets_of(notes);
  outlets->send("raised", overheating());
  EXPECT_TRUE(comes_true([&] { return outlets->problem() == "An alert did not reach the test: it answered 500."; }));
  notes.fail_with(std::nullopt);
  outlets->send("resolved", overheating());
  EXPECT_TRUE(comes_true([&] { return outlets->problem().empty(); }));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("An alert did not reach the test: it answered 500."));
}

TEST(Outlets, TheEndWaitsForNothingThatIsLeft) {
  testing::internal::CaptureStderr();
  OutletNotes notes;
  notes.hold(true);
  auto outlets = outlets_of(notes);
  for (int i = 0; i < 10; ++i) outlets->send("raised", overheating());
  EXPECT_THAT(notes.wait_for(1), SizeIs(1));
  outlets.reset();
  EXPECT_THAT(notes.bodies(), SizeIs(1)) << "the others were not begun";
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("9 alerts were not sent to the test"));
}

TEST(Outlets, WhatWaitsHasAMost) {
  testing::internal::CaptureStderr();
  OutletNotes notes;
  notes.hold(true);
  const auto outlets = outlets_of(notes);
  outlets->send("raised", overheating());
  ASSERT_THAT(notes.wait_for(1), SizeIs(1));
  for (std::size_t i = 0; i < Outlets::kMaxWaiting + 10; ++i) outlets->send("raised", overheating());
  notes.hold(false);
  EXPECT_THAT(notes.wait_for(1 + Outlets::kMaxWaiting), SizeIs(1 + Outlets::kMaxWaiting));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("since 256 others wait already"));
}

TEST(Outlets, WithoutOutletsNothingHappens) {
  Outlets outlets({});
  outlets.send("raised", overheating());
  EXPECT_EQ(outlets.problem(), "");
}

}  // namespace
}  // namespace assay
