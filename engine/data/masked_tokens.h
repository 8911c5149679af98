#pragma once

#include <memory>

#include "base/random.h"
#include "data/dataset.h"

namespace assay::engine {

/// Masked language modelling over any token data set, as BERT does it: 15 % of the input tokens are targets. Of these
/// 80 % are replaced by the mask token, 10 % by a random one, and 10 % stay. A sample always has at least one target,
/// or short samples would now and then have a loss of 0/0. The same index always has the same mask.
///
/// The mask token is 103 where the data's vocabulary has 1,000 or more, as in BERT's. Smaller vocabularies have none
/// to spare: it is the first id after theirs, or, where the model has no more, their last one.
class MaskedTokens : public Dataset {
 public:
  /// `model_vocabulary`: as in `make_dataset`, 0 or at least the vocabulary of `tokens`.
  MaskedTokens(std::unique_ptr<Dataset> tokens, std::uint64_t seed, std::int64_t model_vocabulary);

  const DataShape& shape() const override { return shape_; }
  std::int64_t samples() const override { return tokens_->samples(); }
  std::int64_t validation_samples(double share) const override { return tokens_->validation_samples(share); }
  void fill(std::span<const std::int64_t> indices, Batch& batch) const override;
  std::string description() const override;
  std::int64_t mask_token() const { return mask_token_; }

 private:
  void mask(std::span<std::int64_t> inputs, std::span<std::int64_t> targets, Random& random) const;

  std::unique_ptr<Dataset> tokens_;
  DataShape shape_;
  std::int64_t mask_token_ = 0;
  Random random_;
};

}  // namespace assay::engine
