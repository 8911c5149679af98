#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace assay::engine {

/// Draws 0 … n−1 with given probabilities in constant time (A. J. Walker's method as told by M. D. Vose, IEEE TSE 17,
/// 1991). Each draw is one `bits64`. Const and thread-safe.
class AliasTable {
 public:
  /// `weights`: at least one, none negative, a positive sum; they need not add up to 1.
  explicit AliasTable(std::span<const double> weights);

  std::uint32_t draw(Random& random) const {
    const double place = random.uniform() * static_cast<double>(cells_.size());
    // Rounding may reach n itself.
    const std::size_t cell = place < static_cast<double>(cells_.size()) ? static_cast<std::size_t>(place) : 0;
    return place - static_cast<double>(cell) < cells_[cell].share ? static_cast<std::uint32_t>(cell)
                                                                  : cells_[cell].other;
  }

 private:
  /// Each cell is equally likely; within it, `share` is its own number's part and the rest belongs to `other`.
  struct Cell {
    double share = 1;
    std::uint32_t other = 0;
  };
  std::vector<Cell> cells_;
};

/// −Σ p·ln p in nats of weights that need not add up to 1; the same on every platform.
double entropy(std::span<const double> weights);

}  // namespace assay::engine
