#include "models/transformer.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>

#include "formats/failure.h"
#include "ops/loss.h"

namespace assay::engine {
namespace {

struct NamedShape {
  std::string_view name;
  TransformerShape shape;
};

TransformerShape gpt2(std::int64_t layers, std::int64_t width, std::int64_t heads) {
  return {.layers = layers, .width = width, .heads = heads, .kv_heads = heads, .inner_width = 4 * width};
}

TransformerShape llama(std::int64_t layers, std::int64_t width, std::int64_t kv_heads, std::int64_t inner_width,
                       std::int64_t vocabulary) {
  return {.layers = layers,
          .width = width,
          .heads = 32,
          .kv_heads = kv_heads,
          .inner_width = inner_width,
          .vocabulary = vocabulary,
          .positions = 0,
          .tied = false};
}

TransformerShape llama3(TransformerShape shape, double factor, bool tied) {
  shape.tied = tied;
  shape.rope_base = 500000;
  shape.rope_scaling = {.factor = factor};
  return shape;
}

TransformerShape bert() { return {.vocabulary = 30522, .positions = 512, .norm_epsilon = 1e-12}; }

const std::array<NamedShape, 9>& named_shapes() {
  static const std::array<NamedShape, 9> shapes = {{
      {"gpt2", gpt2(12, 768, 12)},
      {"gpt2-medium", gpt2(24, 1024, 16)},
      {"gpt2-large", gpt2(36, 1280, 20)},
      {"gpt2-xl", gpt2(48, 1600, 25)},
      {"bert-base", bert()},
      {"tinyllama-1.1b", llama(22, 2048, 4, 5632, 32000)},
      {"llama-3.2-1b", llama3(llama(16, 2048, 8, 8192, 128256), 32, true)},
      {"llama-3.1-8b", llama3(llama(32, 4096, 8, 14336, 128256), 8, false)},
      {"mistral-7b", llama(32, 4096, 8, 14336, 32000)},
  }};
  return shapes;
}

void change_width(TransformerShape& shape, std::int64_t width) {
  const double ratio = static_cast<double>(shape.inner_width) / static_cast<double>(shape.width);
  shape.inner_width = std::max<std::int64_t>(8, std::llround(ratio * static_cast<double>(width) / 8) * 8);
  shape.width = width;
}

void change_heads(TransformerShape& shape, std::int64_t heads) {
  const std::int64_t per_group = shape.heads / shape.kv_heads;
  shape.kv_heads = heads % per_group == 0 ? heads / per_group : heads;
  shape.heads = heads;
}

void check(const TransformerShape& shape, const std::string& name) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  if (shape.width % shape.heads != 0) {
    throw Failure(
        "bad_spec",
        "model '" + name + "': " + number(shape.heads) + " heads do not divide the width " + number(shape.width),
        "Give `model.heads` and `model.width` that fit, for example {width: 64, heads: 2}.");
  }
  if (shape.heads % shape.kv_heads != 0) {
    throw Failure("bad_spec", "model '" + name + "': " + number(shape.kv_heads) +
                                  " key/value heads do not divide the " + number(shape.heads) + " heads");
  }
  if (shape.head_width() % 2 != 0 && shape.positions == 0) {
    throw Failure("bad_spec", "model '" + name + "': a head is " + number(shape.head_width()) +
                                  " wide; rotary positions need an even width");
  }
}

}  // namespace

bool is_language_model(const std::string& name) {
  for (const auto& entry : named_shapes()) {
    if (entry.name == name) return true;
  }
  return false;
}

TransformerShape transformer_shape(const ModelSpec& spec) {
  for (const auto& entry : named_shapes()) {
    if (entry.name != spec.name) continue;
    TransformerShape shape = entry.shape;
    if (spec.layers) shape.layers = *spec.layers;
    if (spec.width) change_width(shape, *spec.width);
    if (spec.heads) change_heads(shape, *spec.heads);
    if (spec.kv_heads) shape.kv_heads = *spec.kv_heads;
    if (spec.vocabulary) shape.vocabulary = *spec.vocabulary;
    check(shape, spec.name);
    return shape;
  }
  throw Failure("bad_spec", "'" + spec.name + "' is not a language model");
}

