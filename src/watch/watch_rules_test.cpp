#include "watch/watch_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/generated_page.h"
#include "watch/rules_reader.h"

namespace assay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> problems_in(std::string_view text) {
  const RulesReading reading = read_rules(text, "rules.yaml");
  EXPECT_EQ(reading.rules.has_value(), reading.diagnostics.empty());
  std::vector<std::string> texts;
  texts.reserve(reading.diagnostics.size());
  for (const Diagnostic& diagnostic : reading.diagnostics) texts.push_back(diagnostic.text());
  return texts;
}

WatchRules rules_in(std::string_view text) {
  const RulesReading reading = read_rules(text, "rules.yaml");
  EXPECT_TRUE(reading.rules.has_value()) << reading.diagnostics.front().text();
  return reading.rules.value_or(WatchRules());
}

TEST(WatchRules, TheTableIsInOrderAndItsStandardsMakeSense) {
  for (std::size_t i = 0; i < kRules; ++i) {
    const RuleInfo& info = known_rules()[i];
    EXPECT_EQ(static_cast<std::size_t>(info.id), i) << info.name;
    EXPECT_EQ(rule_from(info.name), info.id);
    EXPECT_TRUE(info.watches.ends_with('.')) << info.name;
    EXPECT_TRUE(info.remedy.ends_with('.')) << info.name;
    EXPECT_TRUE(info.standard.enabled) << info.name;
    EXPECT_GT(info.standard.clear_for, Nanos(0)) << info.name;
    if (info.direction == RuleInfo::Direction::above) {
      EXPECT_LT(info.standard.clear, info.standard.level) << info.name;
    }
    if (info.direction == RuleInfo::Direction::below) {
      EXPECT_GT(info.standard.clear, info.standard.level) << info.name;
    }
  }
}

TEST(WatchRules, WhatIsNotMentionedKeepsItsStandard) {
  EXPECT_EQ(rules_in(""), WatchRules());
  EXPECT_EQ(rules_in("# nothing\n"), WatchRules());
  const WatchRules rules = rules_in("overheating: {above: 85, severity: info}\n");
  EXPECT_EQ(rules[RuleId::overheating].level, 85);
  EXPECT_EQ(rules[RuleId::overheating].severity, AlertSeverity::info);
  EXPECT_EQ(rules[RuleId::overheating].clear, 82);
  EXPECT_EQ(rules[RuleId::overheating].hold, seconds(60));
  EXPECT_EQ(rules[RuleId::xid], WatchRules()[RuleId::xid]);
}

TEST(WatchRules, EveryKindOfValueIsRead) {
  const WatchRules rules = rules_in(
      "overheating: {above: 90.5, clear: 80, for: 90s, clear_for: 3min, severity: warning, enabled: true}\n"
      "disk_almost_full: {above: 95%, clear: 0.9}\n"
      "disk_filling:\n  within: 12h\n  clear: 24h\n"
      "under_use: {below: 10%, clear: 20 %}\n"
      "clock_skew: {above: 250ms, clear: 100ms}\n"
      "node_lost: {for: 1min}\n"
      "xid: {clear_for: 7d, enabled: false}\n");
  EXPECT_EQ(rules[RuleId::overheating], (Rule{90.5, 80, seconds(90), minutes(3), AlertSeverity::warning, true}));
  EXPECT_DOUBLE_EQ(rules[RuleId::disk_almost_full].level, 0.95);
  EXPECT_DOUBLE_EQ(rules[RuleId::disk_filling].level, 12 * 3600);
  EXPECT_DOUBLE_EQ(rules[RuleId::under_use].level, 0.10);
  EXPECT_DOUBLE_EQ(rules[RuleId::under_use].clear, 0.20);
  EXPECT_DOUBLE_EQ(rules[RuleId::clock_skew].level, 0.25);
  EXPECT_EQ(rules[RuleId::node_lost].hold, minutes(1));
  EXPECT_FALSE(rules[RuleId::xid].enabled);
}

TEST(WatchRules, UnknownNamesAreReportedWithPlaceAndGuess) {
  EXPECT_THAT(problems_in("overheting: {above: 85}"),
              ElementsAre("rules.yaml:1:1: unknown rule 'overheting'. Did you mean 'overheating'?"));
  EXPECT_THAT(problems_in("overheating:\n  abov: 85\n  for: 1min"),
              ElementsAre("rules.yaml:2:3: unknown key 'abov' of rule 'overheating'. Did you mean 'above'?"));
  EXPECT_THAT(problems_in("zzzzzz: {}"), ElementsAre(HasSubstr("watch-rules.md")));
  EXPECT_THAT(problems_in("xid: {for: 1min}"), ElementsAre(HasSubstr("unknown key 'for' of rule 'xid'")));
  EXPECT_THAT(problems_in("node_lost: {above: 1}"), ElementsAre(HasSubstr("It has for, clear_for, severity, enabled")));
  EXPECT_THAT(problems_in("under_use: {above: 1}"), ElementsAre(HasSubstr("unknown key 'above'")));
}

TEST(WatchRules, ValuesThatAreRefused) {
  for (const char* text : {
           "overheating: {above: hot}",
           "overheating: {above: -1}",
           "overheating: {above: 1e9}",
           "overheating: {above: [87]}",
           "overheating: {above: }",
           "overheating: {for: 60}",
           "overheating: {for: -1s}",
           "overheating: {for: 99999d}",
           "overheating: {severity: bad}",
           "overheating: {enabled: yes}",
           "overheating: 87",
           "overheating:",
           "disk_almost_full: {above: 90}",
           "disk_almost_full: {above: 101%}",
           "disk_filling: {within: 24}",
           "overheating: {above: 80}",
           "overheating: {clear: 88}",
           "under_use: {below: 0.3}",
           "[overheating]",
           "overheating",
       }) {
    EXPECT_EQ(problems_in(text).size(), 1U) << text;
  }
}

TEST(WatchRules, DangerousYamlIsRefused) {
  EXPECT_EQ(problems_in("a: &x {above: 1}\nb: *x").size(), 1U);
  EXPECT_EQ(problems_in(std::string_view("xid: {}\0", 8)).size(), 1U);
  EXPECT_EQ(problems_in("xid: !!map {}").size(), 1U);
  EXPECT_EQ(problems_in(std::string((std::size_t{1} << 20) + 1, '#')).size(), 1U);
  EXPECT_THAT(problems_in("xid: {}\nxid: {}"), ElementsAre(HasSubstr("twice")));
}

TEST(WatchRules, AFileGivesItsRulesOrAllMistakesAtOnce) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "rules.yaml";
  EXPECT_EQ(load_rules(path).error().kind, ErrorKind::missing_file);
  std::ofstream(path) << "xid: {enabled: false}\n";
  ASSERT_TRUE(load_rules(path).ok());
  std::ofstream(path) << "xid: {enable: false}\noverheating: {for: 60}\n";
  const auto bad = load_rules(path);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().kind, ErrorKind::bad_spec);
  EXPECT_THAT(bad.error().message, HasSubstr("rules.yaml:1:7: "));
  EXPECT_THAT(bad.error().message, HasSubstr("rules.yaml:2:"));
}

TEST(GeneratedPage, OfWatchRules) { test::expect_generated_page("docs/reference/watch-rules.md", rules_reference()); }

}  // namespace
}  // namespace assay
