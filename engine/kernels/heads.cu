#include "kernels/device.cuh"

// Between the packed product for queries, keys and values and the attention kernel: rotary positions on the way in,
// packing (and rotating back) of the gradients on the way out.

namespace assay::engine::kernels {
namespace {

constexpr int kBlock = 160;  // GPT-2 has 144 pieces a token

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

// A block takes one token, a thread eight pairs of one of its heads.
template <typename T>
__global__ void rotate_heads_kernel(const T* packed, const float* cosine, const float* sine, T* q, T* k, Heads shape) {
  const int half = shape.head_width / 2;
  const int vectors = half / kVector;
  const int rotated = shape.heads + shape.kv_heads;
  const std::int64_t token = blockIdx.x;
  const std::int64_t angles = token % shape.seq_length * half;
  const T* row = packed + token * (shape.heads + 2 * shape.kv_heads) * shape.head_width;
  T* own_q = q + token * shape.heads * shape.head_width;
  T* own_k = k + token * shape.kv_heads * shape.head_width;
  for (int index = threadIdx.x; index < rotated * vectors; index += blockDim.x) {
    const int head = index / vectors;
    const int place = (index - head * vectors) * kVector;
    const T* from = row + head * shape.head_width + place;
    Floats8 first = load8(from);
    Floats8 second = load8(from + half);
    rotate(first, second, cosine + angles + place, sine + angles + place, 1.0F);
    T* to = (head < shape.heads ? own_q + head * shape.head_width : own_k + (head - shape.heads) * shape.head_width) +
            place;
    store8(to, first);
    store8(to + half, second);
  }
}

template <typename T>
__global__ void pack_heads_kernel(HeadGradient dq, HeadGradient dk, HeadGradient dv, const float* cosine,
                                  const float* sine, T* packed, Heads shape) {
  const int half = shape.head_width / 2;
  const int vectors = half / kVector;
  const int all = shape.heads + 2 * shape.kv_heads;
  const std::int64_t token = blockIdx.x;
  const std::int64_t batch = token / shape.seq_length;
  const std::int64_t position = token - batch * shape.seq_length;
  T* row = packed + token * all * shape.head_width;
  for (int index = threadIdx.x; index < all * vectors; index += blockDim.x) {
    const int head = index / vectors;
    const int place = (index - head * vectors) * kVector;
    const bool is_query = head < shape.heads;
    const bool is_value = head >= shape.heads + shape.kv_heads;
    const HeadGradient from = is_query ? dq : is_value ? dv : dk;
    const int own = is_query ? head : is_value ? head - shape.heads - shape.kv_heads : head - shape.heads;
    const T* source = static_cast<const T*>(from.data) + batch * from.batch_stride + position * from.token_stride +
                      own * from.head_stride + place;
    Floats8 first = load8(source);
    Floats8 second = load8(source + half);
    if (cosine && !is_value) {
      const std::int64_t angles = position * half + place;
      rotate(first, second, cosine + angles, sine + angles, -1.0F);
    }
    store8(row + head * shape.head_width + place, first);
    store8(row + head * shape.head_width + place + half, second);
  }
}

}  // namespace

void rotate_heads(const void* packed, const float* cosine, const float* sine, void* q, void* k, const Heads& shape,
                  cudaStream_t stream) {
  with_type(shape.type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    rotate_heads_kernel<<<shape.tokens, kBlock, 0, stream>>>(static_cast<const T*>(packed), cosine, sine,
                                                             static_cast<T*>(q), static_cast<T*>(k), shape);
  });
  check_launch("rotate_heads");
}

void pack_heads(const HeadGradient& dq, const HeadGradient& dk, const HeadGradient& dv, const float* cosine,
                const float* sine, void* packed, const Heads& shape, cudaStream_t stream) {
  with_type(shape.type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    pack_heads_kernel<<<shape.tokens, kBlock, 0, stream>>>(dq, dk, dv, cosine, sine, static_cast<T*>(packed), shape);
  });
  check_launch("pack_heads");
}

}  // namespace assay::engine::kernels
