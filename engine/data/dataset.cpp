#include "data/dataset.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/assert.h"

namespace assay::engine {

std::int64_t DataShape::inputs_per_sample() const {
  switch (kind) {
    case Kind::vectors: return features;
    case Kind::images: return image_size * image_size * 3;
    case Kind::tokens: return seq_length;
  }
  return 0;
}

std::int64_t DataShape::targets_per_sample() const { return kind == Kind::tokens ? seq_length : 1; }

std::int64_t DataShape::bytes_per_sample() const {
  const std::int64_t element = kind == Kind::vectors ? 4 : kind == Kind::images ? 1 : 8;
  return inputs_per_sample() * element + targets_per_sample() * 8;
}

std::int64_t Dataset::validation_samples(double share) const {
  if (share <= 0 || samples() < 2) return 0;
  const auto wanted = static_cast<std::int64_t>(std::llround(share * static_cast<double>(samples())));
  return std::clamp<std::int64_t>(wanted, 1, samples() - 1);
}

Batch allocate_batch(const DataShape& shape, std::int64_t rows, bool pinned) {
  const auto options = at::TensorOptions().pinned_memory(pinned && at::hasCUDA());
  switch (shape.kind) {
    case DataShape::Kind::vectors:
      return {at::empty({rows, shape.features}, options.dtype(at::kFloat)),
              at::empty({rows}, options.dtype(at::kLong))};
    case DataShape::Kind::images:
      return {at::empty({rows, shape.image_size, shape.image_size, 3}, options.dtype(at::kByte)),
              at::empty({rows}, options.dtype(at::kLong))};
    case DataShape::Kind::tokens:
      return {at::empty({rows, shape.seq_length}, options.dtype(at::kLong)),
              at::empty({rows, shape.seq_length}, options.dtype(at::kLong))};
  }
  ASSAY_ASSERT(false);
}

Batch load_all(const Dataset& dataset) {
  Batch all = allocate_batch(dataset.shape(), dataset.samples(), false);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(dataset.samples()));
  std::iota(indices.begin(), indices.end(), 0);
  dataset.fill(indices, all);
  return all;
}

}  // namespace assay::engine
