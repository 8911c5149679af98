#include "kernels/device.cuh"

// Max pooling, channels last. A thread does eight channels of one pixel: of the output on the way there, and of the
// input on the way back, where it asks the windows that contain it, so that nothing has to be added atomically.

namespace assay::engine::kernels {
namespace {

constexpr int kBlock = 256;
constexpr int kWindow = 3;
constexpr int kStride = 2;
constexpr int kBorder = 1;

struct alignas(8) Places8 {
  std::uint8_t v[kVector];
};

template <typename T>
__global__ void max_pool_forward_kernel(const T* x, T* y, std::uint8_t* places, Pool shape) {
  const int per_pixel = shape.channels / kVector;
  const int vectors = pooled(shape.width) * per_pixel;
  const int image = blockIdx.x / pooled(shape.height);
  const int first_row = blockIdx.x % pooled(shape.height) * kStride - kBorder;
  for (int i = threadIdx.x; i < vectors; i += kBlock) {
    const int first_column = i / per_pixel * kStride - kBorder;
    const int channel = i % per_pixel * kVector;
    Floats8 best;
    Places8 place;
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      best.v[j] = -INFINITY;
      place.v[j] = static_cast<std::uint8_t>((first_row < 0 ? kWindow : 0) + (first_column < 0 ? 1 : 0));
    }
#pragma unroll
    for (int k = 0; k < kWindow * kWindow; ++k) {
      const int row = first_row + k / kWindow;
      const int column = first_column + k % kWindow;
      if (row < 0 || row >= shape.height || column < 0 || column >= shape.width) continue;
      const std::int64_t pixel = static_cast<std::int64_t>(image * shape.height + row) * shape.width + column;
      const Floats8 values = load8(x + pixel * shape.channels + channel);
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        if (values.v[j] > best.v[j] || isnan(values.v[j])) {
          best.v[j] = values.v[j];
          place.v[j] = static_cast<std::uint8_t>(k);
        }
      }
    }
    const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * vectors + i) * kVector;
    store8(y + at, best);
    *reinterpret_cast<Places8*>(places + at) = place;
  }
}

template <typename T>
__global__ void max_pool_backward_kernel(const T* dy, const std::uint8_t* places, T* dx, Pool shape) {
  const int per_pixel = shape.channels / kVector;
  const int vectors = shape.width * per_pixel;
  const int image = blockIdx.x / shape.height;
  const int own_row = blockIdx.x % shape.height;
  const int height = pooled(shape.height);
  const int width = pooled(shape.width);
  for (int i = threadIdx.x; i < vectors; i += kBlock) {
    const int own_column = i / per_pixel;
    const int channel = i % per_pixel * kVector;
    Floats8 sum{};
    // Windows overlap by one pixel: an odd row or column is in two of them, an even one in one.
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int row = (own_row + k / 2) / kStride;
      const int column = (own_column + k % 2) / kStride;
      const bool seen = (k / 2 == 1 && own_row % 2 == 0) || (k % 2 == 1 && own_column % 2 == 0);
      if (seen || row >= height || column >= width) continue;
      const int place = (own_row - row * kStride + kBorder) * kWindow + own_column - column * kStride + kBorder;
      const std::int64_t pixel = static_cast<std::int64_t>(image * height + row) * width + column;
      const Places8 chosen = *reinterpret_cast<const Places8*>(places + pixel * shape.channels + channel);
      const Floats8 gradient = load8(dy + pixel * shape.channels + channel);
#pragma unroll
      for (int j = 0; j < kVector; ++j) sum.v[j] += chosen.v[j] == place ? gradient.v[j] : 0.0F;
    }
    store8(dx + (static_cast<std::int64_t>(blockIdx.x) * vectors + i) * kVector, sum);
  }
}

}  // namespace

void max_pool_forward(const void* x, void* y, std::uint8_t* places, const Pool& shape, cudaStream_t stream) {
  with_type(shape.type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    max_pool_forward_kernel<<<shape.batch * pooled(shape.height), kBlock, 0, stream>>>(
        static_cast<const T*>(x), static_cast<T*>(y), places, shape);
  });
  check_launch("max_pool_forward");
}

void max_pool_backward(const void* dy, const std::uint8_t* places, void* dx, const Pool& shape, cudaStream_t stream) {
  with_type(shape.type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    max_pool_backward_kernel<<<shape.batch * shape.height, kBlock, 0, stream>>>(static_cast<const T*>(dy), places,
                                                                                static_cast<T*>(dx), shape);
  });
  check_launch("max_pool_backward");
}

}  // namespace assay::engine::kernels
