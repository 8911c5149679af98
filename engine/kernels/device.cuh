#pragma once

// What the kernels share: vectors of eight elements as floats, reductions, dispatch over number formats.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/kernels.h"

namespace assay::engine::kernels {

constexpr int kWarp = 32;
constexpr int kVector = 8;  // elements per access: 16 bytes of bf16, two times 16 of fp32

inline void check_launch(const char* name) {
  if (const cudaError_t code = cudaGetLastError(); code != cudaSuccess) {
    throw std::runtime_error(std::string("CUDA kernel ") + name + ": " + cudaGetErrorString(code));
  }
}

inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, attribute, device);
  return value;
}
inline int multiprocessors() { return device_attribute(cudaDevAttrMultiProcessorCount); }
inline int shared_bytes_per_multiprocessor() { return device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor); }

inline std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

struct Floats8 {
  float v[kVector];
};

__device__ inline Floats8 load8(const float* p) {
  const float4 a = reinterpret_cast<const float4*>(p)[0];
  const float4 b = reinterpret_cast<const float4*>(p)[1];
  return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}
__device__ inline void store8(float* p, const Floats8& f) {
  reinterpret_cast<float4*>(p)[0] = make_float4(f.v[0], f.v[1], f.v[2], f.v[3]);
  reinterpret_cast<float4*>(p)[1] = make_float4(f.v[4], f.v[5], f.v[6], f.v[7]);
}
__device__ inline Floats8 load8(const __nv_bfloat16* p) {
  const uint4 raw = *reinterpret_cast<const uint4*>(p);
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&raw);
  Floats8 f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = __bfloat1622float2(pairs[i]);
    f.v[2 * i] = two.x;
    f.v[2 * i + 1] = two.y;
  }
  return f;
}
__device__ inline void store8(__nv_bfloat16* p, const Floats8& f) {
  uint4 raw;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&raw);
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(f.v[2 * i], f.v[2 * i + 1]);
  *reinterpret_cast<uint4*>(p) = raw;
}
__device__ inline Floats8 load8(const __half* p) {
  const uint4 raw = *reinterpret_cast<const uint4*>(p);
  const auto* pairs = reinterpret_cast<const __half2*>(&raw);
  Floats8 f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = __half22float2(pairs[i]);
    f.v[2 * i] = two.x;
    f.v[2 * i + 1] = two.y;
  }
  return f;
}
__device__ inline void store8(__half* p, const Floats8& f) {
  uint4 raw;
  auto* pairs = reinterpret_cast<__half2*>(&raw);
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2half2_rn(f.v[2 * i], f.v[2 * i + 1]);
  *reinterpret_cast<uint4*>(p) = raw;
}

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float to_float(__half x) { return __half2float(x); }
template <typename T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}

template <int kThreads>
__device__ inline float sum_over(float value, float* shared) {
#pragma unroll
  for (int offset = (kThreads < kWarp ? kThreads : kWarp) / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, offset);
  }
  if constexpr (kThreads > kWarp) {
    const int warp = threadIdx.x / kWarp;
    __syncthreads();  // the previous sum may still be being read
    if (threadIdx.x % kWarp == 0) shared[warp] = value;
    __syncthreads();
    value = 0;
#pragma unroll
    for (int i = 0; i < kThreads / kWarp; ++i) value += shared[i];
  }
  return value;
}

struct TwoSums {
  float first;
  float second;
};

/// Both sums over the threads of a block in one go.
template <int kThreads>
__device__ inline TwoSums sum_over(TwoSums value, TwoSums* shared) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value.first += __shfl_xor_sync(0xffffffffU, value.first, offset);
    value.second += __shfl_xor_sync(0xffffffffU, value.second, offset);
  }
  __syncthreads();  // the previous sums may still be being read
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = {0, 0};
#pragma unroll
  for (int i = 0; i < kThreads / kWarp; ++i) {
    value.first += shared[i].first;
    value.second += shared[i].second;
  }
  return value;
}

// Sums over columns come in two passes: stripes of rows into `partial`, then over the stripes. A block of the first
// pass has 256 threads, as wide as the columns allow up to 32 vectors; one of the second 32 columns × 32 lanes.
constexpr int kStripeThreads = 256;
constexpr int kFinishLanes = 32;

