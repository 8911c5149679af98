#include "store/series/packed_points.h"

#include <algorithm>

#include "base/assert.h"

namespace assay {
namespace {

/// Ten bytes for a time, twelve for a value.
constexpr std::size_t kLongestPoint = 22;

}  // namespace

void PackedPoints::append(std::int64_t time_ns, double value) {
  // Doubling would waste a quarter of the head's memory.
  if (bytes_.capacity() - bytes_.size() < kLongestPoint) bytes_.reserve(bytes_.size() + bytes_.size() / 4 + 64);
  if (count_ == 0) {
    first_ = time_ns;
    last_delta_ = 0;
  } else {
    ASSAY_ASSERT(time_ns > last_);
    const std::int64_t delta = time_ns - last_;
    put_varint(bytes_, zigzag(static_cast<std::uint64_t>(delta - last_delta_)));
    last_delta_ = delta;
  }
  coder_.put(bytes_, value);
  last_ = time_ns;
  last_value_ = value;
  ++count_;
}

void PackedPoints::merge(std::span<const TimedValue> points) {
  const auto old = unpack();
  std::vector<TimedValue> all;
  all.reserve(old.size() + points.size());
  const auto take = [&](const TimedValue& point) {
    if (!all.empty() && all.back().time_ns == point.time_ns) {
      all.back() = point;
    } else {
      all.push_back(point);
    }
  };
  auto before = old.begin();
  for (const auto& point : points) {
    // Those of the same time come first, and are replaced.
    while (before != old.end() && before->time_ns <= point.time_ns) take(*before++);
    take(point);
  }
  while (before != old.end()) take(*before++);
  assign(all);
}

void PackedPoints::assign(const std::vector<TimedValue>& points) {
  clear();
  for (const auto& point : points) append(point.time_ns, point.value);
}

std::vector<TimedValue> PackedPoints::unpack() const {
  std::vector<TimedValue> points;
  points.reserve(count_);
  ByteReader reader(bytes_);
  ValueCoder coder;
  std::int64_t time = first_;
  std::int64_t delta = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (i > 0) {
      delta += static_cast<std::int64_t>(unzigzag(reader.varint()));
      time += delta;
    }
    points.push_back({time, coder.get(reader)});
  }
  ASSAY_ASSERT(reader.ok() && reader.rest().empty());
  return points;
}

void PackedPoints::clear() { *this = PackedPoints(); }

}  // namespace assay
