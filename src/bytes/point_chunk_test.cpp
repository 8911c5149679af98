#include "bytes/point_chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace assay {
namespace {

constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

std::string encoded(const std::vector<SeriesPoint>& points) {
  std::string bytes;
  encode_chunk(points, bytes);
  return bytes;
}

void expect_same(const std::vector<SeriesPoint>& expected, const std::vector<SeriesPoint>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].time_ns, actual[i].time_ns) << "point " << i;
    ASSERT_EQ(expected[i].step, actual[i].step) << "point " << i;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(expected[i].value), std::bit_cast<std::uint64_t>(actual[i].value))
        << "point " << i;
  }
}

void expect_round_trip(const std::vector<SeriesPoint>& points) {
  const auto decoded = decode_chunk(encoded(points));
  ASSERT_TRUE(decoded.ok()) << decoded.error().text();
  expect_same(points, *decoded);
}

std::vector<SeriesPoint> with_values(const std::vector<double>& values) {
  std::vector<SeriesPoint> points;
  for (const double value : values) {
    points.push_back({.time_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(points.size()) * 1'000'000'000,
                      .step = kNoStep,
                      .value = value});
  }
  return points;
}

TEST(Chunk, KeepsOnePoint) { expect_round_trip({{.time_ns = 5, .step = 7, .value = 0.5}}); }

TEST(Chunk, KeepsEverySpecialValueBitForBit) {
  const auto nan_with_payload = std::bit_cast<double>(0x7FF800000000BEEFULL);
  const auto signalling_nan = std::bit_cast<double>(0xFFF0000000000001ULL);
  const double infinity = std::numeric_limits<double>::infinity();
  expect_round_trip(with_values({0.0, -0.0, infinity, -infinity, nan_with_payload, signalling_nan,
                                 std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
                                 std::numeric_limits<double>::lowest(), 9007199254740992.0, -9007199254740993.0, 0.1}));
  expect_round_trip(with_values({-0.0}));
  expect_round_trip(with_values({nan_with_payload}));
}

TEST(Chunk, KeepsExtremeTimesAndSteps) {
  expect_round_trip({{.time_ns = kMin, .step = kMax, .value = 1},
                     {.time_ns = kMax, .step = kMin, .value = 2},
                     {.time_ns = 0, .step = kNoStep, .value = 3},
                     {.time_ns = kMin, .step = 0, .value = 4}});
}

TEST(Chunk, ASharedScaleIsCheckedForEveryValue) {
  // 0.125 needs three decimals; 4503599627370497 is whole but not exact at that scale.
  expect_round_trip(with_values({4503599627370497.0, 0.125}));
  // -0.0 is equal to 0 but has other bits.
  expect_round_trip(with_values({1.5, -0.0, 2.5}));
}

TEST(Chunk, RegularTelemetryTakesLessThanOneBytePerPoint) {
  std::mt19937_64 random(7);
  std::vector<double> values;
  for (std::size_t i = 0; i < kChunkPoints; ++i) values.push_back(static_cast<double>(random() % 16) / 10 + 40);
  const auto points = with_values(values);
  expect_round_trip(points);
  EXPECT_LT(encoded(points).size(), kChunkPoints);
}

TEST(Chunk, RandomPointsRoundTrip) {
  std::mt19937_64 random(42);
  for (int round = 0; round < 2000; ++round) {
    std::vector<SeriesPoint> points(1 + random() % kChunkPoints);
    const auto mode = random() % 4;
    std::int64_t time = static_cast<std::int64_t>(random() >> 1);
    for (auto& point : points) {
      time += static_cast<std::int64_t>(random() % 1'000'000);
      point.time_ns = mode == 0 ? std::bit_cast<std::int64_t>(random()) : time;
      point.step = mode == 1 ? kNoStep : std::bit_cast<std::int64_t>(random() >> (random() % 64));
      switch (mode) {
        case 0: point.value = std::bit_cast<double>(random()); break;
        case 1: point.value = static_cast<double>(random() % 100'000) / 1000; break;
        case 2: point.value = static_cast<double>(static_cast<float>(random() % 997) / 31.0F); break;
        default: point.value = std::exp(static_cast<double>(random() % 1000) / 100); break;
      }
    }
    expect_round_trip(points);
    if (HasFatalFailure()) return;
  }
}

TEST(Chunk, EveryTruncationIsAnError) {
  for (const auto& points : {with_values({1, 2, 3, 4.25}), with_values(std::vector<double>(300, M_PI)),
                             with_values({0.1 + 0.2, std::nan(""), 1e300})}) {
    const auto bytes = encoded(points);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(decode_chunk(std::string_view(bytes).substr(0, length)).ok()) << length << " of " << bytes.size();
    }
    EXPECT_FALSE(decode_chunk(bytes + '\0').ok());
  }
}

TEST(Chunk, CorruptedBytesNeverCrashAndStayBounded) {
  std::mt19937_64 random(3);
  const std::vector<std::string> originals = {encoded(with_values({1, 2, 3, 4.25})),
                                              encoded(with_values(std::vector<double>(512, 0.1 + 0.2))),
                                              encoded(with_values({0.1 + 0.2, std::nan(""), 1e300}))};
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = originals[random() % originals.size()];
    for (auto changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto decoded = decode_chunk(bytes);
    if (decoded.ok()) {
      ASSERT_LE(decoded->size(), kChunkPoints);
    } else {
      ASSERT_EQ(decoded.error().kind, ErrorKind::bad_file);
    }
  }
}

TEST(Chunk, RefusesCountsThatCannotBe) {
  EXPECT_FALSE(decode_chunk(std::string_view("\x40\x00", 2)).ok());              // none
  EXPECT_FALSE(decode_chunk(std::string_view("\x40\x81\x04\x00\x00", 5)).ok());  // 513
  EXPECT_FALSE(decode_chunk("\x40\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01").ok());
  EXPECT_FALSE(decode_chunk(std::string_view("\x47\x01\x00\x00", 4)).ok());  // no such coding
}

TEST(Chunk, RefusesACompressedBodyThatUnpacksToTooMuch) {
  const std::string zeros(1'000'000, '\0');
  std::string packed(ZSTD_compressBound(zeros.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), zeros.data(), zeros.size(), 1));
  ASSERT_LT(packed.size(), 1000U);
  const auto decoded = decode_chunk("\xC0\x01" + packed);
  ASSERT_FALSE(decoded.ok());
  EXPECT_THAT(decoded.error().message, testing::HasSubstr("buffer is too small"));
}

}  // namespace
}  // namespace assay
