#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "formats/train_spec.h"

namespace assay::engine {

/// After a run was out of memory: tries tiny batches, measures what each sample takes, and says in one sentence which
/// batch would fit by that. Everything the run had allocated must be free by now.
std::string largest_batch_hint(const TrainSpec& spec, at::Device device);

/// The largest batch under `limit` if memory grows by a line through two measurements.
std::int64_t largest_batch(std::int64_t small_batch, std::int64_t small_bytes, std::int64_t large_batch,
                           std::int64_t large_bytes, std::int64_t limit);

}  // namespace assay::engine
