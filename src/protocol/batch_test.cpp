#include "protocol/batch.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

constexpr std::int64_t kStart = 1'760'000'000'000'000'000;

WallTime at(std::int64_t second) { return WallTime(Nanos(kStart + second * 1'000'000'000)); }

Reading reading_of(const std::vector<std::pair<std::string, double>>& values) {
  Reading reading;
  for (const auto& [name, value] : values) {
    reading.samples.push_back({.key = {.name = name, .labels = {{"gpu", "GPU-1"}}}, .unit = "W", .value = value});
  }
  return reading;
}

Batch round_trip(const Batch& batch) {
  auto decoded = decode_batch(encode_batch(batch));
  EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().text());
  return decoded ? std::move(*decoded) : Batch{};
}

TEST(Batch, EveryPartComesBack) {
  Batch batch{.stream = "k3", .sequence = 7, .first_series = 2};
  batch.series = {{.key = {.name = "gpu.power_w", .labels = {{"gpu", "GPU-1"}}}, .unit = "W"}};
  batch.samples = {{.series = 2, .time_ns = kStart, .value = 345.6}, {.series = 0, .time_ns = kStart, .value = -1}};
  batch.events = {{.time = at(1), .kind = "xid", .about = "GPU-1", .message = "fell off", .values = {{"xid", 79}}}};
  batch.devices = {{.id = "GPU-1", .facts = {{"name", "NVIDIA H200"}}}};
  batch.processes = {{.gpu = "GPU-1", .pid = 42, .memory_bytes = 1 << 20}};
  const Batch back = round_trip(batch);
  EXPECT_EQ(back.stream, "k3");
  EXPECT_EQ(back.sequence, 7U);
  EXPECT_EQ(back.first_series, 2U);
  EXPECT_EQ(back.series, batch.series);
  ASSERT_EQ(back.samples.size(), 2U);
  EXPECT_EQ(back.samples[0].series, 2U);
  EXPECT_EQ(back.samples[1].series, 0U);
  EXPECT_EQ(back.samples[1].value, -1);
  EXPECT_EQ(back.events, batch.events);
  EXPECT_EQ(back.devices, batch.devices);
  EXPECT_EQ(back.processes, batch.processes);
}

TEST(Batch, EveryBitOfAValueComesBack) {
  const double limits[] = {0.0,
                           -0.0,
                           0.1,
                           1e300,
                           -1e-300,
                           std::numeric_limits<double>::infinity(),
                           9007199254740993.0,
                           1e12,
                           1e11 + 0.5,
                           1e-3,
                           -999.999,
                           std::numeric_limits<double>::quiet_NaN()};
  Batch batch{.stream = "s", .sequence = 1};
  for (const double value : limits) batch.samples.push_back({.series = 1, .time_ns = kStart, .value = value});
  Random random(1, "values");
  for (int i = 0; i < 1000; ++i) {
    batch.samples.push_back({.series = static_cast<std::uint32_t>(random.below(kMaxBatchSeries)),
                             .time_ns = static_cast<std::int64_t>(random.bits64()),
                             .value = std::bit_cast<double>(random.bits64())});
  }
  const Batch back = round_trip(batch);
  ASSERT_EQ(back.samples.size(), batch.samples.size());
  for (std::size_t i = 0; i < back.samples.size(); ++i) {
    EXPECT_EQ(back.samples[i].series, batch.samples[i].series);
    EXPECT_EQ(back.samples[i].time_ns, batch.samples[i].time_ns);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back.samples[i].value),
              std::bit_cast<std::uint64_t>(batch.samples[i].value));
  }
}

TEST(Batch, UsualReadingsAreSmall) {
  Batch batch{.stream = "s", .sequence = 1};
  for (std::uint32_t i = 0; i < 320; ++i) batch.samples.push_back({.series = i, .time_ns = kStart, .value = i * 0.5});
  EXPECT_LT(encode_batch(batch).size(), 320U * 4);
}

TEST(Batch, AnyCutIsAnError) {
  Batch batch{.stream = "s", .sequence = 1};
  batch.series = {{.key = {.name = "a", .labels = {}}, .unit = ""}};
  batch.samples = {{.series = 0, .time_ns = kStart, .value = 0.123456789}};
  batch.processes.emplace();
  const std::string bytes = encode_batch(batch);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_batch(bytes.substr(0, size))) << size;
  EXPECT_FALSE(decode_batch(bytes + '\0'));
}

