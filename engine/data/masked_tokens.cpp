#include "data/masked_tokens.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "data/batch_rows.h"
#include "data/describe.h"

namespace assay::engine {
namespace {

constexpr double kTargetShare = 0.15;
constexpr double kReplacedByMask = 0.8 * kTargetShare;
constexpr double kReplacedByAny = 0.9 * kTargetShare;
constexpr std::int64_t kBertMask = 103;
constexpr std::int64_t kLeastBertVocabulary = 1000;

}  // namespace

MaskedTokens::MaskedTokens(std::unique_ptr<Dataset> tokens, std::uint64_t seed, std::int64_t model_vocabulary)
    : tokens_(std::move(tokens)), shape_(tokens_->shape()), random_(seed, "data.masks") {
  ASSAY_ASSERT(shape_.kind == DataShape::Kind::tokens);
  if (shape_.vocabulary >= kLeastBertVocabulary) {
    mask_token_ = kBertMask;
    return;
  }
  const bool id_to_spare = model_vocabulary == 0 || model_vocabulary > shape_.vocabulary;
  if (id_to_spare) ++shape_.vocabulary;
  mask_token_ = shape_.vocabulary - 1;
}

void MaskedTokens::fill(std::span<const std::int64_t> indices, Batch& batch) const {
  tokens_->fill(indices, batch);
  BatchRows<std::int64_t> rows(shape_, batch, indices.size());
  // At most two 64-bit numbers per token, and one for a sample without targets.
  const auto blocks_per_sample = static_cast<std::uint64_t>(shape_.seq_length + 1);
  Random random = random_;
  for (std::size_t row = 0; row < indices.size(); ++row) {
    random.skip_to(static_cast<std::uint64_t>(indices[row]) * blocks_per_sample);
    mask(rows.inputs(row), rows.targets(row), random);
  }
}

void MaskedTokens::mask(std::span<std::int64_t> inputs, std::span<std::int64_t> targets, Random& random) const {
  bool any = false;
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    const double place = random.uniform();
    if (place >= kTargetShare) {
      targets[j] = kIgnoredTarget;
      continue;
    }
    any = true;
    targets[j] = inputs[j];
    if (place < kReplacedByMask) {
      inputs[j] = mask_token_;
    } else if (place < kReplacedByAny) {
      inputs[j] = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(tokens_->shape().vocabulary)));
    }
  }
  if (any) return;
  const std::size_t chosen = random.below(inputs.size());
  targets[chosen] = std::exchange(inputs[chosen], mask_token_);
}

std::string MaskedTokens::description() const {
  return tokens_->description() + ", 15 % masked with token " + grouped(mask_token_);
}

}  // namespace assay::engine