LanguageModel::LanguageModel(const TrainSpec& spec, const TransformerShape& shape, std::int64_t seq_length)
    : shape_(shape),
      seq_length_(seq_length),
      attention_(spec.attention),
      dropout_(spec.dropout),
      checkpointing_(spec.gradient_checkpointing),
      masked_(spec.task == Task::masked_lm) {
  if (shape.positions > 0 && seq_length > shape.positions) {
    throw Failure("bad_spec", "model '" + spec.model.name + "' knows " + std::to_string(shape.positions) +
                                  " positions, and seq_length is " + std::to_string(seq_length));
  }
}

at::Tensor LanguageModel::drop(const at::Tensor& x, bool training) const {
  return training && dropout_ > 0 ? at::dropout(x, dropout_, true) : x;
}

void LanguageModel::add_flops(ForwardFlops& per_token, const Linear& layer) {
  per_token.trained += layer.trained_flops();
  per_token.frozen += layer.frozen_flops();
}

AttentionSettings LanguageModel::attention_settings(bool causal, bool training) const {
  return {attention_, causal, training ? dropout_ : 0.0};
}

std::vector<at::Tensor> LanguageModel::run_blocks(std::vector<at::Tensor> state, bool training) {
  training_ = training;
  for (const auto& block : blocks_) {
    state = checkpointing_ && training ? checkpoint(block, state, dropout_ > 0) : block(state);
  }
  return state;
}

at::Tensor LanguageModel::loss(const Batch& batch, const at::Tensor& gradient_scale) {
  const at::Tensor states = hidden(batch.inputs, true);
  const Head out = head();
  return head_loss(states, out.weight(), out.bias(), batch.targets.reshape({-1}), shape_.vocabulary, masked_,
                   gradient_scale);
}

at::Tensor LanguageModel::score(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const Head out = head();
  return head_score(hidden(batch.inputs, false), out.weight(), out.bias(), batch.targets.reshape({-1}),
                    shape_.vocabulary);
}

at::Tensor LanguageModel::logits(const at::Tensor& inputs) {
  const Head out = head();
  return linear(hidden(inputs, false), out.weight(), out.bias())
      .narrow(1, 0, shape_.vocabulary)
      .reshape({inputs.size(0), inputs.size(1), shape_.vocabulary});
}

ForwardFlops LanguageModel::forward_flops() const {
  const auto tokens = static_cast<double>(seq_length_);
  ForwardFlops flops;
  add_block_flops(flops);
  const double head_flops = 2 * static_cast<double>(shape_.vocabulary * shape_.width);
  (head().matrix->trainable ? flops.trained : flops.frozen) += head_flops;
  // Scores and weighted sum: 2 · 2 · T · width per token and layer, whether or not a kernel skips the masked half.
  flops.other += 4.0 * tokens * static_cast<double>(shape_.width * shape_.layers);
  return {flops.trained * tokens, flops.frozen * tokens, flops.other * tokens};
}

double LanguageModel::least_bytes_per_sample() const {
  const auto tokens = static_cast<double>(seq_length_);
  const auto layers = static_cast<double>(shape_.layers);
  // Checkpointed blocks keep their input, others the stream twice and what the feed-forward part has inside.
  const auto kept = static_cast<double>(checkpointing_ ? shape_.width : 2 * shape_.width + shape_.inner_width);
  // GPUs make logits piece by piece; elsewhere they are there at once, in fp32.
  const double logits = device_.is_cuda() ? 0 : sizeof(float) * static_cast<double>(shape_.vocabulary);
  return tokens * (layers * kept * work_bytes() + logits);
}

}  // namespace assay::engine
