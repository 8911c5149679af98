#include "bytes/point_chunk.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

#include "bytes/compress.h"
#include "bytes/scaled.h"
#include "bytes/varint.h"

// Layout: one byte of flags, the number of points, then the body (columns of times, steps and values), which is
// compressed as a whole where that makes it smaller.

namespace assay {
namespace {

constexpr std::uint8_t kNoSteps = 0x40;
constexpr std::uint8_t kCodingMask = 0x07;
/// Values below this are scaled by 10^coding; this one means XOR.
constexpr std::uint8_t kXorCoding = 4;

/// Ten bytes for a time, ten for a step, at most ten for a value.
constexpr std::size_t kMaxBody = kChunkPoints * 30;

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t unsigned_of(std::int64_t number) { return static_cast<std::uint64_t>(number); }

std::uint8_t choose_coding(std::span<const SeriesPoint> points) {
  std::uint8_t coding = 0;
  for (const auto& point : points) {
    while (coding < kXorCoding && !scales_exactly(point.value, kScales[coding])) ++coding;
    if (coding == kXorCoding) return coding;
  }
  // Raising the scale for a later value must not have broken an earlier one.
  for (const auto& point : points) {
    if (!scales_exactly(point.value, kScales[coding])) return kXorCoding;
  }
  return coding;
}

void put_times(std::string& body, std::span<const SeriesPoint> points) {
  std::uint64_t previous = 0;
  std::uint64_t previous_delta = 0;
  for (const auto& point : points) {
    const auto delta = unsigned_of(point.time_ns) - previous;
    put_varint(body, zigzag(delta - previous_delta));
    previous = unsigned_of(point.time_ns);
    // The first delta is the absolute time: no use as a prediction.
    previous_delta = &point == &points.front() ? 0 : delta;
  }
}

void put_steps(std::string& body, std::span<const SeriesPoint> points) {
  std::uint64_t previous = 0;
  for (const auto& point : points) {
    put_varint(body, zigzag(unsigned_of(point.step) - previous));
    previous = unsigned_of(point.step);
  }
}

void put_scaled_values(std::string& body, std::span<const SeriesPoint> points, double scale) {
  std::uint64_t previous = 0;
  for (const auto& point : points) {
    const auto number = unsigned_of(std::llrint(point.value * scale));
    put_varint(body, zigzag(number - previous));
    previous = number;
  }
}

/// One byte (low: how many bytes follow, high: how many zero bytes are below them), then those bytes: a float that
/// was widened to double has three zero bytes at its end.
void put_xor_values(std::string& body, std::span<const SeriesPoint> points) {
  std::uint64_t previous = 0;
  for (const auto& point : points) {
    const auto difference = bits_of(point.value) ^ previous;
    previous = bits_of(point.value);
    if (difference == 0) {
      body.push_back(0);
      continue;
    }
    const unsigned low = static_cast<unsigned>(std::countr_zero(difference)) / 8;
    const unsigned count = 8 - low - static_cast<unsigned>(std::countl_zero(difference)) / 8;
    body.push_back(static_cast<char>(low << 4 | count));
    put_fixed(body, difference >> (8 * low), count);
  }
}

void get_times(ByteReader& reader, std::span<SeriesPoint> points) {
  std::uint64_t time = 0;
  std::uint64_t delta = 0;
  for (auto& point : points) {
    delta += unzigzag(reader.varint());
    time += delta;
    point.time_ns = static_cast<std::int64_t>(time);
    if (&point == &points.front()) delta = 0;
  }
}

void get_steps(ByteReader& reader, std::span<SeriesPoint> points) {
  std::uint64_t step = 0;
  for (auto& point : points) {
    step += unzigzag(reader.varint());
    point.step = static_cast<std::int64_t>(step);
  }
}

void get_scaled_values(ByteReader& reader, std::span<SeriesPoint> points, double scale) {
  std::uint64_t number = 0;
  for (auto& point : points) {
    number += unzigzag(reader.varint());
    point.value = static_cast<double>(static_cast<std::int64_t>(number)) / scale;
  }
}

bool get_xor_values(ByteReader& reader, std::span<SeriesPoint> points) {
  std::uint64_t bits = 0;
  for (auto& point : points) {
    const unsigned head = reader.byte();
    const unsigned low = head >> 4;
    const unsigned count = head & 0x0F;
    if (low + count > 8 || (count == 0 && low != 0)) return false;
    if (count > 0) bits ^= reader.fixed(count) << (8 * low);
    point.value = std::bit_cast<double>(bits);
  }
  return true;
}

Error damaged(std::string_view what) {
  return Error{.kind = ErrorKind::bad_file, .message = fmt::format("damaged chunk of points: {}", what)};
}

}  // namespace

void encode_chunk(std::span<const SeriesPoint> points, std::string& out) {
  ASSAY_ASSERT(!points.empty() && points.size() <= kChunkPoints);
  thread_local std::string body;
  body.clear();
  std::uint8_t flags = choose_coding(points);
  put_times(body, points);
  bool has_steps = false;
  for (const auto& point : points) has_steps = has_steps || point.step != kNoStep;
  if (has_steps) {
    put_steps(body, points);
  } else {
    flags |= kNoSteps;
  }
  if (const auto coding = flags & kCodingMask; coding == kXorCoding) {
    put_xor_values(body, points);
  } else {
    put_scaled_values(body, points, kScales[static_cast<std::size_t>(coding)]);
  }

  std::array<char, kMaxBody> scratch;
  put_packed(out, flags, points.size(), body, scratch);
}

Result<std::vector<SeriesPoint>> decode_chunk(std::string_view bytes) {
  ByteReader head(bytes);
  const auto flags = head.byte();
  const auto count = head.varint();
  const auto coding = static_cast<std::uint8_t>(flags & kCodingMask);
  if (!head.ok() || (flags & ~(kPackedCompressed | kNoSteps | kCodingMask)) != 0 || coding > kXorCoding) {
    return damaged("unknown form");
  }
  if (count == 0 || count > kChunkPoints) return damaged(fmt::format("{} points", count));

  std::array<char, kMaxBody> scratch;
  const auto body = packed_body(head.rest(), flags, scratch);
  if (!body.ok()) return damaged(body.error().message);

  std::vector<SeriesPoint> points(count);
  ByteReader reader(*body);
  get_times(reader, points);
  if (!(flags & kNoSteps)) get_steps(reader, points);
  if (coding < kXorCoding) {
    get_scaled_values(reader, points, kScales[coding]);
  } else if (!get_xor_values(reader, points)) {
    return damaged("impossible value");
  }
  if (!reader.ok()) return damaged("it ends too early");
  if (!reader.rest().empty()) return damaged("it goes on after its last point");
  return points;
}

}  // namespace assay
