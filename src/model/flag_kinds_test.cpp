#include "model/flag_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/flag.h"
#include "support/generated_page.h"

namespace assay {
namespace {

TEST(FlagKinds, EveryNameIsThereOnceWithAnExplanation) {
  std::set<std::string_view> names;
  for (const auto& kind : known_flag_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_GT(kind.when.size(), 10U) << kind.name;
    EXPECT_NE(kind.when.back(), '.') << kind.name;
    EXPECT_EQ(find_flag_kind(kind.name), &kind);
  }
}

TEST(FlagKinds, SayAfterWhichFiguresMustNotBeUsed) {
  EXPECT_TRUE(invalidates({.kind = "non_finite"}));
  EXPECT_TRUE(invalidates({.kind = "client_late"}));
  EXPECT_FALSE(invalidates({.kind = "left_processes"}));
  EXPECT_FALSE(invalidates({.kind = "the_workloads_own"}));
}

TEST(GeneratedPage, OfVerdicts) { test::expect_generated_page("docs/reference/verdicts.md", verdict_reference()); }

}  // namespace
}  // namespace assay
