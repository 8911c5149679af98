#include "ops/attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "core/cuda.h"
#include "core/torch_compat.h"

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Split {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

/// (batch, tokens, heads, width) views of the packed tensor.
Split views_of(const at::Tensor& packed, const HeadShape& shape) {
  const at::Tensor all =
      packed.view({packed.size(0), packed.size(1), shape.heads + 2 * shape.kv_heads, shape.head_width});
  return {all.narrow(2, 0, shape.heads), all.narrow(2, shape.heads, shape.kv_heads),
          all.narrow(2, shape.heads + shape.kv_heads, shape.kv_heads)};
}

/// x is (batch, tokens, heads, width); pairs are (i, i + width/2).
at::Tensor rotate(const at::Tensor& x, const RotaryTable& rotary) {
  const auto halves = x.to(at::kFloat).chunk(2, -1);
  const at::Tensor cosine = rotary.cosine.unsqueeze(1);
  const at::Tensor sine = rotary.sine.unsqueeze(1);
  return at::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, -1)
      .to(x.scalar_type());
}

#ifdef ASSAY_ENGINE_KERNELS

kernels::HeadGradient head_gradient(const at::Tensor& x) {
  return {x.data_ptr(), x.stride(0), x.stride(1), x.stride(2)};
}

/// Splitting is free on the way in; on the way back one kernel packs (and rotates back) all three gradients.
struct SplitHeads : torch::autograd::Function<SplitHeads> {
  static variable_list forward(AutogradContext* context, const at::Tensor& packed, std::int64_t heads,
                               std::int64_t kv_heads, std::int64_t head_width, const MaybeTensor& cosine_given,
                               const MaybeTensor& sine_given) {
    const at::Tensor cosine = or_undefined(cosine_given);
    const at::Tensor sine = or_undefined(sine_given);
    context->saved_data["shape"] = std::vector<std::int64_t>{heads, kv_heads, head_width};
    context->save_for_backward({cosine, sine});
    Split split = views_of(packed, {heads, kv_heads, head_width});
    if (!cosine.defined()) return {split.q, split.k, split.v};
    const auto options = packed.options();
    at::Tensor q = at::empty(split.q.sizes(), options);
    at::Tensor k = at::empty(split.k.sizes(), options);
    kernels::rotate_heads(packed.data_ptr(), cosine.data_ptr<float>(), sine.data_ptr<float>(), q.data_ptr(),
                          k.data_ptr(), describe(packed, heads, kv_heads, head_width), current_stream());
    return {q, k, split.v};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto shape = context->saved_data["shape"].toIntVector();
    const auto saved = context->get_saved_variables();
    for (auto& gradient : gradients) {
      if (gradient.stride(-1) != 1) gradient = gradient.contiguous();
    }
    const at::Tensor& dq = gradients[0];
    at::Tensor packed = at::empty({dq.size(0), dq.size(1), (shape[0] + 2 * shape[1]) * shape[2]}, dq.options());
    const bool rotated = saved[0].defined();
    kernels::pack_heads(head_gradient(dq), head_gradient(gradients[1]), head_gradient(gradients[2]),
                        rotated ? saved[0].data_ptr<float>() : nullptr, rotated ? saved[1].data_ptr<float>() : nullptr,
                        packed.data_ptr(), describe(packed, shape[0], shape[1], shape[2]), current_stream());
    return {packed, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }

  static kernels::Heads describe(const at::Tensor& packed, std::int64_t heads, std::int64_t kv_heads,
                                 std::int64_t head_width) {
    return {.tokens = packed.size(0) * packed.size(1),
            .seq_length = packed.size(1),
            .heads = static_cast<int>(heads),
            .kv_heads = static_cast<int>(kv_heads),
            .head_width = static_cast<int>(head_width),
            .type = kernel_type(packed)};
  }
};

#endif

Split split_heads(const at::Tensor& packed, const HeadShape& shape, const RotaryTable* rotary) {
#ifdef ASSAY_ENGINE_KERNELS
  if (has_own_kernels(packed) && shape.head_width % 16 == 0) {
    auto out = SplitHeads::apply(packed.contiguous(), shape.heads, shape.kv_heads, shape.head_width,
                                 rotary ? MaybeTensor(rotary->cosine) : MaybeTensor(),
                                 rotary ? MaybeTensor(rotary->sine) : MaybeTensor());
    return {out[0], out[1], out[2]};
  }
#endif
  Split split = views_of(packed, shape);
  if (rotary) {
    split.q = rotate(split.q, *rotary);
    split.k = rotate(split.k, *rotary);
  }
  return split;
}

}  // namespace

RotaryTable rotary_table(std::int64_t seq_length, std::int64_t head_width, double base, const Llama3Scaling& scaling,
                         at::Device device) {
  const std::int64_t half = head_width / 2;
  const at::Tensor angles = at::empty({seq_length, half}, at::kDouble);
  auto* angle = angles.data_ptr<double>();
  for (std::int64_t i = 0; i < half; ++i) {
    double frequency = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(head_width));
    if (scaling.factor > 0) {
      // Long waves are stretched by the factor, short ones stay, those between are blended.
      const double turns = scaling.original_length * frequency / (2 * std::numbers::pi);
      const double blend =
          std::clamp((turns - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency), 0.0, 1.0);
      frequency *= blend + (1 - blend) / scaling.factor;
    }
    for (std::int64_t t = 0; t < seq_length; ++t) angle[t * half + i] = static_cast<double>(t) * frequency;
  }
  return {angles.cos().to(device, at::kFloat), angles.sin().to(device, at::kFloat)};
}

at::Tensor eager_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal, double dropout) {
  const std::int64_t times = q.size(1) / k.size(1);
  const at::Tensor keys = times == 1 ? k : k.repeat_interleave(times, 1);
  const at::Tensor values = times == 1 ? v : v.repeat_interleave(times, 1);
  at::Tensor scores = at::matmul(q, keys.transpose(-2, -1)) * (1 / std::sqrt(static_cast<double>(q.size(-1))));
  if (causal) {
    const at::Tensor future =
        at::ones({q.size(2), k.size(2)}, q.options().dtype(at::kBool)).triu(k.size(2) - q.size(2) + 1);
    scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  }
  at::Tensor weights = at::softmax(scores, -1, at::kFloat).to(q.scalar_type());
  if (dropout > 0) weights = at::dropout(weights, dropout, true);
  return at::matmul(weights, values);
}

at::Tensor packed_attention(const at::Tensor& packed, const HeadShape& shape, const RotaryTable* rotary,
                            const AttentionSettings& settings) {
  const Split split = split_heads(packed, shape, rotary);
  const at::Tensor q = split.q.transpose(1, 2);
  const at::Tensor k = split.k.transpose(1, 2);
  const at::Tensor v = split.v.transpose(1, 2);
  const at::Tensor out = settings.kind == Attention::eager
                             ? eager_attention(q, k, v, settings.causal, settings.dropout)
                             : torch_attention(q, k, v, settings.causal, settings.dropout);
  return out.transpose(1, 2).reshape({packed.size(0), packed.size(1), shape.heads * shape.head_width});
}

}  // namespace assay::engine
