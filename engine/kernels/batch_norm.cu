#include "kernels/device.cuh"

// Batch norm on channels-last activations, with the addition of the shortcut and the ReLU fused in: two passes forward
// instead of five, three backward instead of eight. Statistics are exact sums in fp32, in a fixed order.

namespace assay::engine::kernels {
namespace {

constexpr int kBlock = 256;

template <typename T>
__global__ void statistics_kernel(const T* x, const float* shift, float* partial, std::int64_t rows, int channels) {
  stripe_sums<2>(partial, rows, channels, [&](std::int64_t row, std::int64_t channel, Floats8* values) {
    Floats8& sum = values[0];
    Floats8& squares = values[1];
    sum = load8(x + row * channels + channel);
    // Relative to the running mean: squares of large, nearly equal numbers would cancel.
    const Floats8 about = load8(shift + channel);
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      sum.v[j] -= about.v[j];
      squares.v[j] = sum.v[j] * sum.v[j];
    }
  });
}

__global__ void finish_statistics(const float* partial, int splits, std::int64_t rows, int channels, float epsilon,
                                  float momentum, float* mean, float* rstd, float* running_mean,
                                  float* running_variance) {
  const int channel = blockIdx.x * kWarp + threadIdx.x;
  const float sum = sum_of_stripes(partial, splits, channels, channel);
  const float squares =
      sum_of_stripes(partial + static_cast<std::int64_t>(splits) * channels, splits, channels, channel);
  if (threadIdx.y != 0 || channel >= channels) return;
  const float n = static_cast<float>(rows);
  const float shifted = sum / n;
  const float variance = fmaxf(squares / n - shifted * shifted, 0.0F);
  const float average = shifted + running_mean[channel];
  mean[channel] = average;
  rstd[channel] = rsqrtf(variance + epsilon);
  running_mean[channel] += momentum * (average - running_mean[channel]);
  running_variance[channel] += momentum * (variance * n / fmaxf(n - 1, 1.0F) - running_variance[channel]);
}

template <typename T>
__global__ void apply_kernel(const T* x, const T* other, T* y, const float* weight, const float* bias,
                             const float* mean, const float* rstd, std::int64_t vectors, int channels, bool relu) {
  const std::int64_t vector = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (vector >= vectors) return;
  const int channel = static_cast<int>(vector % (channels / kVector)) * kVector;
  Floats8 values = load8(x + vector * kVector);
  const Floats8 w = load8(weight + channel);
  const Floats8 b = load8(bias + channel);
  const Floats8 m = load8(mean + channel);
  const Floats8 r = load8(rstd + channel);
#pragma unroll
  for (int j = 0; j < kVector; ++j) values.v[j] = (values.v[j] - m.v[j]) * r.v[j] * w.v[j] + b.v[j];
  if (other) {
    const Floats8 added = load8(other + vector * kVector);
#pragma unroll
    for (int j = 0; j < kVector; ++j) values.v[j] += added.v[j];
  }
  if (relu) {
#pragma unroll
    for (float& value : values.v) value = fmaxf(value, 0.0F);
  }
  store8(y + vector * kVector, values);
}

template <typename T>
__device__ Floats8 masked_gradient(const T* dy, const T* dy_shortcut, const T* y, std::int64_t at) {
  Floats8 gradient = load8(dy + at);
  if (dy_shortcut) {
    const Floats8 added = load8(dy_shortcut + at);
#pragma unroll
    for (int j = 0; j < kVector; ++j) gradient.v[j] += added.v[j];
  }
  if (y) {
    const Floats8 output = load8(y + at);
#pragma unroll
    for (int j = 0; j < kVector; ++j) gradient.v[j] = output.v[j] > 0 ? gradient.v[j] : 0.0F;
  }
  return gradient;
}

template <typename T>
__global__ void backward_sums_kernel(const T* dy, const T* dy_shortcut, const T* x, const T* y, const float* mean,
                                     const float* rstd, float* partial, std::int64_t rows, int channels) {
  stripe_sums<2>(partial, rows, channels, [&](std::int64_t row, std::int64_t channel, Floats8* values) {
    const std::int64_t at = row * channels + channel;
    Floats8& gradient = values[0];
    Floats8& product = values[1];
    gradient = masked_gradient(dy, dy_shortcut, y, at);
    product = load8(x + at);
    const Floats8 m = load8(mean + channel);
    const Floats8 r = load8(rstd + channel);
#pragma unroll
    for (int j = 0; j < kVector; ++j) product.v[j] = gradient.v[j] * (product.v[j] - m.v[j]) * r.v[j];
  });
}

__global__ void finish_backward_sums(const float* partial, int splits, int channels, float* dbias, float* dweight) {
  const int channel = blockIdx.x * kWarp + threadIdx.x;
  const float gradient = sum_of_stripes(partial, splits, channels, channel);
  const float product =
      sum_of_stripes(partial + static_cast<std::int64_t>(splits) * channels, splits, channels, channel);
  if (threadIdx.y != 0 || channel >= channels) return;
  dbias[channel] = gradient;
  dweight[channel] = product;
}

template <typename T>
__global__ void backward_apply_kernel(const T* dy, const T* dy_shortcut, const T* x, const T* y, const float* weight,
                                      const float* mean, const float* rstd, const float* dweight, const float* dbias,
                                      T* dx, T* d_other, std::int64_t vectors, int channels, float inverse_rows) {
  const std::int64_t vector = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (vector >= vectors) return;
  const std::int64_t at = vector * kVector;
  const int channel = static_cast<int>(vector % (channels / kVector)) * kVector;
  const Floats8 gradient = masked_gradient(dy, dy_shortcut, y, at);
  if (d_other) store8(d_other + at, gradient);
  Floats8 values = load8(x + at);
  const Floats8 w = load8(weight + channel);
  const Floats8 m = load8(mean + channel);
  const Floats8 r = load8(rstd + channel);
  const Floats8 dw = load8(dweight + channel);
  const Floats8 db = load8(dbias + channel);
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const float normal = (values.v[j] - m.v[j]) * r.v[j];
    values.v[j] = (gradient.v[j] - (db.v[j] + normal * dw.v[j]) * inverse_rows) * r.v[j] * w.v[j];
  }
  store8(dx + at, values);
}

}  // namespace

