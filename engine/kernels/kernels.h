#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/adam_update.h"

/// The engine's own CUDA kernels, as plain functions: pointers to device memory, sizes, a stream. They know nothing of
/// LibTorch. Every function only enqueues work, unless it says otherwise. Pointers must be aligned to 16 bytes, widths
/// to 8 elements, unless a function says otherwise.
namespace assay::engine::kernels {

enum class Type { f32, bf16, f16 };

/// residual = x + delta (delta may be null: then residual is x and not written);
/// normed = norm(residual) · weight + bias. RMS norm where `mean` and `bias` are null. x and residual are of the type
/// `stream`: f32 or the same as `type`, which delta and normed are of.
struct NormForward {
  const void* x = nullptr;
  const void* delta = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  void* residual = nullptr;
  void* normed = nullptr;
  float* mean = nullptr;
  float* rstd = nullptr;
  std::int64_t rows = 0;
  int width = 0;
  float epsilon = 1e-5F;
  Type stream = Type::f32;
  Type type = Type::f32;
};
bool norm_supported(int width);
void norm_forward(const NormForward& call, cudaStream_t stream);

/// dx = gradient through the norm + d_residual (may be null); d_delta (may be null) gets the same in the type of delta.
/// Types as above: d_normed and d_delta are of `type`, the others of `stream`. `partial` has norm_partials(rows, width)
/// × width floats for dweight and as many for dbias; the sums land in dweight and dbias (null for RMS norm).
struct NormBackward {
  const void* d_normed = nullptr;
  const void* d_residual = nullptr;
  const void* residual = nullptr;
  const float* weight = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  void* dx = nullptr;
  void* d_delta = nullptr;
  float* dweight = nullptr;  ///< null: frozen
  float* dbias = nullptr;
  bool add = false;  ///< to what dweight and dbias have
  float* partial = nullptr;
  std::int64_t rows = 0;
  int width = 0;
  Type stream = Type::f32;
  Type type = Type::f32;
};
int norm_partials(int width);
void norm_backward(const NormBackward& call, cudaStream_t stream);

/// c = a · b, or += with `add`; rows of c, a and b lie next to each other, but for the strides, in elements.
struct Product {
  /// (rows, columns) in memory, or with `transposed` the other way round.
  struct Factor {
    const void* data = nullptr;
    std::int64_t stride = 0;  ///< from one row in memory to the next
    bool transposed = false;
  };
  Factor a;           ///< (m, k)
  Factor b;           ///< (k, n)
  void* c = nullptr;  ///< (m, n)
  std::int64_t c_stride = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* bias = nullptr;   ///< n long, added to every row; may be null
  void* before_gelu = nullptr;  ///< with it, and only with a bias, c = gelu(a · b + bias), and this gets what went in
  bool add = false;
  Type type = Type::bf16;  ///< of everything; sums are in fp32. Not f32.
};
/// By cuBLASLt, in the fastest of the ways that it proposes: they are tried when a shape is met for the first time,
/// which waits for the device, unless the stream is being recorded. Any thread; one stream per device. False: cuBLASLt
/// has none for this, and nothing was done.
bool product(const Product& call, cudaStream_t stream);

/// out[c] = Σ_r x[r, c], or += with `add`; added up in fp32. `partial`: column_sum_splits(rows, columns) × columns
/// floats.
struct ColumnSum {
  void* out = nullptr;
  float* partial = nullptr;
  bool add = false;
};
int column_sum_splits(std::int64_t rows, std::int64_t columns);
void column_sum(const void* x, const ColumnSum& sum, std::int64_t rows, std::int64_t columns, Type type,
                cudaStream_t stream);

/// dx = dy through a GELU (tanh form) of x. Adds up the columns of dx as well, the gradient of the bias before it.
void gelu_backward(const void* dy, const void* x, void* dx, const ColumnSum& dbias, std::int64_t rows,
                   std::int64_t columns, Type type, cudaStream_t stream);

/// y = silu(gate) · up, where a row of `gate_up` is gate, then up, each `width` long.
void swiglu_forward(const void* gate_up, void* y, std::int64_t rows, std::int64_t width, Type type,
                    cudaStream_t stream);
void swiglu_backward(const void* dy, const void* gate_up, void* d_gate_up, std::int64_t rows, std::int64_t width,
                     Type type, cudaStream_t stream);

/// A row of `packed` holds `heads` query heads, then `kv_heads` key heads, then as many value heads, of `head_width`
/// each. Rotates queries and keys by position into q and k, which are (tokens, heads, head_width). `cosine` and `sine`:
/// (seq_length, head_width / 2) floats; pairs are (i, i + head_width/2), as in Hugging Face's Llama.
struct Heads {
  std::int64_t tokens = 0;
  std::int64_t seq_length = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_width = 0;
  Type type = Type::f32;
};
void rotate_heads(const void* packed, const float* cosine, const float* sine, void* q, void* k, const Heads& shape,
                  cudaStream_t stream);

/// The gradient of heads that were split off (and rotated, if `cosine` is given), packed again. Strides in elements,
/// over (batch, token, head); the last dimension is dense.
struct HeadGradient {
  const void* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
};
void pack_heads(const HeadGradient& dq, const HeadGradient& dk, const HeadGradient& dv, const float* cosine,
                const float* sine, void* packed, const Heads& shape, cudaStream_t stream);

/// Softmax cross-entropy of rows of `logits` (row stride `stride`, the first `classes` count). losses[r] gets the loss
/// (0 where targets[r] < 0), correct[r] whether the target is the largest logit (may be null). With `gradient`,
/// logits are overwritten with (softmax − one-hot) · *scale, zero beyond `classes` and for rows without target.
void cross_entropy(void* logits, const std::int64_t* targets, float* losses, float* correct, const float* scale,
                   bool gradient, std::int64_t rows, std::int64_t classes, std::int64_t stride, Type type,
                   cudaStream_t stream);

/// What an optimiser updates: master −= …; work (may be null) gets the rounded copy. All flat, `count` long, a multiple
/// of 8. The gradient is f32 or of the type of `work`.
struct Updated {
  float* master = nullptr;
  void* work = nullptr;
  const void* gradient = nullptr;
  std::int64_t count = 0;
  Type work_type = Type::f32;
  Type gradient_type = Type::f32;
};
void adam(const Updated& updated, float* moment1, float* moment2, const StepValues* values,
          const AdamSettings& settings, cudaStream_t stream);
/// The moments in 8 bits, in blocks of 256 with one scale each (see kernels/eight_bit.h). They may be in page-locked
/// host memory.
void adam_8bit(const Updated& updated, std::uint8_t* moment1, std::uint8_t* moment2, float* scale1, float* scale2,
               const StepValues* values, const AdamSettings& settings, cudaStream_t stream);
void sgd(const Updated& updated, const StepValues* values, float weight_decay, cudaStream_t stream);

/// Batch norm over rows of (rows, channels), then optionally + other and ReLU. Statistics in fp32.
struct BatchNorm {
  const void* x = nullptr;
  const void* other = nullptr;  ///< added before the ReLU; may be null
  void* y = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* mean = nullptr;
  float* rstd = nullptr;
  float* running_mean = nullptr;
  float* running_variance = nullptr;
  float* partial = nullptr;  ///< 2 × column_sum_splits(rows, channels) × channels
  std::int64_t rows = 0;
  int channels = 0;
  float epsilon = 1e-5F;
  float momentum = 0.1F;
  bool relu = true;
  Type type = Type::f32;
};
void batch_norm_forward(const BatchNorm& call, cudaStream_t stream);
/// The gradient dy + dy_shortcut is masked by y > 0 where there was a ReLU; d_other (may be null) gets it so.
struct BatchNormBackward {
  const void* dy = nullptr;
  const void* dy_shortcut = nullptr;  ///< may be null
  const void* x = nullptr;
  const void* y = nullptr;  ///< null: no ReLU
  const float* weight = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  void* dx = nullptr;
  void* d_other = nullptr;
  float* dweight = nullptr;
  float* dbias = nullptr;
  float* partial = nullptr;
  std::int64_t rows = 0;
  int channels = 0;
  Type type = Type::f32;
};
void batch_norm_backward(const BatchNormBackward& call, cudaStream_t stream);

/// The largest of each 3 × 3 window, every second pixel, with a border of one, of (batch, height, width, channels).
/// `places` gets which of the nine it was, the first of equals; backward needs nothing else of the input.
struct Pool {
  int batch = 0;
  int height = 0;
  int width = 0;
  int channels = 0;
  Type type = Type::f32;
};
__host__ __device__ inline int pooled(int size) { return (size + 1) / 2; }
void max_pool_forward(const void* x, void* y, std::uint8_t* places, const Pool& shape, cudaStream_t stream);
void max_pool_backward(const void* dy, const std::uint8_t* places, void* dx, const Pool& shape, cudaStream_t stream);

/// values = what the step in the place *place needs: its learning rate, Adam's bias corrections by how many steps were
/// applied, and the multiplier from the gradient norm: clip / norm where that is less than 1. `loss_scale` may be null;
/// with it, a norm that is not finite makes the multiplier 0. Where it did not, *applied goes up by one.
struct UpdateStart {
  const float* learning_rates = nullptr;
  const std::int64_t* place = nullptr;
  const float* norm_squared = nullptr;
  const LossScale* loss_scale = nullptr;
  float clip = 0;  ///< 0: none
  AdamSettings adam;
  std::int64_t* applied = nullptr;
  StepValues* values = nullptr;
};
void begin_update(const UpdateStart& call, cudaStream_t stream);
/// ring[*place] = {loss, norm}, then *place moves on, round and round, and the loss scale goes where the norm says.
void end_step(const float* loss, const float* norm_squared, LossScale* loss_scale, float* ring, std::int64_t* place,
              std::int64_t window, cudaStream_t stream);
/// *out = Σ x², or += with `add`. `partial` has 1024 floats.
void sum_squares(const void* x, std::int64_t count, float* partial, bool add, float* out, Type type,
                 cudaStream_t stream);

}  // namespace assay::engine::kernels
