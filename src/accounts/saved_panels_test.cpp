#include "accounts/saved_panels.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "store/memory/account_memory.h"

namespace assay {
namespace {

using testing::HasSubstr;

PanelContent panel_named(std::string name, bool shared = false) {
  return {.name = std::move(name), .shared = shared, .metrics = {"loss"}, .runs = {}, .filter = ""};
}

class SavedPanelsTest : public testing::Test {
 protected:
  std::string names_seen_by(std::string_view user) const {
    std::string names;
    for (const auto& panel : panels_.seen_by(user)) names += panel.content.name + " ";
    return names;
  }

  ManualClock clock_;
  std::unique_ptr<AccountTables> tables_ = make_account_memory();
  SavedPanels panels_{*tables_, clock_};
};

TEST_F(SavedPanelsTest, EachSeesTheirOwnAndWhatIsSharedByName) {
  ASSERT_TRUE(panels_.create("ada", panel_named("b")).ok());
  ASSERT_TRUE(panels_.create("ada", panel_named("a")).ok());
  ASSERT_TRUE(panels_.create("bob", panel_named("c", true)).ok());
  EXPECT_EQ(names_seen_by("ada"), "a b c ");
  EXPECT_EQ(names_seen_by("bob"), "c ");
  EXPECT_EQ(names_seen_by(""), "c ");
  ASSERT_TRUE(panels_.remove_all_of("bob").ok());
  EXPECT_EQ(names_seen_by("ada"), "a b ");
}

TEST_F(SavedPanelsTest, AreThereAfterARestart) {
  const auto made = panels_.create("ada", panel_named("a"));
  ASSERT_TRUE(made.ok()) << made.error().text();
  clock_.advance(std::chrono::hours(1));
  const auto changed = panels_.change(made->id, panel_named("new", true));
  ASSERT_TRUE(changed.ok()) << changed.error().text();
  EXPECT_EQ(changed->user, "ada");
  EXPECT_EQ(changed->changed, clock_.wall());
  SavedPanels again(*tables_, clock_);
  ASSERT_TRUE(again.load().ok());
  EXPECT_EQ(again.find(made->id), *changed);
  ASSERT_TRUE(again.remove(made->id).ok());
  EXPECT_EQ(again.change(made->id, panel_named("x")).error().kind, ErrorKind::not_found);
}

TEST_F(SavedPanelsTest, NobodyFillsTheLeader) {
  for (std::size_t i = 0; i < SavedPanels::kMostOfUser; ++i) {
    ASSERT_TRUE(panels_.create("ada", panel_named(fmt::format("p{}", i))).ok());
  }
  const auto more = panels_.create("ada", panel_named("more"));
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().kind, ErrorKind::usage);
  EXPECT_TRUE(panels_.change(panels_.seen_by("ada").front().id, panel_named("another")).ok()) << "it is not one more";
  EXPECT_TRUE(panels_.create("bob", panel_named("his")).ok());
}

TEST_F(SavedPanelsTest, SoManyAreSharedAndNoMore) {
  std::string last;
  for (std::size_t i = 0; i < SavedPanels::kMostShared; ++i) {
    const auto made = panels_.create(fmt::format("user{}", i / SavedPanels::kMostOfUser), panel_named("p", true));
    ASSERT_TRUE(made.ok()) << made.error().text();
    last = made->id;
  }
  EXPECT_FALSE(panels_.create("ada", panel_named("p", true)).ok());
  const auto own = panels_.create("ada", panel_named("p"));
  ASSERT_TRUE(own.ok());
  EXPECT_FALSE(panels_.change(own->id, panel_named("p", true)).ok());
  EXPECT_TRUE(panels_.change(last, panel_named("q", true)).ok()) << "it is one of them";
}

TEST(CheckPanel, SaysWhatIsWrong) {
  const auto wrong = [](const std::function<void(PanelContent&)>& change) {
    PanelContent content = panel_named("p");
    change(content);
    const auto checked = check_panel(content, WallTime());
    return checked.ok() ? "" : checked.error().text();
  };
  EXPECT_EQ(wrong([](PanelContent&) {}), "");
  EXPECT_EQ(wrong([](PanelContent& one) { one.name = "Verlust über Nacht <b>"; }), "");
  EXPECT_THAT(wrong([](PanelContent& one) { one.name = "a\nb"; }), HasSubstr("name"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.name = "\x1b[2J"; }), HasSubstr("name"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.name = "\xff"; }), HasSubstr("name"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.metrics = {}; }), HasSubstr("one metric"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.metrics.assign(25, "m"); }), HasSubstr("24 metrics"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.metrics = {""}; }), HasSubstr("no metric"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.runs.assign(25, "r"); }), HasSubstr("24 runs"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.filter = std::string(2001, 'x'); }), HasSubstr("2000 bytes"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.filter = "nmae=x"; }), HasSubstr("nmae"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.newest = 0; }), HasSubstr("from 1 to 24"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.smoothing = std::nan(""); }), HasSubstr("from 0 to 0.98"));
  EXPECT_THAT(wrong([](PanelContent& one) { one.axis = ""; }), HasSubstr("no axis"));
}

}  // namespace
}  // namespace assay