void batch_norm_forward(const BatchNorm& call, cudaStream_t stream) {
  const int splits = column_sum_splits(call.rows, call.channels);
  const std::int64_t vectors = call.rows * call.channels / kVector;
  with_type(call.type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    statistics_kernel<<<stripe_grid(call.rows, call.channels), stripe_block(call.channels), 0, stream>>>(
        static_cast<const T*>(call.x), call.running_mean, call.partial, call.rows, call.channels);
    finish_statistics<<<finish_grid(call.channels), finish_block(), 0, stream>>>(
        call.partial, splits, call.rows, call.channels, call.epsilon, call.momentum, call.mean, call.rstd,
        call.running_mean, call.running_variance);
    apply_kernel<<<divide_up(vectors, kBlock), kBlock, 0, stream>>>(
        static_cast<const T*>(call.x), static_cast<const T*>(call.other), static_cast<T*>(call.y), call.weight,
        call.bias, call.mean, call.rstd, vectors, call.channels, call.relu);
  });
  check_launch("batch_norm_forward");
}

void batch_norm_backward(const BatchNormBackward& call, cudaStream_t stream) {
  const int splits = column_sum_splits(call.rows, call.channels);
  const std::int64_t vectors = call.rows * call.channels / kVector;
  with_type(call.type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    const auto* dy = static_cast<const T*>(call.dy);
    const auto* dy_shortcut = static_cast<const T*>(call.dy_shortcut);
    const auto* x = static_cast<const T*>(call.x);
    const auto* y = static_cast<const T*>(call.y);
    backward_sums_kernel<<<stripe_grid(call.rows, call.channels), stripe_block(call.channels), 0, stream>>>(
        dy, dy_shortcut, x, y, call.mean, call.rstd, call.partial, call.rows, call.channels);
    finish_backward_sums<<<finish_grid(call.channels), finish_block(), 0, stream>>>(call.partial, splits, call.channels,
                                                                                    call.dbias, call.dweight);
    backward_apply_kernel<<<divide_up(vectors, kBlock), kBlock, 0, stream>>>(
        dy, dy_shortcut, x, y, call.weight, call.mean, call.rstd, call.dweight, call.dbias, static_cast<T*>(call.dx),
        static_cast<T*>(call.d_other), vectors, call.channels, 1.0F / static_cast<float>(call.rows));
  });
  check_launch("batch_norm_backward");
}

}  // namespace assay::engine::kernels
