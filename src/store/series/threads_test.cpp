#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/series/embedded_series_store.h"
#include "store/series/store_fixture.h"

namespace assay {
namespace {

/// The value tells the time, so that any reader can check any point.
double value_at(std::int64_t second) { return static_cast<double>(second % 1000); }

TEST_F(SeriesStoreTest, ReadersSeeEveryPointOnceWhileAWriterIsAtWork) {
  constexpr int kSeconds = 4000;
  std::vector<SeriesId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(intern("s" + std::to_string(i)));
  std::atomic<std::int64_t> written{0};
  std::atomic<bool> done{false};
  std::atomic<int> rounds{0};

  const auto read = [&](unsigned seed) {
    std::mt19937_64 random(seed);
    while (!done || rounds < 20) {
      const auto at_least = written.load();
      const auto id = ids[random() % ids.size()];
      const auto answer = store_->points(id, {}, 100'000);
      ASSERT_TRUE(answer.ok()) << answer.error().text();
      ASSERT_GE(answer->points.size(), static_cast<std::size_t>(at_least));
      for (std::size_t i = 0; i < answer->points.size(); ++i) {
        ASSERT_EQ(answer->points[i].time_ns, kStart + static_cast<std::int64_t>(i) * kSecondNs);
        ASSERT_EQ(answer->points[i].value, value_at(static_cast<std::int64_t>(i)));
      }
      const auto buckets =
          store_->query({.range = {kStart, kStart + 2 * kHourNs}, .width_ns = kMinuteNs, .max_points = 0});
      ASSERT_TRUE(buckets.ok()) << buckets.error().text();
      for (const auto& row : buckets->rows) {
        std::uint64_t count = 0;
        for (const auto& bucket : row.buckets) count += bucket.count;
        ASSERT_GE(count, static_cast<std::uint64_t>(at_least));
      }
      ASSERT_TRUE(store_->latest({}).ok());
      ++rounds;
    }
  };
  {
    std::vector<std::jthread> readers;
    for (unsigned i = 0; i < 3; ++i) readers.emplace_back(read, i);
    std::jthread backups([&] {
      for (int i = 0; i < 2; ++i) {
        const auto made = store_->backup_to(temporary_.path() / ("backup" + std::to_string(i)));
        EXPECT_TRUE(made.ok()) << made.error().text();
      }
    });
    for (std::int64_t second = 0; second < kSeconds; second += 20) {
      std::vector<SeriesSample> samples;
      for (const auto id : ids) {
        for (auto i = second; i < second + 20; ++i) samples.push_back({id, kStart + i * kSecondNs, value_at(i)});
      }
      ASSERT_EQ(append(samples).accepted, samples.size());
      written = second + 20;
      if (second % 200 == 0) {
        ASSERT_TRUE(store_->maintain(WallTime(Nanos(kStart + second * kSecondNs))).ok());
      }
      if (second % 1000 == 0) intern("more" + std::to_string(second));
    }
    done = true;
  }
  EXPECT_THAT(store_->problems(), testing::IsEmpty());
}

TEST_F(SeriesStoreTest, LateSamplesOfOneWriterDoNotHoldUpAnother) {
  constexpr int kLateSeries = 200;
  constexpr int kMinutes = 30;
  std::vector<SeriesSample> before;
  std::vector<SeriesSample> late;
  for (int i = 0; i < kLateSeries; ++i) {
    const auto id = intern("late", {{"gpu", std::to_string(i)}});
    for (int minute = 0; minute < kMinutes; ++minute) {
      before.push_back({id, kStart + minute * kMinuteNs, 1});
      late.push_back({id, kStart + minute * kMinuteNs + 1, 2});
    }
    before.push_back({id, kStart + kMinutes * kMinuteNs, 1});
  }
  append(before);
  ASSERT_TRUE(store_->flush().ok());
  const auto honest = intern("honest");
  std::atomic<bool> begun{false};
  std::atomic<bool> done{false};
  std::jthread sender([&] {
    begun = true;
    const auto outcome = append(late);
    EXPECT_EQ(outcome.accepted, late.size());
    EXPECT_EQ(outcome.rewritten, std::size_t{kLateSeries} * kMinutes);
    done = true;
  });
  while (!begun) std::this_thread::yield();
  int turns = 0;
  for (; !done; ++turns) append({{honest, kStart + turns * kSecondNs, 1}});
  // The late ones take some fifty slices; whoever waits is served after each.
  EXPECT_GT(turns, 10);
  sender.join();
  for (const auto& sample : late) {
    const auto found = points(sample.series, {sample.time_ns, sample.time_ns + 1});
    ASSERT_EQ(found.size(), 1U);
    ASSERT_EQ(found[0].value, 2);
  }
}

TEST_F(SeriesStoreTest, LateSamplesInSlicesSurviveACrash) {
  std::vector<SeriesSample> late;
  std::map<SeriesId, ExpectedSeries> expected;
  for (int i = 0; i < 40; ++i) {
    const auto id = intern("late", {{"gpu", std::to_string(i)}});
    append_seconds(id, kStart, 1200, &expected[id]);
    for (int second = 0; second < 1200; second += 30) late.push_back({id, kStart + second * kSecondNs + 1, 2});
  }
  ASSERT_TRUE(store_->flush().ok());
  std::shuffle(late.begin(), late.end(), random_);
  EXPECT_EQ(append(late).rewritten, 40U * 20);
  for (const auto& sample : late) expected[sample.series].put(sample.time_ns, sample.value);
  for (int round = 0; round < 2; ++round) {
    for (const auto& [id, series] : expected) expect_same(series, points(id));
    crash();
  }
}

TEST_F(SeriesStoreTest, SeveralWritersTakeTurns) {
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 4; ++writer) {
      writers.emplace_back([this, writer] {
        const auto id = store_->intern({"w" + std::to_string(writer), {}}, "W");
        ASSERT_TRUE(id.ok());
        for (int i = 0; i < 800; ++i) {
          const std::vector<SeriesSample> samples = {{*id, kStart + i * kSecondNs, static_cast<double>(i)}};
          ASSERT_TRUE(store_->append(samples).ok());
        }
      });
    }
  }
  const auto all = store_->list({});
  ASSERT_TRUE(all.ok());
  for (const auto& series : *all) EXPECT_EQ(points(series.id).size(), 800U);
}

}  // namespace
}  // namespace assay
