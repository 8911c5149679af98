#include "kernels/device.cuh"

// The way back through GELU, SwiGLU, and sums over columns (gradients of biases), which the former does in passing.

namespace assay::engine::kernels {
namespace {

constexpr int kBlock = 256;
constexpr float kGeluScale = 0.7978845608028654F;  // √(2/π)
constexpr float kGeluCubic = 0.044715F;

__device__ float gelu_slope(float x) {
  const float t = tanhf(kGeluScale * (x + kGeluCubic * x * x * x));
  return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * kGeluScale * (1.0F + 3.0F * kGeluCubic * x * x);
}

template <typename T>
__global__ void column_sum_kernel(const T* x, float* partial, std::int64_t rows, std::int64_t columns) {
  stripe_sums<1>(partial, rows, columns, [&](std::int64_t row, std::int64_t column, Floats8* values) {
    values[0] = load8(x + row * columns + column);
  });
}

template <typename T>
__global__ void gelu_backward_kernel(const T* __restrict__ dy, const T* __restrict__ x, T* __restrict__ dx,
                                     float* partial, std::int64_t rows, std::int64_t columns) {
  stripe_sums<1>(partial, rows, columns, [&](std::int64_t row, std::int64_t column, Floats8* values) {
    const std::int64_t at = row * columns + column;
    Floats8 gradient = load8(dy + at);
    const Floats8 input = load8(x + at);
#pragma unroll
    for (int j = 0; j < kVector; ++j) gradient.v[j] *= gelu_slope(input.v[j]);
    store8(dx + at, gradient);
    values[0] = gradient;
  });
}

template <typename T>
__global__ void finish_column_sum(const float* partial, T* out, bool add, int splits, std::int64_t columns) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const float sum = sum_of_stripes(partial, splits, columns, column);
  if (threadIdx.y == 0 && column < columns) {
    out[column] = from_float<T>(add ? static_cast<float>(out[column]) + sum : sum);
  }
}

template <typename T>
__global__ void swiglu_forward_kernel(const T* gate_up, T* y, std::int64_t rows, std::int64_t width) {
  const std::int64_t vector = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t per_row = width / kVector;
  if (vector >= rows * per_row) return;
  const std::int64_t row = vector / per_row;
  const std::int64_t column = (vector - row * per_row) * kVector;
  const Floats8 gate = load8(gate_up + row * 2 * width + column);
  const Floats8 up = load8(gate_up + row * 2 * width + width + column);
  Floats8 out;
#pragma unroll
  for (int j = 0; j < kVector; ++j) out.v[j] = gate.v[j] / (1.0F + __expf(-gate.v[j])) * up.v[j];
  store8(y + row * width + column, out);
}

template <typename T>
__global__ void swiglu_backward_kernel(const T* dy, const T* gate_up, T* d_gate_up, std::int64_t rows,
                                       std::int64_t width) {
  const std::int64_t vector = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t per_row = width / kVector;
  if (vector >= rows * per_row) return;
  const std::int64_t row = vector / per_row;
  const std::int64_t column = (vector - row * per_row) * kVector;
  const Floats8 gradient = load8(dy + row * width + column);
  const Floats8 gate = load8(gate_up + row * 2 * width + column);
  const Floats8 up = load8(gate_up + row * 2 * width + width + column);
  Floats8 d_gate;
  Floats8 d_up;
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const float sigmoid = 1.0F / (1.0F + __expf(-gate.v[j]));
    const float silu = gate.v[j] * sigmoid;
    d_up.v[j] = gradient.v[j] * silu;
    d_gate.v[j] = gradient.v[j] * up.v[j] * (sigmoid + silu * (1.0F - sigmoid));
  }
  store8(d_gate_up + row * 2 * width + column, d_gate);
  store8(d_gate_up + row * 2 * width + width + column, d_up);
}

/// One stripe of fp32 is the result already, if it is not to be added to another.
bool is_finished(const ColumnSum& sum, std::int64_t rows, std::int64_t columns, Type type) {
  return !sum.add && type == Type::f32 && column_sum_splits(rows, columns) == 1;
}

template <typename T>
void finish(const ColumnSum& sum, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  finish_column_sum<<<finish_grid(columns), finish_block(), 0, stream>>>(sum.partial, static_cast<T*>(sum.out), sum.add,
                                                                         column_sum_splits(rows, columns), columns);
}

}  // namespace

// Enough blocks to fill a large device eight times over, and stripes of at least 64 rows.
int column_sum_splits(std::int64_t rows, std::int64_t columns) {
  const std::int64_t wanted = divide_up(1024, divide_up(columns, kWarp * kVector));
  const std::int64_t most = divide_up(rows, 64);
  return static_cast<int>(wanted < most ? wanted : most);
}

void column_sum(const void* x, const ColumnSum& sum, std::int64_t rows, std::int64_t columns, Type type,
                cudaStream_t stream) {
  const bool finished = is_finished(sum, rows, columns, type);
  float* partial = finished ? static_cast<float*>(sum.out) : sum.partial;
  with_type(type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    column_sum_kernel<<<stripe_grid(rows, columns), stripe_block(columns), 0, stream>>>(static_cast<const T*>(x),
                                                                                        partial, rows, columns);
    if (!finished) finish<T>(sum, rows, columns, stream);
  });
  check_launch("column_sum");
}

void gelu_backward(const void* dy, const void* x, void* dx, const ColumnSum& dbias, std::int64_t rows,
                   std::int64_t columns, Type type, cudaStream_t stream) {
  const bool finished = is_finished(dbias, rows, columns, type);
  float* partial = finished ? static_cast<float*>(dbias.out) : dbias.partial;
  with_type(type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    gelu_backward_kernel<<<stripe_grid(rows, columns), stripe_block(columns), 0, stream>>>(
        static_cast<const T*>(dy), static_cast<const T*>(x), static_cast<T*>(dx), partial, rows, columns);
    if (!finished) finish<T>(dbias, rows, columns, stream);
  });
  check_launch("gelu_backward");
}

void swiglu_forward(const void* gate_up, void* y, std::int64_t rows, std::int64_t width, Type type,
                    cudaStream_t stream) {
  with_type(type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    swiglu_forward_kernel<<<divide_up(rows * width / kVector, kBlock), kBlock, 0, stream>>>(
        static_cast<const T*>(gate_up), static_cast<T*>(y), rows, width);
  });
  check_launch("swiglu_forward");
}

void swiglu_backward(const void* dy, const void* gate_up, void* d_gate_up, std::int64_t rows, std::int64_t width,
                     Type type, cudaStream_t stream) {
  with_type(type, [&](auto* pointer) {
    using T = std::remove_pointer_t<decltype(pointer)>;
    swiglu_backward_kernel<<<divide_up(rows * width / kVector, kBlock), kBlock, 0, stream>>>(
        static_cast<const T*>(dy), static_cast<const T*>(gate_up), static_cast<T*>(d_gate_up), rows, width);
  });
  check_launch("swiglu_backward");
}

}  // namespace assay::engine::kernels
