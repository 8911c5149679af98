#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace assay {

/// One block of the Philox 4×32-10 generator (Salmon et al., SC11): a pure function of counter and key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// Numbers that are the same on every platform, compiler and optimisation level: a counter-based generator
/// (Philox 4×32-10) with our own distributions, logarithm and exponential. One named stream per purpose, so that
/// drawing more numbers for one thing never changes another: `Random(seed, "arrivals")`.
/// Copyable; a copy continues independently with the same numbers. Not thread-safe.
/// The numbers are a contract: a change makes old and new results incomparable and belongs into the changelog.
class Random {
 public:
  Random(std::uint64_t seed, std::string_view purpose);

  std::uint32_t bits32();
  std::uint64_t bits64();  ///< the next two 32-bit numbers, the first one high
  /// Moves to the n-th block of four 32-bit numbers, in constant time.
  void skip_to(std::uint64_t block);

  double uniform();                                       ///< in (0, 1), 53 bits, never 0 or 1; always one `bits64`
  double uniform(double low, double high);                ///< in [low, high]: rounding may reach the ends; low ≤ high
  std::uint64_t below(std::uint64_t bound);               ///< 0 … bound−1, without bias; bound > 0
  double exponential(double rate);                        ///< mean 1/rate; rate > 0
  double normal(double mean, double standard_deviation);  ///< always one `bits64`
  double lognormal(double mu, double sigma);              ///< of the underlying normal
  double gamma(double shape, double scale);  ///< mean shape·scale; both > 0; a tiny shape may underflow to 0

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
  std::uint64_t next_block_ = 0;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
};

}  // namespace assay
