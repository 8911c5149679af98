#include "base/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kTime{std::chrono::sys_days(std::chrono::year(2026) / 11 / 15) + 4h + 5min + 6s + 789ms};

TEST(Clock, WritesUtcWithMilliseconds) {
  EXPECT_EQ(iso8601(kTime), "2026-11-15T04:05:06.789Z");
  EXPECT_EQ(iso8601(kTime + 999us), "2026-11-15T04:05:06.789Z");
  EXPECT_EQ(iso8601(WallTime{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso8601(WallTime(-1ms)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(iso8601(WallTime::max()), "2262-04-11T23:47:16.854Z");
}

TEST(Clock, ReadsWhatItWrites) {
  EXPECT_EQ(*parse_iso8601(iso8601(kTime)), kTime);
  EXPECT_EQ(*parse_iso8601("2026-11-15T04:05:06Z"), kTime - 789ms);
  EXPECT_EQ(*parse_iso8601("2026-11-15T04:05:06.789000001Z"), kTime + 1ns);
  EXPECT_EQ(*parse_iso8601("2026-11-15T04:05:06.7Z"), kTime - 89ms);
  EXPECT_EQ(*parse_iso8601("1969-12-31T23:59:59.999Z"), WallTime(-1ms));
  EXPECT_EQ(*parse_iso8601("2024-02-29T00:00:00Z"), WallTime(std::chrono::sys_days(std::chrono::year(2024) / 2 / 29)));
  EXPECT_EQ(*parse_iso8601("2016-12-31T23:59:60Z"), *parse_iso8601("2017-01-01T00:00:00Z"));  // a leap second
}

TEST(Clock, RefusesOtherForms) {
  for (const std::string_view text : {"",
                                      "Z",
                                      "noon",
                                      "2026-11-15",
                                      "2026-11-15T04:05:06",
                                      "2026-11-15T04:05:06+01:00",
                                      "2026-11-15 04:05:06Z",
                                      "2026-11-15T04:05:06.Z",
                                      "2026-11-15T04:05:06.1234567890Z",
                                      "2026-11-15T04:05:06.12xZ",
                                      "2026-11-15T04:05:06ZZ",
                                      " 2026-11-15T04:05:06Z",
                                      "2026-1-15T04:05:06Z",
                                      "2026-11-15T-1:05:06Z",
                                      "2026-11-15T+4:05:06Z",
                                      "2026-13-15T04:05:06Z",
                                      "2026-02-29T04:05:06Z",
                                      "2026-11-15T24:05:06Z",
                                      "2026-11-15T04:60:06Z",
                                      "2026-11-15T04:05:61Z",
                                      "9999-11-15T04:05:06Z",
                                      "0001-01-01T00:00:00Z"}) {
    const auto time = parse_iso8601(text);
    ASSERT_FALSE(time.ok()) << text;
    EXPECT_EQ(time.error().kind, ErrorKind::bad_file);
    EXPECT_EQ(time.error().message, "'" + std::string(text) + "' is not a time like 2026-11-15T04:05:06Z");
  }
}

TEST(Clock, LocalTimeFollowsTheTimeZone) {
  const char* before = std::getenv("TZ");
  const std::string kept = before ? before : "";
  ::setenv("TZ", "UTC-2", 1);  // POSIX: two hours east
  ::tzset();
  EXPECT_EQ(local_time(kTime), "2026-11-15 06:05:06");
  if (before) {
    ::setenv("TZ", kept.c_str(), 1);
  } else {
    ::unsetenv("TZ");
  }
  ::tzset();
}

TEST(Clock, TheManualClockMovesOnlyWhenTold) {
  ManualClock clock(kTime);
  const auto start = clock.now();
  EXPECT_EQ(clock.now(), start);
  EXPECT_EQ(clock.wall(), kTime);
  clock.advance(1500ms);
  EXPECT_EQ(clock.now() - start, 1500ms);
  EXPECT_EQ(clock.wall() - kTime, 1500ms);
}

TEST(Clock, ManyThreadsMoveOneManualClock) {
  ManualClock clock(kTime);
  const auto start = clock.now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int step = 0; step < 1000; ++step) {
          clock.advance(1ms);
          EXPECT_GE(clock.now(), start + 1ms);
        }
      });
    }
  }
  EXPECT_EQ(clock.now() - start, 4s);
  EXPECT_EQ(clock.wall() - kTime, 4s);
}

TEST(Clock, TheSystemClockNeverRunsBackwards) {
  const SystemClock clock;
  auto previous = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const auto now = clock.now();
    ASSERT_GE(now, previous);
    previous = now;
  }
  EXPECT_GT(clock.wall(), *parse_iso8601("2024-01-01T00:00:00Z"));
}

TEST(Clock, SecondsOfKeepsFractions) { EXPECT_EQ(seconds_of(1500ms), 1.5); }

}  // namespace
}  // namespace assay
