#include "data/evaluation_reader.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/assert.h"

namespace assay::engine {

EvaluationReader::EvaluationReader(const Dataset& dataset, const Options& options)
    : dataset_(dataset), rows_(options.rows), buffer_(allocate_batch(dataset.shape(), options.rows, options.pinned)) {
  ASSAY_ASSERT(options.rows >= 1 && options.rank >= 0 && options.rank < options.ranks);
  const std::int64_t count = dataset.validation_samples(options.validation_share);
  const std::int64_t first = dataset.samples() - count;
  begin_ = first + count * options.rank / options.ranks;
  end_ = first + count * (options.rank + 1) / options.ranks;
  next_ = begin_;
}

std::optional<Batch> EvaluationReader::next() {
  const std::int64_t rows = std::min(rows_, end_ - next_);
  if (rows == 0) return std::nullopt;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(rows));
  std::iota(indices.begin(), indices.end(), next_);
  next_ += rows;
  Batch batch = {buffer_.inputs.narrow(0, 0, rows), buffer_.targets.narrow(0, 0, rows)};
  dataset_.fill(indices, batch);
  return batch;
}

}  // namespace assay::engine
