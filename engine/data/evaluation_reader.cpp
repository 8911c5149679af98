#include "data/evaluation_reader.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/assert.h"

namespace assay::engine {

EvaluationReader::EvaluationReader(const Dataset& dataset, const Options& options)
    : dataset_(dataset),
      rank_(options.rank),
      ranks_(options.ranks),
      rows_(options.rows),
      samples_(dataset.validation_samples(options.validation_share)),
      buffer_(allocate_batch(dataset.shape(), options.rows, options.pinned)) {
  ASSAY_ASSERT(rows_ >= 1 && rank_ >= 0 && rank_ < ranks_);
  rewind(samples_);
}

void EvaluationReader::rewind(std::int64_t most) {
  const std::int64_t first = dataset_.samples() - samples_;
  const std::int64_t count = std::min(samples_, most);
  next_ = first + count * rank_ / ranks_;
  end_ = first + count * (rank_ + 1) / ranks_;
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
