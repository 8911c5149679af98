#include "data/synthetic_tokens.h"

#include <vector>

#include "data/batch_rows.h"
#include "data/describe.h"

namespace assay::engine {
namespace {

std::vector<double> zipf_weights(std::int64_t vocabulary) {
  std::vector<double> weights(static_cast<std::size_t>(vocabulary));
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = 1 / static_cast<double>(k + 1);
  return weights;
}

}  // namespace

SyntheticTokens::SyntheticTokens(const Options& options) : SyntheticTokens(options, zipf_weights(options.vocabulary)) {}

SyntheticTokens::SyntheticTokens(const Options& options, std::span<const double> weights)
    : shape_{.kind = DataShape::Kind::tokens, .vocabulary = options.vocabulary, .seq_length = options.seq_length},
      samples_(options.samples),
      random_(options.seed, "data.synthetic-tokens"),
      table_(weights),
      entropy_(entropy(weights)) {}

void SyntheticTokens::fill(std::span<const std::int64_t> indices, Batch& batch) const {
  BatchRows<std::int64_t> rows(shape_, batch, indices.size());
  // One 64-bit number per token, two of them in a block of the generator.
  const auto blocks_per_sample = static_cast<std::uint64_t>(shape_.seq_length + 2) / 2;
  Random random = random_;
  for (std::size_t row = 0; row < indices.size(); ++row) {
    random.skip_to(static_cast<std::uint64_t>(indices[row]) * blocks_per_sample);
    write_tokens(rows.inputs(row), rows.targets(row), [&](std::size_t) { return table_.draw(random); });
  }
}

std::string SyntheticTokens::description() const {
  return "synthetic-tokens, " + grouped(samples_) + " samples of " + grouped(shape_.seq_length) +
         " tokens, vocabulary " + grouped(shape_.vocabulary);
}

}  // namespace assay::engine
