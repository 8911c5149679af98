#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "data/dataset.h"

namespace assay::engine {

/// The memory of a batch as `Dataset::fill` writes it: inputs of type T, row by row.
template <typename T>
class BatchRows {
 public:
  BatchRows(const DataShape& shape, Batch& batch, std::size_t rows)
      : inputs_(batch.inputs.data_ptr<T>()),
        targets_(batch.targets.data_ptr<std::int64_t>()),
        inputs_per_row_(static_cast<std::size_t>(shape.inputs_per_sample())),
        targets_per_row_(static_cast<std::size_t>(shape.targets_per_sample())) {
    ASSAY_ASSERT(batch.inputs.is_contiguous() && batch.targets.is_contiguous());
    ASSAY_ASSERT(static_cast<std::size_t>(batch.inputs.numel()) >= rows * inputs_per_row_);
    ASSAY_ASSERT(static_cast<std::size_t>(batch.targets.numel()) >= rows * targets_per_row_);
  }

  std::span<T> inputs(std::size_t row) { return {inputs_ + row * inputs_per_row_, inputs_per_row_}; }
  std::span<std::int64_t> targets(std::size_t row) { return {targets_ + row * targets_per_row_, targets_per_row_}; }

 private:
  T* inputs_;
  std::int64_t* targets_;
  std::size_t inputs_per_row_;
  std::size_t targets_per_row_;
};

/// A sample of T inputs and T targets from T + 1 tokens: each input is followed by its target. `token_at(j)` is called
/// once for each j = 0 … T, in this order.
template <typename TokenAt>
void write_tokens(std::span<std::int64_t> inputs, std::span<std::int64_t> targets, TokenAt&& token_at) {
  auto token = static_cast<std::int64_t>(token_at(std::size_t{0}));
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    inputs[j] = token;
    token = static_cast<std::int64_t>(token_at(j + 1));
    targets[j] = token;
  }
}

}  // namespace assay::engine
