#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "store/series/embedded_series_store.h"
#include "store/series_expected.h"

namespace assay {

class SeriesStoreTest : public testing::Test {
 protected:
  SeriesStoreTest() {
    options_.clock = &clock_;
    open();
  }

  void open() {
    store_.reset();
    auto store = open_series_store(folder_, options_);
    ASSERT_TRUE(store.ok()) << store.error().text();
    store_ = std::move(*store);
  }

  /// What a process that is killed at this moment leaves behind.
  fs::path crash_copy() {
    const auto copy = temporary_.path() / ("crash-" + std::to_string(copies_++));
    fs::copy(folder_, copy, fs::copy_options::recursive);
    return copy;
  }

  /// Goes on as if the process had been killed and started again.
  void crash() {
    const auto copy = crash_copy();
    store_.reset();
    folder_ = copy;
    open();
  }

  SeriesId intern(const std::string& name, std::map<std::string, std::string> labels = {}) {
    const auto id = store_->intern({name, std::move(labels)}, "W");
    EXPECT_TRUE(id.ok()) << id.error().text();
    return *id;
  }

  AppendOutcome append(const std::vector<SeriesSample>& samples) {
    const auto outcome = store_->append(samples);
    EXPECT_TRUE(outcome.ok()) << outcome.error().text();
    return outcome.ok() ? *outcome : AppendOutcome{};
  }

  /// `count` points a second apart; their values are multiples of 1/8.
  void append_seconds(SeriesId id, std::int64_t from_ns, int count, ExpectedSeries* expected = nullptr) {
    std::vector<SeriesSample> samples;
    for (int i = 0; i < count; ++i) {
      const double value = static_cast<double>(random_() % 4096) / 8;
      samples.push_back({id, from_ns + i * kSecondNs, value});
      if (expected) expected->put(samples.back().time_ns, value);
    }
    EXPECT_EQ(append(samples).accepted, static_cast<std::size_t>(count));
  }

  void maintain() {
    for (bool more = true; more;) {
      const auto outcome = store_->maintain(clock_.wall());
      ASSERT_TRUE(outcome.ok()) << outcome.error().text();
      more = outcome->more;
    }
  }

  std::vector<TimedValue> points(SeriesId id, TimeRange range = {}) {
    const auto answer = store_->points(id, range, 1'000'000);
    EXPECT_TRUE(answer.ok()) << answer.error().text();
    if (!answer.ok()) return {};
    EXPECT_FALSE(answer->more);
    return answer->points;
  }

  SeriesAnswer query(const SeriesQuery& query) {
    auto answer = store_->query(query);
    EXPECT_TRUE(answer.ok()) << answer.error().text();
    return answer.ok() ? std::move(answer).value() : SeriesAnswer{};
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path() / "telemetry";
  ManualClock clock_{WallTime(Nanos(kStart + 24 * kHourNs))};
  SeriesStoreOptions options_;
  std::unique_ptr<SeriesStore> store_;
  std::mt19937_64 random_{11};
  int copies_ = 0;
};

}  // namespace assay
