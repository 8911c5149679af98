#include "watch/watch_fixture.h"

namespace assay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class LeaderRules : public WatchTest {
 protected:
  LeaderProblem problem(ProblemKind kind, const std::string& about, const std::string& text = "the disk is full") {
    return {.kind = kind, .level = usual_level(kind), .about = about, .text = text, .since = now_};
  }
};

TEST_F(LeaderRules, AProblemIsAnAlertOfItsLevelUntilItIsOver) {
  cluster_.problems = {problem(ProblemKind::storage, "writing down events"),
                       problem(ProblemKind::refused, "gpu07", "node 'gpu07': 5 samples were refused")};
  look();
  EXPECT_THAT(changes(),
              UnorderedElementsAre("+leader_problem  storage: writing down events", "+leader_problem  refused: gpu07"));
  for (const Alert& alert : watch_.open_alerts()) {
    EXPECT_EQ(alert.severity, alert.about.starts_with("storage") ? AlertSeverity::critical : AlertSeverity::warning);
    EXPECT_THAT(alert.remedy, HasSubstr("assay nodes dismiss"));
  }
  cluster_.problems.pop_back();
  look_for(minutes(2));
  EXPECT_THAT(changes(), ElementsAre("-leader_problem  refused: gpu07"));
  cluster_.problems.clear();
  look_for(seconds(20));
  EXPECT_THAT(changes(), IsEmpty()) << "it may come back";
  look_for(minutes(1));
  EXPECT_THAT(changes_, testing::SizeIs(1));
  EXPECT_THAT(changes_.front().alert.what, HasSubstr("It was: the disk is full"));
}

TEST_F(LeaderRules, OneThatComesAndGoesDoesNotFlap) {
  for (int i = 0; i < 20; ++i) {
    cluster_.problems = {problem(ProblemKind::outlet, "chat")};
    look();
    cluster_.problems.clear();
    look();
  }
  EXPECT_THAT(changes(), ElementsAre("+leader_problem  outlet: chat"));
}

TEST_F(LeaderRules, WordsFollowWhatIsKnownNow) {
  cluster_.problems = {problem(ProblemKind::refused, "gpu07", "5 samples were refused")};
  look();
  cluster_.problems[0].text = "900 samples were refused";
  look_for(minutes(2));
  EXPECT_EQ(watch_.open_alerts().front().what, "900 samples were refused");
}

TEST_F(LeaderRules, WhatWasOpenIsResolvedAfterARestart) {
  cluster_.problems = {problem(ProblemKind::storage, "writing down events")};
  look();
  watch_ = Watch(WatchRules(), watch_.open_alerts());
  changes_.clear();
  look();
  EXPECT_THAT(changes(), IsEmpty()) << "it is known";
  cluster_.problems.clear();
  look_for(minutes(1));
  EXPECT_THAT(changes(), ElementsAre("-leader_problem  storage: writing down events"));
}

TEST_F(LeaderRules, AreBoundedAndCanBeSwitchedOff) {
  for (int i = 0; i < 1000; ++i) cluster_.problems.push_back(problem(ProblemKind::refused, std::to_string(i)));
  look();
  EXPECT_THAT(changes(), testing::SizeIs(256));
  WatchRules rules;
  rules[RuleId::leader_problem].enabled = false;
  watch_ = Watch(rules);
  look();
  EXPECT_THAT(changes(), IsEmpty());
}

}  // namespace
}  // namespace assay
