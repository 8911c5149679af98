#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace assay {

/// Numbers that are the same on every platform, compiler and optimisation level: a counter-based generator
/// (Philox 4×32-10) with our own distributions, logarithm and exponential. One named stream per purpose, so that
/// drawing more numbers for one thing never changes another: `Random(seed, "arrivals")`.
/// Copyable; a copy continues independently with the same numbers. Not thread-safe.
class Random {
 public:
  Random(std::uint64_t seed, std::string_view purpose);

  std::uint32_t bits32();
  std::uint64_t bits64();
  /// Moves to the n-th block of four 32-bit numbers, in constant time.
  void skip_to(std::uint64_t block);

  double uniform();  ///< in (0, 1), 53 bits, never 0 or 1
  double uniform(double low, double high);
  std::uint64_t below(std::uint64_t bound);  ///< 0 … bound−1, without bias; bound > 0
  double exponential(double rate);           ///< mean 1/rate
  double normal(double mean, double standard_deviation);
  double lognormal(double mu, double sigma);  ///< of the underlying normal
  double gamma(double shape, double scale);   ///< mean shape·scale; any shape > 0

  /// Fisher–Yates.
  template <typename Range>
  void shuffle(Range& range) {
    for (std::size_t i = range.size(); i > 1; --i) {
      using std::swap;
      swap(range[i - 1], range[static_cast<std::size_t>(below(i))]);
    }
  }

 private:
  void refill();

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_{};
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
};

/// Natural logarithm and exponential, correct to 1 ulp and bit-identical everywhere (libm's differ between CPUs).
double portable_log(double x);
double portable_exp(double x);

}  // namespace assay
