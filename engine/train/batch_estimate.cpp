#include "train/batch_estimate.h"

#include <ATen/ATen.h>

#include <cmath>
#include <iomanip>
#include <optional>
#include <sstream>

#include "core/cuda.h"
#include "core/torch_compat.h"
#include "train/host_memory.h"
#include "train/trainer.h"

namespace assay::engine {
namespace {

constexpr double kLongestTrial = 5;  // seconds

/// What a sample takes at the very least: itself, and what is kept of its forward pass.
double least_bytes_per_sample(const TrainSpec& spec, const Model& model, const DataShape& data, at::Device device) {
  // On a GPU the batches lie in the host's memory and one of them on the device.
  const auto batches = static_cast<double>(device.is_cuda() ? 1 : spec.gradient_accumulation);
  return batches * static_cast<double>(data.bytes_per_sample()) + model.least_bytes_per_sample();
}

double free_bytes(at::Device device) {
  if (!device.is_cuda()) return static_cast<double>(available_bytes());
  const DeviceMemory memory = device_memory(device);
  return static_cast<double>(memory.total_bytes - memory.allocated_bytes);
}

std::string gigabytes(double bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << bytes / 1e9 << " GB";
  return text.str();
}

/// The peak of one step with that batch; nothing if it does not fit either.
std::optional<std::int64_t> peak_bytes(TrainSpec spec, std::int64_t batch_size, at::Device device) {
  spec.batch_size = batch_size;
  spec.gradient_accumulation = 1;
  try {
    const auto dataset = make_dataset(spec, vocabulary_of(spec.model));
    const auto alone = single_group();
    reset_peak_memory(device);
    reset_peak_resident();
    TrainingStep step(spec, dataset->shape(), device, *alone, 4);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(batch_size));
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i) % dataset->samples();
    Batch batch = allocate_batch(dataset->shape(), batch_size, false);
    dataset->fill(indices, batch);
    step.run({{batch.inputs.to(device), batch.targets.to(device)}}, nullptr);
    synchronize(device);
    return device.is_cuda() ? device_memory(device).peak_bytes : peak_resident_bytes();
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    return std::nullopt;
  }
}

/// Where trying would take long: how many samples fit if they take as little as they can. Nothing where trying is
/// quick.
std::optional<std::int64_t> estimated_batch(TrainSpec spec, at::Device device, double flops_per_second) {
  if (flops_per_second <= 0) return std::nullopt;
  const auto dataset = make_dataset(spec, vocabulary_of(spec.model));
  const auto model = make_model(spec, dataset->shape());
  model->prepare(device, number_formats(spec.precision, device).products);
  constexpr double kTriedSamples = 3;  // batches of 1 and 2
  if (kTriedSamples * training_flops(model->forward_flops()) <= kLongestTrial * flops_per_second) return std::nullopt;
  const double most = free_bytes(device) / least_bytes_per_sample(spec, *model, dataset->shape(), device);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(most), 1, std::max<std::int64_t>(1, spec.batch_size - 1));
}

}  // namespace

void refuse_too_large_batch(const TrainSpec& spec, const Model& model, const DataShape& data, at::Device device) {
  const double needed = static_cast<double>(spec.batch_size) * least_bytes_per_sample(spec, model, data, device);
  const double free = free_bytes(device);
  if (needed <= free) return;
  throw std::runtime_error("not enough memory: a batch needs " + gigabytes(needed) + " at the very least, and " +
                           gigabytes(free) + " are free");
}

std::int64_t largest_batch(std::int64_t small_batch, std::int64_t small_bytes, std::int64_t large_batch,
                           std::int64_t large_bytes, std::int64_t limit) {
  const double slope = static_cast<double>(large_bytes - small_bytes) / static_cast<double>(large_batch - small_batch);
  if (slope <= 0) return large_batch;
  const double most = static_cast<double>(small_batch) + static_cast<double>(limit - small_bytes) / slope;
  return std::max<std::int64_t>(small_batch, static_cast<std::int64_t>(std::floor(most)));
}

std::string largest_batch_hint(const TrainSpec& spec, at::Device device, double flops_per_second) {
  constexpr const char* kNoneFits =
      "Not even a batch of 1 fits: use a smaller model, shorter sequences or another optimiser.";
  if (spec.batch_size == 1) return kNoneFits;
  const std::int64_t most_tried = device.is_cuda() ? 5 : 2;
  try {
    release_cached_memory(device);
    if (const auto estimated = estimated_batch(spec, device, flops_per_second)) {
      return "A batch_size of at most " + std::to_string(*estimated) +
             " can fit, by a low estimate of what a sample takes.";
    }
    // A little less than all: fragments, and what the driver needs.
    const std::int64_t limit = device.is_cuda() ? device_memory(device).total_bytes / 100 * 95
                                                : resident_bytes() + available_bytes() / 100 * 90;
    const auto one = peak_bytes(spec, 1, device);
    release_cached_memory(device);
    if (!one) return kNoneFits;
    const std::int64_t large = std::min(most_tried, std::max<std::int64_t>(2, spec.batch_size / 2));
    const auto several = peak_bytes(spec, large, device);
    release_cached_memory(device);
    const std::int64_t batch =
        several ? std::min(largest_batch(1, *one, large, *several, limit), spec.batch_size - 1) : 1;
    std::string hint = "A batch_size of about " + std::to_string(batch) +
                       " should fit, by the memory that batches of 1 and " + std::to_string(large) + " took";
    if (!spec.gradient_checkpointing && spec.is_language()) hint += "; gradient_checkpointing: true needs less";
    return hint + ".";
  } catch (const std::exception&) {
    return "Use a smaller batch_size.";
  }
}

}  // namespace assay::engine
