#include "kernels/device.cuh"

// Layer norm and RMS norm, with the addition to the residual stream fused in. A row is held in registers: by one warp
// up to 1,024 wide (four rows a block), by one block above that.

namespace assay::engine::kernels {
namespace {

constexpr int kBlock = 128;

// R is the type of the residual stream, T that of the branches.
template <typename R, typename T, int kThreads, int kItems, bool kRms>
__global__ void __launch_bounds__(kThreads == kWarp ? kBlock : kThreads)
    norm_forward_kernel(const R* x, const T* delta, const float* weight, const float* bias, R* residual, T* normed,
                        float* mean_out, float* rstd_out, std::int64_t rows, int width, float epsilon) {
  __shared__ float shared[kThreads / kWarp + 1];
  constexpr int kRowsPerBlock = kThreads == kWarp ? kBlock / kWarp : 1;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / kThreads;
  if (row >= rows) return;
  const int lane = threadIdx.x % kThreads;
  const int vectors = width / kVector;
  const std::int64_t base = row * width;

  Floats8 values[kItems];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int vector = lane + i * kThreads;
    if (vector >= vectors) continue;
    values[i] = load8(x + base + vector * kVector);
    if (delta) {
      const Floats8 added = load8(delta + base + vector * kVector);
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        // Rounded as it is stored: the backward pass reads the stored one.
        values[i].v[j] = to_float(from_float<R>(values[i].v[j] + added.v[j]));
      }
      store8(residual + base + vector * kVector, values[i]);
    }
#pragma unroll
    for (int j = 0; j < kVector; ++j) sum += kRms ? values[i].v[j] * values[i].v[j] : values[i].v[j];
  }
  sum = sum_over<kThreads>(sum, shared);
  float mean = 0;
  float variance = sum / width;
  if constexpr (!kRms) {
    mean = sum / width;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (lane + i * kThreads >= vectors) continue;
#pragma unroll
      for (int j = 0; j < kVector; ++j) squares += (values[i].v[j] - mean) * (values[i].v[j] - mean);
    }
    variance = sum_over<kThreads>(squares, shared) / width;
  }
  const float rstd = rsqrtf(variance + epsilon);
  if (lane == 0) {
    if constexpr (!kRms) mean_out[row] = mean;
    rstd_out[row] = rstd;
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int vector = lane + i * kThreads;
    if (vector >= vectors) continue;
    const Floats8 w = load8(weight + vector * kVector);
    Floats8 out;
#pragma unroll
    for (int j = 0; j < kVector; ++j) out.v[j] = (values[i].v[j] - mean) * rstd * w.v[j];
    if constexpr (!kRms) {
      const Floats8 b = load8(bias + vector * kVector);
#pragma unroll
      for (int j = 0; j < kVector; ++j) out.v[j] += b.v[j];
    }
    store8(normed + base + vector * kVector, out);
  }
}

// One block a row, few elements a thread: many rows are under way at a time, and the sums over rows stay in registers.
template <typename R, typename T, int kThreads, int kItems, bool kRms>
__global__ void __launch_bounds__(kThreads)
    norm_backward_kernel(const T* d_normed, const R* d_residual, const R* residual, const float* weight,
                         const float* means, const float* rstds, R* dx, T* d_delta, float* partial_weight,
                         float* partial_bias, std::int64_t rows, int width) {
  __shared__ TwoSums shared[kThreads / kWarp];
  const int lane = threadIdx.x;
  const int vectors = width / kVector;

  Floats8 weights[kItems] = {};
  Floats8 sum_weight[kItems] = {};
  Floats8 sum_bias[kRms ? 1 : kItems] = {};
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int vector = lane + i * kThreads;
    if (vector < vectors) weights[i] = load8(weight + vector * kVector);
  }
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t base = row * width;
    const float mean = kRms ? 0.0F : means[row];
    const float rstd = rstds[row];
    Floats8 normal[kItems];    // the normalised input
    Floats8 gradient[kItems];  // d_normed · weight
    Floats8 added[kItems] = {};
    TwoSums sums{0, 0};
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int vector = lane + i * kThreads;
      if (vector >= vectors) continue;
      normal[i] = load8(residual + base + vector * kVector);
      gradient[i] = load8(d_normed + base + vector * kVector);
      if (d_residual) added[i] = load8(d_residual + base + vector * kVector);
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        normal[i].v[j] = (normal[i].v[j] - mean) * rstd;
        sum_weight[i].v[j] += gradient[i].v[j] * normal[i].v[j];
        if constexpr (!kRms) sum_bias[i].v[j] += gradient[i].v[j];
        gradient[i].v[j] *= weights[i].v[j];
        sums.first += gradient[i].v[j];
        sums.second += gradient[i].v[j] * normal[i].v[j];
      }
    }
    sums = sum_over<kThreads>(sums, shared);
    const float mean_gradient = kRms ? 0.0F : sums.first / width;
    const float mean_product = sums.second / width;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int vector = lane + i * kThreads;
      if (vector >= vectors) continue;
      Floats8 out;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        out.v[j] = (gradient[i].v[j] - mean_gradient - normal[i].v[j] * mean_product) * rstd + added[i].v[j];
      }
      store8(dx + base + vector * kVector, out);
      if (d_delta) store8(d_delta + base + vector * kVector, out);
    }
  }
  if (!partial_weight) return;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int vector = lane + i * kThreads;
    if (vector >= vectors) continue;
    const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * width + vector * kVector;
    store8(partial_weight + at, sum_weight[i]);
    if constexpr (!kRms) store8(partial_bias + at, sum_bias[i]);
  }
}

