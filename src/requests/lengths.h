#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace assay {

/// A distribution of numbers of tokens. Immutable; any thread.
class Lengths {
 public:
  /// From the smallest to the largest number that may come out; draws outside are moved to the nearer end.
  struct Bounds {
    std::uint32_t least = 1;
    std::uint32_t most = 10'000'000;
  };

  static Lengths fixed(std::uint32_t tokens);
  /// Every number of the bounds equally often. Error (`bad_spec`): they are the wrong way round.
  static Result<Lengths> uniform(Bounds bounds);
  /// Errors (`bad_spec`): a deviation below 0, a mean outside the bounds, bounds the wrong way round.
  static Result<Lengths> normal(double mean, double deviation, Bounds bounds);
  /// Mean and deviation are those of the lengths, not of their logarithm; the mean must be above 0.
  static Result<Lengths> lognormal(double mean, double deviation, Bounds bounds);
  /// As often as they stand in the list. Error (`bad_spec`): it is empty.
  static Result<Lengths> histogram(std::vector<std::uint32_t> seen);

  /// Takes at most two 64-bit numbers from `random`.
  std::uint32_t draw(Random& random) const;
  /// Before what the bounds cut off.
  double mean() const;

 private:
  enum class Shape { fixed, uniform, normal, lognormal, histogram };
  static Result<void> check(double mean, double deviation, Bounds bounds);

  Shape shape_ = Shape::fixed;
  Bounds bounds_;
  double mean_ = 0;
  double first_ = 0;   ///< of normal: the mean; of lognormal: mu
  double second_ = 0;  ///< of normal: the deviation; of lognormal: sigma
  std::vector<std::uint32_t> seen_;
};

}  // namespace assay
