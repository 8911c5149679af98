#include "data/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>

#include "data/dataset_fixture.h"
#include "data/markov_text.h"
#include "data/synthetic_images.h"

namespace assay::engine {
namespace {

/// The class of sample i is i. Fails for one sample, if told to; can be held up.
class Numbers : public Dataset {
 public:
  explicit Numbers(std::int64_t samples) : samples_(samples) {}
  const DataShape& shape() const override { return shape_; }
  std::int64_t samples() const override { return samples_; }
  void fill(std::span<const std::int64_t> indices, Batch& batch) const override {
    ++fills;
    for (std::size_t row = 0; row < indices.size(); ++row) {
      if (indices[row] == bad_sample) throw std::runtime_error("sample " + std::to_string(bad_sample));
      batch.targets.data_ptr<std::int64_t>()[row] = indices[row];
    }
  }
  std::string description() const override { return "numbers"; }

  mutable std::atomic<int> fills = 0;
  std::int64_t bad_sample = -1;

 private:
  std::int64_t samples_;
  // 32 KiB a sample, so that batches are filled in parts.
  DataShape shape_{.kind = DataShape::Kind::vectors, .features = 8192, .classes = samples_};
};

std::vector<std::int64_t> next_targets(Loader& loader) {
  const Loader::Loaded loaded = loader.next();
  const auto targets = integers(loaded.batch.targets);
  loader.recycle(loaded);
  return targets;
}

TEST(Loader, DeliversTheOrderWhateverTheThreads) {
  const Numbers dataset(100);
  const SampleOrder order(1, 100, 8);
  for (const std::int64_t workers : {0, 1, 2, 5}) {
    for (const std::int64_t prefetch : {0, 1, 2, 7}) {
      Loader loader(dataset, order, {.rows = 8, .workers = workers, .prefetch = prefetch});
      for (std::int64_t step = 0; step < 40; ++step) {
        const Loader::Loaded loaded = loader.next();
        std::vector<std::int64_t> expected(8);
        order.indices(step, 0, expected);
        ASSERT_EQ(integers(loaded.batch.targets), expected) << workers << " workers, " << prefetch << " ahead";
        ASSERT_EQ(loaded.step, step);
        ASSERT_EQ(loaded.micro_batch, 0);
        loader.recycle(loaded);
      }
    }
  }
}

TEST(Loader, GeneratedDataDoNotDependOnTheThreads) {
  const MarkovText text({.samples = 200, .seq_length = 600});
  const SyntheticImages images({.samples = 200, .classes = 10, .image_size = 64});
  for (const Dataset* dataset : {static_cast<const Dataset*>(&text), static_cast<const Dataset*>(&images)}) {
    std::vector<std::vector<std::uint64_t>> digests;
    for (const std::int64_t workers : {0, 1, 4}) {
      Loader loader(*dataset, SampleOrder(1, 180, 16), {.rows = 16, .workers = workers, .prefetch = 3});
      auto& mine = digests.emplace_back();
      for (int i = 0; i < 15; ++i) {
        const Loader::Loaded loaded = loader.next();
        mine.push_back(digest(loaded.batch));
        loader.recycle(loaded);
      }
    }
    EXPECT_EQ(digests[0], digests[1]);
    EXPECT_EQ(digests[0], digests[2]);
    EXPECT_EQ(std::set<std::uint64_t>(digests[0].begin(), digests[0].end()).size(), 15u);
  }
}

TEST(Loader, RanksAndMicroBatchesShareOutTheSameSamples) {
  const Numbers dataset(97);
  const SampleOrder order(4, 97, 12);
  Loader alone(dataset, order, {.rows = 12});
  Loader first(dataset, order, {.rank = 0, .ranks = 2, .rows = 3, .micro_batches = 2});
  Loader second(dataset, order, {.rank = 1, .ranks = 2, .rows = 3, .micro_batches = 2});
  for (int step = 0; step < 20; ++step) {
    std::vector<std::int64_t> joined;
    for (Loader* rank : {&first, &second}) {
      for (std::int64_t micro_batch = 0; micro_batch < 2; ++micro_batch) {
        const Loader::Loaded loaded = rank->next();
        EXPECT_EQ(loaded.step, step);
        EXPECT_EQ(loaded.micro_batch, micro_batch);
        const auto targets = integers(loaded.batch.targets);
        joined.insert(joined.end(), targets.begin(), targets.end());
        rank->recycle(loaded);
      }
    }
    EXPECT_EQ(joined, next_targets(alone));
    EXPECT_EQ(std::set<std::int64_t>(joined.begin(), joined.end()).size(), 12u);
  }
}

TEST(Loader, StartsAtAnyStep) {
  const Numbers dataset(50);
  const SampleOrder order(1, 50, 4);
  Loader from_start(dataset, order, {.rows = 2, .micro_batches = 2});
  for (int i = 0; i < 2 * 17; ++i) next_targets(from_start);
  Loader resumed(dataset, order, {.rows = 2, .micro_batches = 2, .first_step = 17});
  for (int i = 0; i < 30; ++i) EXPECT_EQ(next_targets(resumed), next_targets(from_start));
}

TEST(Loader, LeavesABatchAloneUntilItIsRecycled) {
  const Numbers dataset(1000);
  const SampleOrder order(1, 1000, 4);
  for (const std::int64_t workers : {0, 2}) {
    Loader loader(dataset, order, {.rows = 4, .workers = workers, .prefetch = 2, .held = 3});
    const Loader::Loaded first = loader.next();
    const Loader::Loaded second = loader.next();
    const auto first_targets = integers(first.batch.targets);
    const auto second_targets = integers(second.batch.targets);
    for (int i = 0; i < 50; ++i) next_targets(loader);
    EXPECT_EQ(integers(first.batch.targets), first_targets);
    EXPECT_EQ(integers(second.batch.targets), second_targets);
    // Given back in another order than they came.
    loader.recycle(second);
    loader.recycle(first);
    for (std::int64_t step = 52; step < 60; ++step) {
      std::vector<std::int64_t> expected(4);
      order.indices(step, 0, expected);
      EXPECT_EQ(next_targets(loader), expected);
    }
  }
}

TEST(Loader, ReusesItsBuffers) {
  const Numbers dataset(1000);
  Loader loader(dataset, SampleOrder(1, 1000, 4), {.rows = 4, .workers = 2, .prefetch = 2, .held = 1});
  std::set<const void*> addresses;
  for (int i = 0; i < 100; ++i) {
    const Loader::Loaded loaded = loader.next();
    addresses.insert(loaded.batch.inputs.data_ptr());
    loader.recycle(loaded);
  }
  EXPECT_LE(addresses.size(), 3u);
}

TEST(Loader, PreparesNoMoreThanAskedFor) {
  const Numbers dataset(1000);
  {
    Loader loader(dataset, SampleOrder(1, 1000, 1), {.rows = 1, .workers = 3, .prefetch = 4, .held = 2});
    next_targets(loader);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // time enough to do too much
  }
  EXPECT_LE(dataset.fills, 5);
}

TEST(Loader, AFailureOfAWorkerArrivesInItsPlaceAndStays) {
  Numbers dataset(64);
  const SampleOrder order(1, 64, 4);
  std::vector<std::int64_t> third(4);
  order.indices(2, 0, third);
  dataset.bad_sample = third[1];
  for (const std::int64_t workers : {0, 1, 3}) {
    Loader loader(dataset, order, {.rows = 4, .workers = workers, .prefetch = 5});
    for (std::int64_t step = 0; step < 2; ++step) {
      std::vector<std::int64_t> expected(4);
      order.indices(step, 0, expected);
      EXPECT_EQ(next_targets(loader), expected) << "what was good before it is delivered";
    }
    for (int i = 0; i < 3; ++i) {
      try {
        loader.next();
        ADD_FAILURE() << "no exception with " << workers << " workers";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "sample " + std::to_string(dataset.bad_sample));
      }
    }
  }
}

TEST(Loader, StopsInTheMiddle) {
  const SyntheticImages images({.samples = 1000, .classes = 10, .image_size = 64});
  const SampleOrder order(1, 900, 32);
  for (int round = 0; round < 20; ++round) {
    Loader loader(images, order, {.rows = 32, .workers = 4, .prefetch = 3});
    for (int i = 0; i < round % 4; ++i) loader.recycle(loader.next());
  }
  // A batch that was not recycled outlives the loader.
  std::optional<Loader> loader;
  loader.emplace(images, order, LoaderOptions{.rows = 32, .workers = 4, .prefetch = 3});
  const Batch kept = loader->next().batch;
  const std::uint64_t before = digest(kept);
  loader.reset();
  EXPECT_EQ(digest(kept), before);
}

using LoaderDeathTest = ::testing::Test;

TEST(LoaderDeathTest, HoldingTooManyIsAMistakeNotADeadlock) {
  const Numbers dataset(64);
  Loader loader(dataset, SampleOrder(1, 64, 4), {.rows = 4, .workers = 0, .held = 1});
  const Loader::Loaded held = loader.next();
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // LibTorch may have threads of its own
  EXPECT_DEATH(loader.next(), "held");
  loader.recycle(held);
  EXPECT_DEATH(loader.recycle(held), "held");
}

}  // namespace
}  // namespace assay::engine
