#include "kernels/device.cuh"

// Optimiser steps over one flat vector: every byte of parameters, gradients and moments is touched once.

namespace assay::engine::kernels {
namespace {

constexpr int kBlock = 256;

// G is the type of gradients, T that of the rounded copy.
template <typename G, typename T>
__global__ void adam_kernel(float* master, T* work, const G* gradient, float* moment1, float* moment2,
                            std::int64_t vectors, const StepValues* shared_values, AdamSettings settings) {
  const StepValues values = *shared_values;
  if (values.multiplier == 0.0F) return;
  const std::int64_t vector = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (vector >= vectors) return;
  const std::int64_t at = vector * kVector;
  Floats8 parameter = load8(master + at);
  const Floats8 g = load8(gradient + at);
  Floats8 m = load8(moment1 + at);
  Floats8 v = load8(moment2 + at);
#pragma unroll
  for (int j = 0; j < kVector; ++j) adam_update(parameter.v[j], g.v[j], m.v[j], v.v[j], values, settings);
  store8(master + at, parameter);
  store8(moment1 + at, m);
  store8(moment2 + at, v);
  if (work) store8(work + at, parameter);
}

template <typename G, typename T>
__global__ void sgd_kernel(float* master, T* work, const G* gradient, std::int64_t vectors,
                           const StepValues* shared_values, float weight_decay) {
  const StepValues values = *shared_values;
  if (values.multiplier == 0.0F) return;
  const std::int64_t vector = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (vector >= vectors) return;
  const std::int64_t at = vector * kVector;
  Floats8 parameter = load8(master + at);
  const Floats8 g = load8(gradient + at);
#pragma unroll
  for (int j = 0; j < kVector; ++j) sgd_update(parameter.v[j], g.v[j], values, weight_decay);
  store8(master + at, parameter);
  if (work) store8(work + at, parameter);
}

/// Largest value among the 32 threads that share a block of 256 elements.
__device__ float warp_max(float value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, offset));
  }
  return value;
}

// One warp per block of 256 elements, eight to a thread.
template <typename G, typename T>
__global__ void adam_8bit_kernel(float* master, T* work, const G* gradient, std::uint8_t* moment1,
                                 std::uint8_t* moment2, float* scale1, float* scale2, std::int64_t count,
                                 const StepValues* shared_values, AdamSettings settings) {
  const StepValues values = *shared_values;
  if (values.multiplier == 0.0F) return;
  const std::int64_t block = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (block * eight_bit::kBlock >= count) return;
  const std::int64_t at = block * eight_bit::kBlock + lane * kVector;
  const bool inside = at < count;
  const float old1 = scale1[block];
  const float old2 = scale2[block];
  uint2 codes1 = {};
  uint2 codes2 = {};
  Floats8 parameter = {};
  Floats8 g = {};
  if (inside) {
    parameter = load8(master + at);
    g = load8(gradient + at);
    codes1 = *reinterpret_cast<const uint2*>(moment1 + at);
    codes2 = *reinterpret_cast<const uint2*>(moment2 + at);
  }
  auto* bytes1 = reinterpret_cast<std::uint8_t*>(&codes1);
  auto* bytes2 = reinterpret_cast<std::uint8_t*>(&codes2);
  Floats8 m;
  Floats8 v;
  float largest1 = 0;
  float largest2 = 0;
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    m.v[j] = eight_bit::decode_signed(bytes1[j]) * old1;
    v.v[j] = eight_bit::decode_unsigned(bytes2[j]) * old2;
    adam_update(parameter.v[j], g.v[j], m.v[j], v.v[j], values, settings);
    largest1 = fmaxf(largest1, fabsf(m.v[j]));
    largest2 = fmaxf(largest2, v.v[j]);
  }
  largest1 = warp_max(largest1);
  largest2 = warp_max(largest2);
  const float inverse1 = largest1 > 0 ? 1.0F / largest1 : 0.0F;
  const float inverse2 = largest2 > 0 ? 1.0F / largest2 : 0.0F;
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    bytes1[j] = eight_bit::encode_signed(m.v[j] * inverse1);
    bytes2[j] = eight_bit::encode_unsigned(v.v[j] * inverse2);
  }
  if (inside) {
    store8(master + at, parameter);
    if (work) store8(work + at, parameter);
    *reinterpret_cast<uint2*>(moment1 + at) = codes1;
    *reinterpret_cast<uint2*>(moment2 + at) = codes2;
  }
  if (lane == 0) {
    scale1[block] = largest1;
    scale2[block] = largest2;
  }
}

constexpr int kSquareBlocks = 512;

