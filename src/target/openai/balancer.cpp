#include "target/openai/balancer.h"

namespace assay {

Balancer::Balancer(const OpenAiOptions& options, const Outstanding& outstanding)
    : balance_(options.balance), credit_(options.endpoints.size()), outstanding_(outstanding) {
  for (const OpenAiEndpoint& endpoint : options.endpoints) {
    weights_.push_back(endpoint.weight);
    sum_ += endpoint.weight;
  }
  last_ = weights_.size() - 1;
}

std::size_t Balancer::pick() {
  if (weights_.size() == 1) return 0;
  return balance_ == OpenAiOptions::Balance::round_robin ? pick_in_turn() : pick_least();
}

/// Each gains its weight, the richest pays for all: shares are exact, and turns as even as weights allow.
std::size_t Balancer::pick_in_turn() {
  std::size_t best = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    credit_[i] += weights_[i];
    if (credit_[i] > credit_[best]) best = i;
  }
  credit_[best] -= sum_;
  return best;
}

/// Begins behind the last one picked, so that equals take turns.
std::size_t Balancer::pick_least() {
  const std::size_t count = weights_.size();
  std::size_t best = 0;
  double least = 0;
  for (std::size_t step = 1; step <= count; ++step) {
    const std::size_t i = (last_ + step) % count;
    const double load = (outstanding_[i].load(std::memory_order_relaxed) + 1) / weights_[i];
    if (step == 1 || load < least) {
      best = i;
      least = load;
    }
  }
  last_ = best;
  return best;
}

}  // namespace assay
