#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/series/values.h"

namespace assay {

/// The newest points of one series, in memory: two to three bytes each where readings come at a steady pace. With
/// hundreds of thousands of series that is what lets the head fit. Not thread-safe; copying is how readers take it
/// along.
class PackedPoints {
 public:
  /// `time_ns` is later than every time before; see `insert` for the rest.
  void append(std::int64_t time_ns, double value);
  /// In order of time, of equal times the last one counts; equal ones that are there are replaced. Costs unpacking
  /// everything where not all are newer, once.
  void merge(std::span<const TimedValue> points);
  void assign(const std::vector<TimedValue>& points);
  /// In order of time.
  std::vector<TimedValue> unpack() const;
  void clear();

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return bytes_.size(); }
  std::size_t memory() const { return bytes_.capacity(); }
  // Not of an empty one.
  std::int64_t first_time() const { return first_; }
  std::int64_t last_time() const { return last_; }
  double last_value() const { return last_value_; }

 private:
  std::string bytes_;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t last_delta_ = 0;
  double last_value_ = 0;
  ValueCoder coder_;
  std::uint32_t count_ = 0;
};

}  // namespace assay
