#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "store/series/bucket_codec.h"
#include "store/series/packed_points.h"
#include "store/series/values.h"

namespace assay {
namespace {

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

/// Values of the kinds that the coder treats differently, and those it might confuse.
double any_value(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0: return std::bit_cast<double>(random());
    case 1: return static_cast<double>(static_cast<float>(random() % 997) / 31.0F);
    case 2: return -0.0;
    case 3: return std::nan("");
    case 4: return std::numeric_limits<double>::infinity();
    case 5: return static_cast<double>(random() % 1'000'000) / 1000;
    case 6: return -static_cast<double>(random() >> 10);
    default: return static_cast<double>(random() % 5000) / 10;
  }
}

TEST(ValueCoder, EveryBitComesBackInAnyOrderOfKinds) {
  std::mt19937_64 random(5);
  std::vector<double> values;
  std::string bytes;
  ValueCoder writer;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(any_value(random));
    writer.put(bytes, values.back());
  }
  ByteReader in(bytes);
  ValueCoder reader;
  for (const double value : values) ASSERT_EQ(bits(reader.get(in)), bits(value));
  EXPECT_TRUE(in.ok() && in.rest().empty());
}

TEST(PackedPoints, HoldsPointsInOrderWhateverTheOrderTheyCameIn) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 50; ++round) {
    PackedPoints packed;
    std::map<std::int64_t, double> expected;
    std::int64_t time = static_cast<std::int64_t>(random() % kEndOfTime);
    for (int i = 0; i < 300; ++i) {
      time += kSecondNs;
      if (random() % 10 != 0) {
        expected[time] = any_value(random);
        packed.append(time, expected[time]);
        continue;
      }
      // Some together, of which two may have one time.
      std::vector<TimedValue> older;
      for (auto left = random() % 5; left > 0; --left) {
        older.push_back({time - static_cast<std::int64_t>(random() % 20) * kSecondNs, any_value(random)});
      }
      std::stable_sort(older.begin(), older.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
      packed.merge(older);
      for (const auto& point : older) expected[point.time_ns] = point.value;
    }
    const auto points = packed.unpack();
    ASSERT_EQ(points.size(), expected.size());
    ASSERT_EQ(packed.first_time(), expected.begin()->first);
    ASSERT_EQ(packed.last_time(), expected.rbegin()->first);
    auto next = expected.begin();
    for (const auto& point : points) {
      ASSERT_EQ(point.time_ns, next->first);
      ASSERT_EQ(bits(point.value), bits(next->second));
      ++next;
    }
  }
}

TEST(PackedPoints, ASteadySensorTakesAboutThreeBytesAPoint) {
  std::mt19937_64 random(7);
  PackedPoints packed;
  for (int i = 0; i < 512; ++i)
    packed.append(1'767'225'600 * kSecondNs + i * kSecondNs, 350 + static_cast<double>(random() % 200) / 10);
  EXPECT_LT(packed.bytes(), 512U * 3 + 32);
}

std::vector<SeriesBucket> any_buckets(std::mt19937_64& random) {
  std::vector<SeriesBucket> buckets(1 + random() % kRowBuckets);
  std::int64_t start = static_cast<std::int64_t>(random() % (1ULL << 60)) / kMinuteNs * kMinuteNs;
  for (auto& bucket : buckets) {
    start += kMinuteNs * static_cast<std::int64_t>(1 + random() % 3);
    bucket = {start,       any_value(random), any_value(random), any_value(random), random() >> (random() % 64),
              random() % 3};
  }
  return buckets;
}

TEST(BucketCodec, EveryBitComesBack) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 300; ++round) {
    const auto buckets = any_buckets(random);
    std::string bytes;
    encode_buckets(buckets, bytes);
    const auto decoded = decode_buckets(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().text();
    ASSERT_EQ(decoded->size(), buckets.size());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      ASSERT_EQ((*decoded)[i].start_ns, buckets[i].start_ns);
      ASSERT_EQ((*decoded)[i].count, buckets[i].count);
      ASSERT_EQ((*decoded)[i].nan_count, buckets[i].nan_count);
      ASSERT_EQ(bits((*decoded)[i].min), bits(buckets[i].min));
      ASSERT_EQ(bits((*decoded)[i].max), bits(buckets[i].max));
      ASSERT_EQ(bits((*decoded)[i].sum), bits(buckets[i].sum));
    }
  }
}

TEST(BucketCodec, EveryTruncationIsAnErrorAndDamageStaysBounded) {
  std::mt19937_64 random(9);
  std::string bytes;
  encode_buckets(any_buckets(random), bytes);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_buckets(std::string_view(bytes).substr(0, length)).ok()) << length;
  }
  for (int round = 0; round < 20000; ++round) {
    auto damaged = bytes;
    for (auto changes = 1 + random() % 4; changes > 0; --changes) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const auto decoded = decode_buckets(damaged);
    if (decoded.ok()) {
      ASSERT_LE(decoded->size(), kRowBuckets);
    }
  }
}

TEST(BucketSum, IsTheSameHoweverItIsCut) {
  std::mt19937_64 random(10);
  for (int round = 0; round < 200; ++round) {
    std::vector<TimedValue> points;
    for (int i = 0; i < 60; ++i) points.push_back({i * kSecondNs, 300 + static_cast<double>(random() % 1000) / 10});
    long double exact = 0;
    for (const auto& point : points) exact += static_cast<long double>(point.value);
    const auto minute = buckets_of(points, kMinuteNs).at(0);
    ASSERT_EQ(minute.sum, static_cast<double>(exact));
  }
}

TEST(BucketSum, SurvivesInfinitiesAndOverflow) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double huge = std::numeric_limits<double>::max();
  const auto sum_of = [](std::initializer_list<double> values) {
    BucketSum sum;
    for (const double value : values) sum.add(value);
    return sum.at(0);
  };
  EXPECT_EQ(sum_of({1, infinity, 2}).sum, infinity);
  EXPECT_TRUE(std::isnan(sum_of({infinity, -infinity}).sum));
  EXPECT_EQ(sum_of({infinity, -infinity}).min, -infinity);
  EXPECT_EQ(sum_of({huge, huge}).sum, infinity);
  EXPECT_EQ(sum_of({huge, huge}).max, huge);
}

}  // namespace
}  // namespace assay
