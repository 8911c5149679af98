#include "net/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace assay {
namespace {

TEST(WorkerPool, RefusesWhatDoesNotFitAndFinishesTheRest) {
  std::latch begun(1);
  std::latch release(1);
  std::atomic<int> done = 0;
  {
    WorkerPool pool(1, 2);
    ASSERT_TRUE(pool.submit([&] {
      begun.count_down();
      release.wait();
      ++done;
    }));
    begun.wait();
    EXPECT_TRUE(pool.submit([&] { ++done; }));
    EXPECT_TRUE(pool.submit([&] { ++done; }));
    EXPECT_FALSE(pool.submit([&] { done = 100; }));
    release.count_down();
  }
  EXPECT_EQ(done, 3);
}

TEST(WorkerPool, WorksInParallel) {
  std::latch all_at_once(3);
  WorkerPool pool(3, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.submit([&] { all_at_once.arrive_and_wait(); }));
  all_at_once.wait();
}

}  // namespace
}  // namespace assay