template <typename T>
__global__ void squares_kernel(const T* x, std::int64_t vectors, float* partial) {
  __shared__ float shared[kBlock / kWarp];
  float sum = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < vectors;
       i += static_cast<std::int64_t>(gridDim.x) * kBlock) {
    const Floats8 values = load8(x + i * kVector);
#pragma unroll
    for (int j = 0; j < kVector; ++j) sum += values.v[j] * values.v[j];
  }
  sum = sum_over<kBlock>(sum, shared);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void finish_squares(const float* partial, int count, bool add, float* out) {
  __shared__ float shared[kBlock / kWarp];
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += kBlock) sum += partial[i];
  sum = sum_over<kBlock>(sum, shared);
  if (threadIdx.x == 0) *out = add ? *out + sum : sum;
}

__global__ void begin_update_kernel(UpdateStart call) {
  const float unscale = call.loss_scale ? 1.0F / call.loss_scale->scale : 1.0F;
  const float norm = sqrtf(*call.norm_squared) * unscale;
  float multiplier = unscale;
  if (call.clip > 0 && norm > call.clip) multiplier *= call.clip / (norm + 1e-6F);
  // With loss scaling an overflow is expected now and then: that step is left out.
  const bool skipped = call.loss_scale && !isfinite(norm);
  const std::int64_t t = *call.applied + 1;
  *call.values = {call.learning_rates[*call.place], bias_correction(call.adam.beta1, static_cast<float>(t)),
                  bias_correction(call.adam.beta2, static_cast<float>(t)), skipped ? 0.0F : multiplier};
  if (!skipped) *call.applied = t;
}

__global__ void end_step_kernel(const float* loss, const float* norm_squared, LossScale* loss_scale, float* ring,
                                std::int64_t* place, std::int64_t window) {
  const std::int64_t slot = *place;
  const float norm = sqrtf(*norm_squared) * (loss_scale ? 1.0F / loss_scale->scale : 1.0F);
  ring[2 * slot] = *loss;
  ring[2 * slot + 1] = norm;
  *place = slot + 1 == window ? 0 : slot + 1;
  if (loss_scale) *loss_scale = after_step(*loss_scale, !isfinite(norm));
}

/// Calls `function` with the rounded copy and the gradient in their types.
template <typename Function>
void with_update(const Updated& updated, Function&& function) {
  with_types(updated.gradient_type, updated.work_type, [&](auto* gradient_pointer, auto* work_pointer) {
    using G = std::remove_pointer_t<decltype(gradient_pointer)>;
    using T = std::remove_pointer_t<decltype(work_pointer)>;
    function(static_cast<T*>(updated.work), static_cast<const G*>(updated.gradient));
  });
}

}  // namespace

void adam(const Updated& updated, float* moment1, float* moment2, const StepValues* values,
          const AdamSettings& settings, cudaStream_t stream) {
  with_update(updated, [&](auto* work, auto* gradient) {
    adam_kernel<<<divide_up(updated.count / kVector, kBlock), kBlock, 0, stream>>>(
        updated.master, work, gradient, moment1, moment2, updated.count / kVector, values, settings);
  });
  check_launch("adam");
}

void adam_8bit(const Updated& updated, std::uint8_t* moment1, std::uint8_t* moment2, float* scale1, float* scale2,
               const StepValues* values, const AdamSettings& settings, cudaStream_t stream) {
  const std::int64_t threads = divide_up(updated.count, eight_bit::kBlock) * kWarp;
  with_update(updated, [&](auto* work, auto* gradient) {
    adam_8bit_kernel<<<divide_up(threads, kBlock), kBlock, 0, stream>>>(
        updated.master, work, gradient, moment1, moment2, scale1, scale2, updated.count, values, settings);
  });
  check_launch("adam_8bit");
}

void sgd(const Updated& updated, const StepValues* values, float weight_decay, cudaStream_t stream) {
  with_update(updated, [&](auto* work, auto* gradient) {
    sgd_kernel<<<divide_up(updated.count / kVector, kBlock), kBlock, 0, stream>>>(
        updated.master, work, gradient, updated.count / kVector, values, weight_decay);
  });
  check_launch("sgd");
}

void sum_squares(const void* x, std::int64_t count, float* partial, bool add, float* out, Type type,
                 cudaStream_t stream) {
  const std::int64_t vectors = count / kVector;
  const auto wanted = divide_up(vectors, kBlock);
  const int blocks = static_cast<int>(wanted < kSquareBlocks ? wanted : kSquareBlocks);
  with_type(type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    squares_kernel<<<blocks, kBlock, 0, stream>>>(static_cast<const T*>(x), vectors, partial);
  });
  finish_squares<<<1, kBlock, 0, stream>>>(partial, blocks, add, out);
  check_launch("sum_squares");
}

void begin_update(const UpdateStart& call, cudaStream_t stream) {
  begin_update_kernel<<<1, 1, 0, stream>>>(call);
  check_launch("begin_update");
}

void end_step(const float* loss, const float* norm_squared, LossScale* loss_scale, float* ring, std::int64_t* place,
              std::int64_t window, cudaStream_t stream) {
  end_step_kernel<<<1, 1, 0, stream>>>(loss, norm_squared, loss_scale, ring, place, window);
  check_launch("end_step");
}

}  // namespace assay::engine::kernels
