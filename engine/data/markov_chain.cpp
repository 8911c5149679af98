#include "data/markov_chain.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace assay::engine {
namespace {

constexpr std::size_t kLikelySuccessors = 5;
constexpr double kAnySymbol = 0.05;

std::vector<double> make_transitions(std::uint64_t seed, std::size_t symbols) {
  ASSAY_ASSERT(symbols > 0);
  Random random(seed, "data.markov-text.transitions");
  std::vector<double> transitions(symbols * symbols, kAnySymbol / static_cast<double>(symbols));
  std::vector<std::size_t> candidates(symbols);
  std::iota(candidates.begin(), candidates.end(), std::size_t{0});
  const std::size_t likely = std::min(kLikelySuccessors, symbols);
  for (std::size_t from = 0; from < symbols; ++from) {
    random.shuffle(candidates);
    std::vector<double> weights(likely);
    // Exponential weights: the shares of a stick broken at random places.
    for (double& weight : weights) weight = random.exponential(1);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < likely; ++i) {
      transitions[from * symbols + candidates[i]] += (1 - kAnySymbol) * weights[i] / total;
    }
  }
  return transitions;
}

/// Power iteration. Each round brings any two distributions at least kAnySymbol closer, so it ends.
std::vector<double> make_stationary(const std::vector<double>& transitions, std::size_t symbols) {
  std::vector<double> now(symbols, 1 / static_cast<double>(symbols));
  constexpr int kMostRounds = 2000;  // (1 − 0.05)^2000 is below the rounding of double
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<double> next(symbols, 0.0);
    for (std::size_t from = 0; from < symbols; ++from) {
      for (std::size_t to = 0; to < symbols; ++to) next[to] += now[from] * transitions[from * symbols + to];
    }
    double change = 0;
    for (std::size_t i = 0; i < symbols; ++i) change += std::abs(next[i] - now[i]);
    now = std::move(next);
    if (change < 1e-15) break;
  }
  return now;
}

}  // namespace

MarkovChain::MarkovChain(std::uint64_t seed, std::size_t symbols)
    : symbols_(symbols),
      transitions_(make_transitions(seed, symbols)),
      stationary_(make_stationary(transitions_, symbols)),
      first_(stationary_) {
  for (std::size_t from = 0; from < symbols; ++from) {
    entropy_rate_ += stationary_[from] * entropy(row(from));
    next_.emplace_back(row(from));
  }
}

}  // namespace assay::engine
