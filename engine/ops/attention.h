#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "formats/train_spec.h"

namespace assay::engine {

/// Angles of rotary positions: (seq_length, head_width / 2) each, fp32.
struct RotaryTable {
  at::Tensor cosine;
  at::Tensor sine;
};

struct Llama3Scaling {
  double factor = 0;  ///< 0: none
  double low_frequency = 1;
  double high_frequency = 4;
  double original_length = 8192;
};
RotaryTable rotary_table(std::int64_t seq_length, std::int64_t head_width, double base, const Llama3Scaling& scaling,
                         at::Device device);

struct HeadShape {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_width = 64;
};

struct AttentionSettings {
  Attention kind = Attention::sdpa;
  bool causal = true;
  double dropout = 0;
};

/// Attention over packed (batch, tokens, (heads + 2·kv_heads)·head_width): queries, keys, values, in that order.
/// `rotary` may be null. Returns (batch, tokens, heads·head_width).
at::Tensor packed_attention(const at::Tensor& packed, const HeadShape& shape, const RotaryTable* rotary,
                            const AttentionSettings& settings);

/// Attention over (batch, heads, tokens, width), step by step as in a textbook, softmax in fp32.
at::Tensor eager_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal, double dropout);

}  // namespace assay::engine
