#include "launch/living_jobs.h"

#include <gtest/gtest.h>

#include <optional>

namespace assay {
namespace {

TEST(LivingJobsTest, ANameHasOneOwnerUntilThatIsGone) {
  LivingJobs jobs;
  {
    const LivingName first(jobs, "r-81/1");
    EXPECT_TRUE(first.ours());
    EXPECT_TRUE(jobs.contains("r-81/1"));
    EXPECT_FALSE(LivingName(jobs, "r-81/1").ours());
    EXPECT_TRUE(jobs.contains("r-81/1")) << "who did not get it does not give it back";
    EXPECT_TRUE(LivingName(jobs, "r-81/2").ours());
  }
  EXPECT_FALSE(jobs.contains("r-81/1"));
  EXPECT_TRUE(LivingName(jobs, "r-81/1").ours());
}

TEST(LivingJobsTest, MovesWithItsOwner) {
  LivingJobs jobs;
  std::optional<LivingName> last;
  {
    LivingName first(jobs, "local:1");
    last.emplace(std::move(first));
  }
  EXPECT_TRUE(last->ours());
  EXPECT_EQ(last->text(), "local:1");
  EXPECT_TRUE(jobs.contains("local:1"));
  last.reset();
  EXPECT_FALSE(jobs.contains("local:1"));
}

TEST(LivingJobsTest, WithoutANameNobodyIsInTheWay) {
  LivingJobs jobs;
  const LivingName one(jobs, ""), other(jobs, "");
  EXPECT_TRUE(one.ours());
  EXPECT_TRUE(other.ours());
  EXPECT_FALSE(jobs.contains(""));
}

}  // namespace
}  // namespace assay
