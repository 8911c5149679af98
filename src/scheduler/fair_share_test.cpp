#include "scheduler/fair_share.h"

#include <gtest/gtest.h>

#include "scheduler/scheduler_fixture.h"

namespace assay {
namespace {

constexpr double kDay = 86'400;

TEST(FairShare, TheDelayIsTheTimeOfTheWholeClusterByWeight) {
  FairShare share(FairShareRule{});
  share.set_gpus(4);
  const std::size_t ann = share.user("ann");
  const std::size_t bob = share.user("bob");
  share.set_rule(bob, {.weight = 2});
  share.charge(ann, 4000);
  share.charge(bob, 4000);
  EXPECT_DOUBLE_EQ(share.delay(ann), 1000);
  EXPECT_DOUBLE_EQ(share.delay(bob), 500);
  EXPECT_EQ(share.user("ann"), ann);
}

TEST(FairShare, UseFadesAndDelaysEnd) {
  FairShare share(FairShareRule{});
  share.set_gpus(1);
  const std::size_t ann = share.user("ann");
  EXPECT_TRUE(share.forget(at_second(0)));
  share.charge(ann, 1000);
  EXPECT_FALSE(share.forget(at_second(60)));
  EXPECT_TRUE(share.forget(at_second(kDay)));
  EXPECT_NEAR(share.delay(ann), 500, 1e-6);
  share.charge(ann, 1e9);
  EXPECT_DOUBLE_EQ(share.delay(ann), kDay / 2) << "heavy use sets a job back by half a day at most";
}

TEST(FairShare, FadingInManyStepsIsFadingInOne) {
  FairShare often(FairShareRule{});
  FairShare once(FairShareRule{});
  for (FairShare* share : {&often, &once}) {
    share->set_gpus(1);
    share->forget(at_second(0));
    share->charge(share->user("ann"), 1000);
  }
  for (int i = 1; i <= 100; ++i) often.forget(at_second(i * kDay / 100));
  once.forget(at_second(kDay));
  EXPECT_NEAR(often.delay(0), once.delay(0), 1e-9);
}

}  // namespace
}  // namespace assay
