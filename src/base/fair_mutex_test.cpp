#include "base/fair_mutex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace assay {
namespace {

TEST(FairMutex, ServesThoseWhoWaitInTheirOrder) {
  FairMutex mutex;
  std::vector<int> order;
  std::vector<std::jthread> threads;
  mutex.lock();
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      const std::lock_guard hold(mutex);
      order.push_back(i);
    });
    while (mutex.waiting() <= static_cast<std::size_t>(i)) std::this_thread::yield();
  }
  // Whoever lets go and comes again is behind all of them.
  mutex.unlock();
  mutex.lock();
  order.push_back(99);
  mutex.unlock();
  threads.clear();
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3, 4, 99));
}

TEST(FairMutex, KeepsOthersOut) {
  FairMutex mutex;
  int count = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 2000; ++n) {
          const std::lock_guard hold(mutex);
          ++count;
        }
      });
    }
  }
  EXPECT_EQ(count, 8000);
}

}  // namespace
}  // namespace assay
