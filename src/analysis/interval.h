#pragma once

namespace assay {

/// A range that holds the true value with probability `confidence`.
struct Interval {
  double low = 0;
  double high = 0;
  double confidence = 0.95;
  bool contains(double value) const { return low <= value && value <= high; }
  bool operator==(const Interval&) const = default;
};

}  // namespace assay
