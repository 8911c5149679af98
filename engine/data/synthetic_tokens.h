#pragma once

#include "base/random.h"
#include "data/alias_table.h"
#include "data/dataset.h"

namespace assay::engine {

/// Independent tokens with Zipf's distribution: token k has a probability proportional to 1/(k + 1). There is nothing
/// to learn but the frequencies, so the lowest possible loss is exactly the entropy (7.57 nats with 50,257 tokens).
class SyntheticTokens : public Dataset {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::int64_t samples = 10'000;
    std::int64_t vocabulary = 50'257;
    std::int64_t seq_length = 512;
  };
  explicit SyntheticTokens(const Options& options);

  const DataShape& shape() const override { return shape_; }
  std::int64_t samples() const override { return samples_; }
  void fill(std::span<const std::int64_t> indices, Batch& batch) const override;
  std::optional<double> loss_floor() const override { return entropy_; }
  std::string description() const override;

 private:
  SyntheticTokens(const Options& options, std::span<const double> weights);

  DataShape shape_;
  std::int64_t samples_;
  Random random_;
  AliasTable table_;
  double entropy_;
};

}  // namespace assay::engine
