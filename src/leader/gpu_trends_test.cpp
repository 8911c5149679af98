#include "leader/gpu_trends.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "store/memory/series_memory.h"

namespace assay {
namespace {

constexpr Nanos kWeek = std::chrono::hours(24 * 7);

/// A GPU over some weeks, a reading for each hour: more power is more heat, and every week is a degree hotter at equal
/// power.
void add_weeks(SeriesStore& store, const std::string& gpu, WallTime begin, int weeks) {
  const std::map<std::string, std::string> labels = {{"node", "gpu01"}, {"gpu", gpu}};
  const auto temperature = store.intern(SeriesKey{.name = "gpu.temperature_c", .labels = labels}, "°C");
  const auto power = store.intern(SeriesKey{.name = "gpu.power_w", .labels = labels}, "W");
  ASSERT_TRUE(temperature.ok());
  ASSERT_TRUE(power.ok());
  for (int hour = 0; hour < weeks * 168; ++hour) {
    const auto time_ns = (begin + std::chrono::hours(hour)).time_since_epoch().count();
    const double watts = 200 + 40.0 * (hour % 13);
    const double degrees = 25 + 0.06 * watts + hour / 168.0 + 0.2 * (hour % 5);
    const std::array samples = {SeriesSample{.series = *temperature, .time_ns = time_ns, .value = degrees},
                                SeriesSample{.series = *power, .time_ns = time_ns, .value = watts}};
    ASSERT_TRUE(store.append(samples).ok());
  }
}

TEST(TrendVerdicts, AreReadOnceAnHourAndHaveNoWeeks) {
  ManualClock clock;
  SeriesMemory store(clock);
  add_weeks(store, "GPU-1", clock.wall() - 6 * kWeek, 6);

  const auto whole = gpu_trends(store, "gpu01", clock.wall());
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE(whole->at("GPU-1").weeks.empty());

  TrendVerdicts verdicts(store, clock);
  const auto first = verdicts.of("gpu01");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->at("GPU-1").verdict, TrendVerdict::hotter) << first->at("GPU-1").why;
  EXPECT_EQ(first->at("GPU-1").why, whole->at("GPU-1").why);
  EXPECT_TRUE(first->at("GPU-1").weeks.empty());
  EXPECT_TRUE(verdicts.of("gpu02")->empty());

  add_weeks(store, "GPU-2", clock.wall() - 6 * kWeek, 6);
  EXPECT_EQ(verdicts.of("gpu01")->size(), 1U) << "it is still that hour";
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(verdicts.of("gpu01")->size(), 2U);
}

}  // namespace
}  // namespace assay
