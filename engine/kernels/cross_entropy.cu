#include <cuda_pipeline.h>

#include "kernels/device.cuh"

// Softmax cross-entropy with the gradient written over the logits: they are the largest tensor of a language model's
// step, so a row is read once into shared memory, if it fits there, and written once, never kept in fp32.

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

/// Eight logits of a row; those beyond the classes are −∞: they add nothing to a sum, and their gradient is 0.
template <typename T>
__device__ Floats8 logits_at(const T* row, int vector, int classes) {
  Floats8 x = load8(row + vector * kVector);
  if ((vector + 1) * kVector > classes) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      if (vector * kVector + j >= classes) x.v[j] = -INFINITY;
    }
  }
  return x;
}

__device__ MaxSum add(MaxSum value, const Floats8& x) {
  float largest = value.max;
#pragma unroll
  for (int j = 0; j < kVector; ++j) largest = fmaxf(largest, x.v[j]);
  // Nothing but −∞ so far: exp(−∞ + ∞) would be NaN.
  if (largest == -INFINITY) return value;
  float sum = value.sum * __expf(value.max - largest);
#pragma unroll
  for (int j = 0; j < kVector; ++j) sum += __expf(x.v[j] - largest);
  return {largest, sum};
}

/// A block does one row. With `kKept` it has room for it in shared memory; each thread reads there only what it copied
/// itself, so nobody has to wait for the others.
template <typename T, bool kKept>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(T* logits, const std::int64_t* targets, float* losses, float* correct, const float* scale,
                         bool gradient, int classes, int stride) {
  extern __shared__ __align__(16) unsigned char memory[];
  const std::int64_t row = blockIdx.x;
  T* own = logits + row * stride;
  const std::int64_t target = targets[row];
  const int vectors = stride / kVector;
  if (target < 0) {
    if (threadIdx.x == 0) {
      losses[row] = 0;
      if (correct) correct[row] = 0;
    }
    if (gradient) {
      for (int i = threadIdx.x; i < vectors; i += kThreads) store8(own + i * kVector, Floats8{});
    }
    return;
  }
  const T* source = own;
  if constexpr (kKept) {
    T* kept = reinterpret_cast<T*>(memory);
    constexpr int kPiece = 16 / sizeof(T);
    for (int i = threadIdx.x; i < vectors; i += kThreads) {
#pragma unroll
      for (int j = 0; j < kVector; j += kPiece) {
        __pipeline_memcpy_async(kept + i * kVector + j, own + i * kVector + j, 16);
      }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    source = kept;
  }
  const float wanted = to_float(own[target]);
  MaxSum value{-INFINITY, 0};
  for (int i = threadIdx.x; i < vectors; i += kThreads) value = add(value, logits_at(source, i, classes));
  value = over_block(value);  // and everybody has read `wanted` before it is overwritten
  if (threadIdx.x == 0) {
    losses[row] = logf(value.sum) + value.max - wanted;
    if (correct) correct[row] = wanted >= value.max ? 1.0F : 0.0F;
  }
  if (!gradient) return;
  const float factor = *scale;
  const float inverse = factor / value.sum;
  for (int i = threadIdx.x; i < vectors; i += kThreads) {
    Floats8 x = logits_at(source, i, classes);
#pragma unroll
    for (int j = 0; j < kVector; ++j) x.v[j] = __expf(x.v[j] - value.max) * inverse;
    if (i == target / kVector) {
#pragma unroll
      for (int j = 0; j < kVector; ++j) x.v[j] -= j == target % kVector ? factor : 0.0F;
    }
    store8(own + i * kVector, x);
  }
}

template <typename T, bool kKept>
void launch(T* logits, const std::int64_t* targets, float* losses, float* correct, const float* scale, bool gradient,
            std::int64_t rows, int classes, int stride, cudaStream_t stream) {
  const int bytes = kKept ? stride * static_cast<int>(sizeof(T)) : 0;
  const auto kernel = cross_entropy_kernel<T, kKept>;
  if (kKept) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  kernel<<<rows, kThreads, bytes, stream>>>(logits, targets, losses, correct, scale, gradient, classes, stride);
}

}  // namespace

void cross_entropy(void* logits, const std::int64_t* targets, float* losses, float* correct, const float* scale,
                   bool gradient, std::int64_t rows, std::int64_t classes, std::int64_t stride, Type type,
                   cudaStream_t stream) {
  with_type(type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    // Room for two blocks on a multiprocessor: one computes while the other one reads.
    const std::int64_t room = shared_bytes_per_multiprocessor() / 2 - 2048;
    const bool kept = gradient && stride * static_cast<std::int64_t>(sizeof(T)) <= room;
    (kept ? launch<T, true> : launch<T, false>)(static_cast<T*>(logits), targets, losses, correct, scale, gradient,
                                                rows, static_cast<int>(classes), static_cast<int>(stride), stream);
  });
  check_launch("cross_entropy");
}

}  // namespace assay::engine::kernels