inline dim3 stripe_block(std::int64_t columns) {
  unsigned wide = 1;
  while (wide < kWarp && wide * kVector < columns) wide *= 2;
  return dim3(wide, kStripeThreads / wide);
}
inline dim3 stripe_grid(std::int64_t rows, std::int64_t columns) {
  return dim3(divide_up(columns, stripe_block(columns).x * kVector), column_sum_splits(rows, columns));
}
inline dim3 finish_block() { return dim3(kWarp, kFinishLanes); }
inline unsigned finish_grid(std::int64_t columns) { return static_cast<unsigned>(divide_up(columns, kWarp)); }

/// First pass: kSums sums per column over this block's stripe. `element(row, column, values)` gives eight columns'
/// addends.
template <int kSums, typename Element>
__device__ void stripe_sums(float* partial, std::int64_t rows, std::int64_t columns, Element&& element) {
  __shared__ float shared[kSums][kStripeThreads * kVector];
  const int columns_here = blockDim.x * kVector;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * columns_here + threadIdx.x * kVector;
  Floats8 sums[kSums] = {};
  if (column < columns) {
    // Several rows at a time, so that their loads are under way together; two sums would take too many registers.
#pragma unroll(kSums == 1 ? 4 : 1)
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; row < rows;
         row += static_cast<std::int64_t>(gridDim.y) * blockDim.y) {
      Floats8 values[kSums];
      element(row, column, values);
#pragma unroll
      for (int k = 0; k < kSums; ++k) {
#pragma unroll
        for (int j = 0; j < kVector; ++j) sums[k].v[j] += values[k].v[j];
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kSums; ++k) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) shared[k][threadIdx.y * columns_here + threadIdx.x * kVector + j] = sums[k].v[j];
  }
  __syncthreads();
  for (int flat = threadIdx.y * blockDim.x + threadIdx.x; flat < columns_here; flat += kStripeThreads) {
    const std::int64_t out = static_cast<std::int64_t>(blockIdx.x) * columns_here + flat;
    if (out >= columns) continue;
#pragma unroll
    for (int k = 0; k < kSums; ++k) {
      float sum = 0;
      for (unsigned lane = 0; lane < blockDim.y; ++lane) sum += shared[k][lane * columns_here + flat];
      partial[(static_cast<std::int64_t>(k) * gridDim.y + blockIdx.y) * columns + out] = sum;
    }
  }
}

/// Second pass: the sum of column `column` over `stripes` partials, valid where threadIdx.y is 0.
__device__ inline float sum_of_stripes(const float* partial, int stripes, std::int64_t columns, std::int64_t column) {
  __shared__ float shared[kFinishLanes][kWarp + 1];
  float sum = 0;
  if (column < columns) {
#pragma unroll 4
    for (int stripe = threadIdx.y; stripe < stripes; stripe += kFinishLanes) sum += partial[stripe * columns + column];
  }
  __syncthreads();  // a previous sum may still be being read
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0) return 0;
  sum = 0;
#pragma unroll
  for (int lane = 0; lane < kFinishLanes; ++lane) sum += shared[lane][threadIdx.x];
  return sum;
}

/// Calls `function` with a null pointer of the element type.
template <typename Function>
void with_type(Type type, Function&& function) {
  switch (type) {
    case Type::f32: function(static_cast<float*>(nullptr)); break;
    case Type::bf16: function(static_cast<__nv_bfloat16*>(nullptr)); break;
    case Type::f16: function(static_cast<__half*>(nullptr)); break;
  }
}

/// Calls `function` with null pointers of both element types, where the first is f32 or the same as the second.
template <typename Function>
void with_types(Type first, Type second, Function&& function) {
  with_type(second, [&](auto* pointer) {
    if (first == Type::f32) {
      function(static_cast<float*>(nullptr), pointer);
    } else if (first == second) {
      function(pointer, pointer);
    } else {
      throw std::logic_error("kernels mix fp32 with one other number format only");
    }
  });
}

}  // namespace assay::engine::kernels
