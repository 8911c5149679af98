#include "net/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>

namespace assay {
namespace {

TEST(WorkerPool, RefusesWhatDoesNotFitAndFinishesTheRest) {
  std::latch begun(1);
  std::latch release(1);
  std::atomic<int> done = 0;
  {
    WorkerPool pool(1, 2);
    ASSERT_TRUE(pool.submit(1, [&] {
      begun.count_down();
      release.wait();
      ++done;
    }));
    begun.wait();
    EXPECT_TRUE(pool.submit(1, [&] { ++done; }));
    EXPECT_TRUE(pool.submit(1, [&] { ++done; }));
    EXPECT_FALSE(pool.submit(1, [&] { done = 100; }));
    release.count_down();
  }
  EXPECT_EQ(done, 3);
}

TEST(WorkerPool, WorksInParallel) {
  std::latch all_at_once(3);
  WorkerPool pool(3, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.submit(1, [&] { all_at_once.arrive_and_wait(); }));
  all_at_once.wait();
}

TEST(WorkerPool, CallersTakeTurns) {
  std::latch begun(1);
  std::latch release(1);
  std::string order;
  {
    WorkerPool pool(1, 10);
    pool.add(1, [&] {
      begun.count_down();
      release.wait();
    });
    begun.wait();
    for (int i = 0; i < 3; ++i) pool.add(1, [&] { order += 'a'; });
    pool.add(2, [&] { order += 'b'; });
    release.count_down();
  }
  EXPECT_EQ(order, "abaa") << "who asks for little does not wait for who asks for much";
}

}  // namespace
}  // namespace assay