/// For the weight where blockIdx.y is 0, for the bias where it is 1.
__global__ void sum_partials(const float* partial, float* dweight, float* dbias, int groups, int width, bool add) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const float* own = partial + static_cast<std::int64_t>(blockIdx.y) * groups * width;
  const float sum = sum_of_stripes(own, groups, width, column);
  float* out = blockIdx.y == 0 ? dweight : dbias;
  if (threadIdx.y == 0 && column < width) out[column] = add ? out[column] + sum : sum;
}

template <int kThreads, int kItems>
struct Shape {
  static constexpr int threads = kThreads;
  static constexpr int items = kItems;
  static constexpr int block = kThreads == kWarp ? kBlock : kThreads;
  static constexpr int rows_per_block = kThreads == kWarp ? kBlock / kWarp : 1;
};

template <typename Function>
void with_shape(int width, Function&& function) {
  if (width <= 256) return function(Shape<32, 1>());
  if (width <= 512) return function(Shape<32, 2>());
  if (width <= 768) return function(Shape<32, 3>());
  if (width <= 1024) return function(Shape<32, 4>());
  if (width <= 2048) return function(Shape<256, 1>());
  if (width <= 4096) return function(Shape<256, 2>());
  return function(Shape<512, 2>());
}

template <int kThreads, int kItems>
struct BackwardShape {
  static constexpr int threads = kThreads;
  static constexpr int items = kItems;
};

template <typename Function>
void with_backward_shape(int width, Function&& function) {
  if (width <= 512) return function(BackwardShape<64, 1>());
  if (width <= 768) return function(BackwardShape<96, 1>());
  if (width <= 1024) return function(BackwardShape<128, 1>());
  if (width <= 2048) return function(BackwardShape<256, 1>());
  if (width <= 4096) return function(BackwardShape<512, 1>());
  return function(BackwardShape<512, 2>());
}

// Enough blocks to fill every multiprocessor with about 1,536 threads; more would only make more partial sums.
int backward_blocks(int width) {
  int blocks = 0;
  with_backward_shape(width, [&](auto shape) { blocks = multiprocessors() * (1536 / decltype(shape)::threads); });
  return blocks;
}

}  // namespace

bool norm_supported(int width) { return width % kVector == 0 && width <= 8192; }

void norm_forward(const NormForward& call, cudaStream_t stream) {
  with_types(call.stream, call.type, [&](auto* stream_pointer, auto* pointer) {
    using R = std::remove_pointer_t<decltype(stream_pointer)>;
    using T = std::remove_pointer_t<decltype(pointer)>;
    with_shape(call.width, [&](auto shape) {
      using S = decltype(shape);
      const auto launch = [&](auto kernel) {
        kernel<<<divide_up(call.rows, S::rows_per_block), S::block, 0, stream>>>(
            static_cast<const R*>(call.x), static_cast<const T*>(call.delta), call.weight, call.bias,
            static_cast<R*>(call.residual), static_cast<T*>(call.normed), call.mean, call.rstd, call.rows, call.width,
            call.epsilon);
      };
      if (call.mean) {
        launch(norm_forward_kernel<R, T, S::threads, S::items, false>);
      } else {
        launch(norm_forward_kernel<R, T, S::threads, S::items, true>);
      }
    });
  });
  check_launch("norm_forward");
}

int norm_partials(int width) { return backward_blocks(width); }

void norm_backward(const NormBackward& call, cudaStream_t stream) {
  const int groups = norm_partials(call.width);
  float* partial_weight = call.dweight ? call.partial : nullptr;
  float* partial_bias = call.partial + static_cast<std::int64_t>(groups) * call.width;
  with_types(call.stream, call.type, [&](auto* stream_pointer, auto* pointer) {
    using R = std::remove_pointer_t<decltype(stream_pointer)>;
    using T = std::remove_pointer_t<decltype(pointer)>;
    with_backward_shape(call.width, [&](auto shape) {
      using S = decltype(shape);
      const auto launch = [&](auto kernel) {
        kernel<<<groups, S::threads, 0, stream>>>(
            static_cast<const T*>(call.d_normed), static_cast<const R*>(call.d_residual),
            static_cast<const R*>(call.residual), call.weight, call.mean, call.rstd, static_cast<R*>(call.dx),
            static_cast<T*>(call.d_delta), partial_weight, partial_bias, call.rows, call.width);
      };
      if (call.mean) {
        launch(norm_backward_kernel<R, T, S::threads, S::items, false>);
      } else {
        launch(norm_backward_kernel<R, T, S::threads, S::items, true>);
      }
    });
  });
  if (call.dweight) {
    sum_partials<<<dim3(finish_grid(call.width), call.dbias ? 2 : 1), finish_block(), 0, stream>>>(
        call.partial, call.dweight, call.dbias, groups, call.width, call.add);
  }
  check_launch("norm_backward");
}

}  // namespace assay::engine::kernels
