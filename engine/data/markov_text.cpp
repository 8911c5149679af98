#include "data/markov_text.h"

#include "data/batch_rows.h"
#include "data/describe.h"

namespace assay::engine {

MarkovText::MarkovText(const Options& options)
    : shape_{.kind = DataShape::Kind::tokens, .vocabulary = options.vocabulary, .seq_length = options.seq_length},
      samples_(options.samples),
      random_(options.seed, "data.markov-text"),
      chain_(options.seed, static_cast<std::size_t>(options.vocabulary)) {}

void MarkovText::fill(std::span<const std::int64_t> indices, Batch& batch) const {
  BatchRows<std::int64_t> rows(shape_, batch, indices.size());
  // One 64-bit number per token, two of them in a block of the generator.
  const auto blocks_per_sample = static_cast<std::uint64_t>(shape_.seq_length + 2) / 2;
  Random random = random_;
  for (std::size_t row = 0; row < indices.size(); ++row) {
    random.skip_to(static_cast<std::uint64_t>(indices[row]) * blocks_per_sample);
    std::uint32_t symbol = 0;
    write_tokens(rows.inputs(row), rows.targets(row), [&](std::size_t position) {
      symbol = position == 0 ? chain_.draw_first(random) : chain_.draw_next(symbol, random);
      return symbol;
    });
  }
}

std::string MarkovText::description() const {
  return "markov-text, " + grouped(samples_) + " samples of " + grouped(shape_.seq_length) + " tokens, vocabulary " +
         grouped(shape_.vocabulary);
}

}  // namespace assay::engine
