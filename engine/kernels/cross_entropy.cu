#include "kernels/device.cuh"

// Softmax cross-entropy with the gradient written over the logits: they are the largest tensor of a language model's
// step, so they are read twice (the second time mostly from the L2 cache) and written once, never kept in fp32.

namespace assay::engine::kernels {
namespace {

constexpr int kThreads = 512;

struct MaxSum {
  float max;
  float sum;  // of exp(x − max)
};

__device__ MaxSum combine(MaxSum a, MaxSum b) {
  const float max = fmaxf(a.max, b.max);
  // Two empty parts: exp(−∞ + ∞) would be NaN.
  if (max == -INFINITY) return {max, 0};
  return {max, a.sum * __expf(a.max - max) + b.sum * __expf(b.max - max)};
}

__device__ MaxSum over_block(MaxSum value) {
  __shared__ MaxSum shared[kThreads / kWarp];
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = combine(value,
                    {__shfl_xor_sync(0xffffffffU, value.max, offset), __shfl_xor_sync(0xffffffffU, value.sum, offset)});
  }
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = shared[0];
  for (int i = 1; i < kThreads / kWarp; ++i) value = combine(value, shared[i]);
  return value;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(T* logits, const std::int64_t* targets, float* losses, float* correct, const float* scale,
                         bool gradient, std::int64_t classes, std::int64_t stride) {
  const std::int64_t row = blockIdx.x;
  T* own = logits + row * stride;
  const std::int64_t target = targets[row];
  const std::int64_t vectors = stride / kVector;
  if (target < 0) {
    if (threadIdx.x == 0) {
      losses[row] = 0;
      if (correct) correct[row] = 0;
    }
    if (gradient) {
      for (std::int64_t i = threadIdx.x; i < vectors; i += kThreads) store8(own + i * kVector, Floats8{});
    }
    return;
  }
  MaxSum value{-INFINITY, 0};
  for (std::int64_t i = threadIdx.x; i < vectors; i += kThreads) {
    const Floats8 x = load8(own + i * kVector);
    float largest = -INFINITY;
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      if (i * kVector + j < classes) largest = fmaxf(largest, x.v[j]);
    }
    // No class among them, or nothing but −∞ so far: exp(−∞ + ∞) would be NaN.
    const float max = fmaxf(value.max, largest);
    if (max == -INFINITY) continue;
    float sum = value.sum * __expf(value.max - max);
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      if (i * kVector + j < classes) sum += __expf(x.v[j] - max);
    }
    value = {max, sum};
  }
  value = over_block(value);
  const float wanted = to_float(own[target]);
  if (threadIdx.x == 0) {
    losses[row] = logf(value.sum) + value.max - wanted;
    if (correct) correct[row] = wanted >= value.max ? 1.0F : 0.0F;
  }
  if (!gradient) return;
  __syncthreads();  // `wanted` has been read by all before it is overwritten
  const float factor = *scale;
  const float inverse = factor / value.sum;
  for (std::int64_t i = threadIdx.x; i < vectors; i += kThreads) {
    Floats8 x = load8(own + i * kVector);
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      const std::int64_t column = i * kVector + j;
      x.v[j] = column < classes ? __expf(x.v[j] - value.max) * inverse - (column == target ? factor : 0.0F) : 0.0F;
    }
    store8(own + i * kVector, x);
  }
}

}  // namespace

void cross_entropy(void* logits, const std::int64_t* targets, float* losses, float* correct, const float* scale,
                   bool gradient, std::int64_t rows, std::int64_t classes, std::int64_t stride, Type type,
                   cudaStream_t stream) {
  with_type(type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    cross_entropy_kernel<<<rows, kThreads, 0, stream>>>(static_cast<T*>(logits), targets, losses, correct, scale,
                                                        gradient, classes, stride);
  });
  check_launch("cross_entropy");
}

}  // namespace assay::engine::kernels
