#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "data/alias_table.h"

namespace assay::engine {

/// A first-order Markov chain over a few symbols, made from a seed: 95 % of the time one of five likely successors of
/// a symbol follows it (fewer where there are fewer symbols), otherwise any symbol. So every symbol can be reached from
/// every other, and the stationary distribution exists. Const and thread-safe once made.
class MarkovChain {
 public:
  MarkovChain(std::uint64_t seed, std::size_t symbols);

  std::size_t symbols() const { return symbols_; }
  double probability(std::size_t from, std::size_t to) const { return transitions_[from * symbols_ + to]; }
  std::span<const double> stationary() const { return stationary_; }
  /// Mean entropy of the next symbol once the current one is known, in nats.
  double entropy_rate() const { return entropy_rate_; }

  std::uint32_t draw_first(Random& random) const { return first_.draw(random); }  ///< from the stationary distribution
  std::uint32_t draw_next(std::uint32_t from, Random& random) const { return next_[from].draw(random); }

 private:
  std::span<const double> row(std::size_t from) const {
    return std::span(transitions_).subspan(from * symbols_, symbols_);
  }

  std::size_t symbols_;
  std::vector<double> transitions_;  // row by row
  std::vector<double> stationary_;
  double entropy_rate_ = 0;
  AliasTable first_;
  std::vector<AliasTable> next_;
};

}  // namespace assay::engine
