#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "data/dataset.h"
#include "formats/train_spec.h"
#include "models/model.h"

namespace assay::engine {

/// Before any batch is made: throws std::runtime_error (out of memory) where a batch takes more than there is by what
/// its samples take at the very least. Filling a million samples only to find that out would take minutes.
void refuse_too_large_batch(const TrainSpec& spec, const Model& model, const DataShape& data, at::Device device);

/// After a run was out of memory: tries tiny batches, measures what each sample takes, and says in one sentence which
/// batch would fit by that; where that would take long at `flops_per_second` (0: not known), from an estimate.
/// Everything the run had allocated must be free by now.
std::string largest_batch_hint(const TrainSpec& spec, at::Device device, double flops_per_second);

/// The largest batch under `limit` if memory grows by a line through two measurements.
std::int64_t largest_batch(std::int64_t small_batch, std::int64_t small_bytes, std::int64_t large_batch,
                           std::int64_t large_bytes, std::int64_t limit);

}  // namespace assay::engine
