#include "telemetry/sensor/sensor_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

Sample sample(std::string name, double value, std::map<std::string, std::string> labels = {}) {
  return {.key = {.name = std::move(name), .labels = std::move(labels)}, .unit = "W", .value = value};
}

bool same(const Reading& a, const Reading& b) {
  const auto same_samples = std::equal(
      a.samples.begin(), a.samples.end(), b.samples.begin(), b.samples.end(),
      [](const Sample& x, const Sample& y) { return x.key == y.key && x.unit == y.unit && x.value == y.value; });
  return same_samples && a.missing == b.missing && a.events == b.events && a.devices == b.devices &&
         a.processes == b.processes;
}

Reading full_reading() {
  Reading reading;
  reading.samples = {sample("gpu.power_w", 512.5, {{"gpu", "GPU-1"}}), sample("gpu.power_w", -0.25, {{"gpu", "GPU-2"}}),
                     sample("host.load1", std::numeric_limits<double>::max())};
  reading.missing = {"gpu.fan"};
  reading.events = {{.time = WallTime(Nanos(1'700'000'000'123'456'789)),
                     .kind = "xid",
                     .about = "GPU-1",
                     .message = "XID 79",
                     .values = {{"xid", 79}}}};
  reading.devices = {{.id = "GPU-1", .facts = {{"name", "NVIDIA H200"}}}, {.id = "GPU-2", .facts = {}}};
  reading.processes = {{.gpu = "GPU-1", .pid = 4711, .memory_bytes = 1 << 30}, {.gpu = "GPU-2", .pid = 1}};
  return reading;
}

TEST(SensorProtocol, AReadingComesBackWhole) {
  SensorEncoder encoder;
  SensorDecoder decoder;
  for (std::uint32_t number = 1; number < 4; ++number) {
    std::string bytes;
    ASSERT_TRUE(encoder.encode(number, full_reading(), bytes).ok());
    decoder.append(bytes);
    auto answer = decoder.next();
    ASSERT_TRUE(answer.ok() && answer->has_value());
    EXPECT_EQ((*answer)->number, number);
    ASSERT_TRUE((*answer)->result.ok());
    EXPECT_TRUE(same(*(*answer)->result, full_reading()));
  }
}

TEST(SensorProtocol, NamesAreSentOnce) {
  SensorEncoder encoder;
  Reading reading;
  for (int gpu = 0; gpu < 8; ++gpu) {
    reading.samples.push_back(sample("gpu.power_w", 1, {{"gpu", "GPU-" + std::to_string(gpu)}}));
  }
  std::string first, second;
  ASSERT_TRUE(encoder.encode(1, reading, first).ok());
  ASSERT_TRUE(encoder.encode(2, reading, second).ok());
  EXPECT_NE(first.find("gpu.power_w"), std::string::npos);
  EXPECT_EQ(second.find("gpu.power_w"), std::string::npos);
  // A place and a double for each sample, and a head.
  EXPECT_LE(second.size(), 8 * 9 + 16U);
}

TEST(SensorProtocol, SamplesMayComeInAnyOrder) {
  SensorEncoder encoder;
  SensorDecoder decoder;
  Reading reading = full_reading();
  for (int i = 0; i < 6; ++i) {
    std::next_permutation(reading.samples.begin(), reading.samples.end(),
                          [](const Sample& a, const Sample& b) { return a.key < b.key; });
    std::string bytes;
    ASSERT_TRUE(encoder.encode(0, reading, bytes).ok());
    decoder.append(bytes);
    const auto answer = decoder.next();
    ASSERT_TRUE(answer.ok() && answer->has_value());
    EXPECT_TRUE(same(*(*answer)->result, reading));
  }
}

TEST(SensorProtocol, BytesMayComeOneByOne) {
  SensorEncoder encoder;
  SensorDecoder decoder;
  std::string bytes;
  ASSERT_TRUE(encoder.encode(7, full_reading(), bytes).ok());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto before = decoder.next();
    ASSERT_TRUE(before.ok());
    EXPECT_FALSE(before->has_value());
    decoder.append(bytes.substr(i, 1));
  }
  const auto answer = decoder.next();
  ASSERT_TRUE(answer.ok() && answer->has_value());
  EXPECT_TRUE(same(*(*answer)->result, full_reading()));
}

TEST(SensorProtocol, AFailureComesBackWithKindAndHint) {
  SensorEncoder encoder;
  SensorDecoder decoder;
  std::string bytes;
  const Error error{.kind = ErrorKind::no_device, .message = "no driver", .hint = "Install one."};
  ASSERT_TRUE(encoder.encode(9, Result<Reading>(error), bytes).ok());
  decoder.append(bytes);
  const auto answer = decoder.next();
  ASSERT_TRUE(answer.ok() && answer->has_value());
  ASSERT_FALSE((*answer)->result.ok());
  EXPECT_EQ((*answer)->result.error().kind, ErrorKind::no_device);
  EXPECT_EQ((*answer)->result.error().message, "no driver");
  EXPECT_EQ((*answer)->result.error().hint, "Install one.");
}

TEST(SensorProtocol, DamageIsAnError) {
  SensorEncoder encoder;
  std::string whole;
  ASSERT_TRUE(encoder.encode(7, full_reading(), whole).ok());
  int errors = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x40);
    SensorDecoder decoder;
    decoder.append(bytes);
    if (!decoder.next().ok()) ++errors;  // what changes a text or a value alone is not seen, and does no harm
  }
  EXPECT_GT(errors, 10);
  SensorDecoder decoder;
  decoder.append(std::string("\xFF\xFF\xFF\x7F\x02", 5));
  EXPECT_FALSE(decoder.next().ok()) << "too long";
}

TEST(SensorProtocol, AReadingOfSeriesThatWereNotNamedIsAnError) {
  SensorEncoder encoder;
  std::string first, second;
  ASSERT_TRUE(encoder.encode(1, full_reading(), first).ok());
  ASSERT_TRUE(encoder.encode(2, full_reading(), second).ok());
  SensorDecoder decoder;
  decoder.append(second);
  EXPECT_FALSE(decoder.next().ok());
}

TEST(SensorProtocol, ASourceCannotNameSeriesWithoutEnd) {
  SensorEncoder encoder;
  std::string bytes;
  Reading reading;
  for (std::size_t i = 0; i <= kMaxSensorSeries; ++i) reading.samples.push_back(sample("a" + std::to_string(i), 1));
  EXPECT_FALSE(encoder.encode(1, reading, bytes).ok());
}

TEST(SensorProtocol, RequestsComeBack) {
  const auto request = decode_sensor_request(encode_sensor_request({.everything = true, .number = 0xFEDCBA98}));
  ASSERT_TRUE(request.has_value());
  EXPECT_TRUE(request->everything);
  EXPECT_EQ(request->number, 0xFEDCBA98);
  EXPECT_FALSE(decode_sensor_request("x1234").has_value());
  EXPECT_FALSE(decode_sensor_request("r123").has_value());
}

}  // namespace
}  // namespace assay