TEST(Batch, ANewerFormatIsNamed) {
  std::string bytes = encode_batch({.stream = "s", .sequence = 1});
  bytes[0] = 9;
  const auto decoded = decode_batch(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().kind, ErrorKind::unsupported);
}

TEST(Batch, FramesComeApartAgain) {
  std::string body;
  append_framed(body, "one");
  append_framed(body, "");
  append_framed(body, std::string(300, 'x'));
  std::string_view rest = body;
  EXPECT_EQ(take_framed(rest), "one");
  EXPECT_EQ(take_framed(rest), "");
  EXPECT_EQ(take_framed(rest), std::string(300, 'x'));
  EXPECT_EQ(take_framed(rest), std::nullopt);
  EXPECT_TRUE(rest.empty());
  rest = std::string_view(body).substr(0, 3);
  EXPECT_EQ(take_framed(rest), std::nullopt);
  EXPECT_FALSE(rest.empty()) << "a torn frame must be told from the end";
}

TEST(BatchBuilder, NamesASeriesOnce) {
  BatchBuilder builder("s1");
  builder.add(at(0), reading_of({{"a", 1}, {"b", 2}}));
  const Batch first = builder.take();
  EXPECT_EQ(first.sequence, 1U);
  EXPECT_EQ(first.first_series, 0U);
  EXPECT_EQ(first.series.size(), 2U);
  builder.add(at(1), reading_of({{"b", 3}, {"c", 4}}));
  const Batch second = builder.take();
  EXPECT_EQ(second.sequence, 2U);
  EXPECT_EQ(second.first_series, 2U);
  ASSERT_EQ(second.series.size(), 1U);
  EXPECT_EQ(second.series[0].key.name, "c");
  ASSERT_EQ(second.samples.size(), 2U);
  EXPECT_EQ(second.samples[0].series, 1U);
  EXPECT_EQ(second.samples[1].series, 2U);
  EXPECT_EQ(builder.names().size(), 3U);
}

TEST(BatchBuilder, SourcesTakeTurnsInAnyOrder) {
  BatchBuilder builder("s1");
  for (int second = 0; second < 3; ++second) {
    const bool swapped = second == 1;
    builder.add(at(second), reading_of(swapped ? std::vector<std::pair<std::string, double>>{{"c", 3}}
                                               : std::vector<std::pair<std::string, double>>{{"a", 1}, {"b", 2}}));
    builder.add(at(second), reading_of(swapped ? std::vector<std::pair<std::string, double>>{{"a", 1}, {"b", 2}}
                                               : std::vector<std::pair<std::string, double>>{{"c", 3}}));
  }
  const Batch batch = builder.take();
  EXPECT_EQ(batch.series.size(), 3U);
  ASSERT_EQ(batch.samples.size(), 9U);
  for (const auto& sample : batch.samples) {
    const std::string& name = batch.series[sample.series].key.name;
    EXPECT_EQ(sample.value, name == "a" ? 1 : name == "b" ? 2 : 3);
  }
}

TEST(BatchBuilder, SamplesAreInOrderOfTime) {
  BatchBuilder builder("s1");
  builder.add(at(2), reading_of({{"a", 2}}));
  builder.add(at(1), reading_of({{"b", 1}}));
  const Batch batch = builder.take();
  ASSERT_EQ(batch.samples.size(), 2U);
  EXPECT_LT(batch.samples[0].time_ns, batch.samples[1].time_ns);
}

TEST(BatchBuilder, TooManySeriesAreCountedNotKept) {
  BatchBuilder builder("s1");
  Reading reading;
  for (std::size_t i = 0; i < kMaxBatchSeries + 5; ++i) {
    reading.samples.push_back({.key = {.name = "m" + std::to_string(i), .labels = {}}, .unit = "", .value = 1});
  }
  builder.add(at(0), std::move(reading));
  EXPECT_EQ(builder.dropped(), 5U);
  EXPECT_EQ(builder.take().samples.size(), kMaxBatchSeries);
}

}  // namespace
}  // namespace assay
