#include "data/alias_table.h"

#include <limits>
#include <numeric>

#include "base/assert.h"
#include "base/portable_math.h"

namespace assay::engine {

AliasTable::AliasTable(std::span<const double> weights) : cells_(weights.size()) {
  ASSAY_ASSERT(!weights.empty() && weights.size() <= std::numeric_limits<std::uint32_t>::max());
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  ASSAY_ASSERT(total > 0);
  std::vector<double> scaled(weights.size());
  std::vector<std::uint32_t> below_mean;
  std::vector<std::uint32_t> above_mean;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    scaled[i] = weights[i] / total * static_cast<double>(weights.size());
    (scaled[i] < 1 ? below_mean : above_mean).push_back(static_cast<std::uint32_t>(i));
  }
  // What a rare number leaves free in its cell is filled by a frequent one.
  while (!below_mean.empty() && !above_mean.empty()) {
    const std::uint32_t rare = below_mean.back();
    const std::uint32_t frequent = above_mean.back();
    below_mean.pop_back();
    cells_[rare] = {scaled[rare], frequent};
    scaled[frequent] -= 1 - scaled[rare];
    if (scaled[frequent] < 1) {
      above_mean.pop_back();
      below_mean.push_back(frequent);
    }
  }
  // Whoever is left has a full cell but for rounding; the cells are made with a share of 1.
}

double entropy(std::span<const double> weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  for (const double weight : weights) {
    const double probability = weight / total;
    if (probability > 0) sum -= probability * portable_log(probability);
  }
  return sum;
}

}  // namespace assay::engine
