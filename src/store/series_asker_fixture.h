#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/bucket_answer.h"
#include "store/series_expected_fixture.h"
#include "store/series_store.h"

namespace assay {

/// A store of series with a clock of the test's, filled and asked in a few words; what fails fails the test.
class SeriesAsker {
 protected:
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

  ManualClock clock_{WallTime(Nanos(kStart + 24 * kHourNs))};
  std::unique_ptr<SeriesStore> store_;
  std::mt19937_64 random_{11};
};

}  // namespace assay
