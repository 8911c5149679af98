#include "kernels/device.cuh"

// Between the packed product for queries, keys and values and the attention kernel: rotary positions on the way in,
// packing (and rotating back) of the gradients on the way out.

namespace assay::engine::kernels {
namespace {

constexpr int kBlock = 256;

/// Rotates the pairs (first[j], second[j]) by the angles at `table`, backwards if `sign` is −1.
__device__ void rotate(Floats8& first, Floats8& second, const float* cosine, const float* sine, float sign) {
  const Floats8 c = load8(cosine);
  const Floats8 s = load8(sine);
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const float a = first.v[j];
    const float b = second.v[j];
    first.v[j] = a * c.v[j] - sign * b * s.v[j];
    second.v[j] = b * c.v[j] + sign * a * s.v[j];
  }
}

// One thread: eight pairs of one head of one token.
template <typename T>
__global__ void rotate_heads_kernel(const T* packed, const float* cosine, const float* sine, T* q, T* k, Heads shape) {
  const int half = shape.head_width / 2;
  const int vectors = half / kVector;
  const int rotated = shape.heads + shape.kv_heads;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= shape.tokens * rotated * vectors) return;
  const int vector = static_cast<int>(index % vectors);
  const int head = static_cast<int>(index / vectors % rotated);
  const std::int64_t token = index / vectors / rotated;
  const std::int64_t row = token * (shape.heads + 2 * shape.kv_heads) * shape.head_width;
  const T* from = packed + row + static_cast<std::int64_t>(head) * shape.head_width + vector * kVector;
  Floats8 first = load8(from);
  Floats8 second = load8(from + half);
  const std::int64_t at = token % shape.seq_length * half + vector * kVector;
  rotate(first, second, cosine + at, sine + at, 1.0F);
  T* to = head < shape.heads ? q + (token * shape.heads + head) * shape.head_width + vector * kVector
                             : k + (token * shape.kv_heads + head - shape.heads) * shape.head_width + vector * kVector;
  store8(to, first);
  store8(to + half, second);
}

template <typename T>
__global__ void pack_heads_kernel(HeadGradient dq, HeadGradient dk, HeadGradient dv, const float* cosine,
                                  const float* sine, T* packed, Heads shape) {
  const int half = shape.head_width / 2;
  const int vectors = half / kVector;
  const int all = shape.heads + 2 * shape.kv_heads;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= shape.tokens * all * vectors) return;
  const int vector = static_cast<int>(index % vectors);
  const int head = static_cast<int>(index / vectors % all);
  const std::int64_t token = index / vectors / all;
  const bool is_query = head < shape.heads;
  const bool is_value = head >= shape.heads + shape.kv_heads;
  const HeadGradient& from = is_query ? dq : is_value ? dv : dk;
  const int own = is_query ? head : is_value ? head - shape.heads - shape.kv_heads : head - shape.heads;
  const T* source = static_cast<const T*>(from.data) + token / shape.seq_length * from.batch_stride +
                    token % shape.seq_length * from.token_stride + own * from.head_stride + vector * kVector;
  Floats8 first = load8(source);
  Floats8 second = load8(source + half);
  if (cosine && !is_value) {
    const std::int64_t at = token % shape.seq_length * half + vector * kVector;
    rotate(first, second, cosine + at, sine + at, -1.0F);
  }
  T* to = packed + (token * all + head) * shape.head_width + vector * kVector;
  store8(to, first);
  store8(to + half, second);
}

}  // namespace

void rotate_heads(const void* packed, const float* cosine, const float* sine, void* q, void* k, const Heads& shape,
                  cudaStream_t stream) {
  const std::int64_t threads = shape.tokens * (shape.heads + shape.kv_heads) * (shape.head_width / 2 / kVector);
  with_type(shape.type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    rotate_heads_kernel<<<divide_up(threads, kBlock), kBlock, 0, stream>>>(
        static_cast<const T*>(packed), cosine, sine, static_cast<T*>(q), static_cast<T*>(k), shape);
  });
  check_launch("rotate_heads");
}

void pack_heads(const HeadGradient& dq, const HeadGradient& dk, const HeadGradient& dv, const float* cosine,
                const float* sine, void* packed, const Heads& shape, cudaStream_t stream) {
  const std::int64_t threads = shape.tokens * (shape.heads + 2 * shape.kv_heads) * (shape.head_width / 2 / kVector);
  with_type(shape.type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    pack_heads_kernel<<<divide_up(threads, kBlock), kBlock, 0, stream>>>(dq, dk, dv, cosine, sine,
                                                                         static_cast<T*>(packed), shape);
  });
  check_launch("pack_heads");
}

}  // namespace assay::engine::kernels
