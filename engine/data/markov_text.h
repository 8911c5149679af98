#pragma once

#include "base/random.h"
#include "data/dataset.h"
#include "data/markov_chain.h"

namespace assay::engine {

/// "Text" of a Markov chain over 64 symbols. Every sample starts from the stationary distribution, so the expected loss
/// of a perfect model is the same at every position: the entropy rate of the chain, about 1.6 nats.
class MarkovText : public Dataset {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::int64_t samples = 10'000;
    std::int64_t vocabulary = 64;
    std::int64_t seq_length = 512;
  };
  explicit MarkovText(const Options& options);

  const DataShape& shape() const override { return shape_; }
  std::int64_t samples() const override { return samples_; }
  void fill(std::span<const std::int64_t> indices, Batch& batch) const override;
  std::optional<double> loss_floor() const override { return chain_.entropy_rate(); }
  std::string description() const override;
  const MarkovChain& chain() const { return chain_; }

 private:
  DataShape shape_;
  std::int64_t samples_;
  Random random_;
  MarkovChain chain_;
};

}  // namespace assay::engine
