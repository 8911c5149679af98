#include <ATen/ATen.h>

#include "models/transformer.h"
#include "ops/norm.h"

namespace assay::engine {
namespace {

/// One block, in the names of Hugging Face's Llama and Mistral. Products that share their input are one product.
struct LlamaBlock {
  LlamaBlock(Builder& builder, const TransformerShape& shape, std::int64_t index)
      : prefix("model.layers." + std::to_string(index) + "."),
        before_attention(builder, prefix + "input_layernorm", shape.width, false),
        attention_in(builder, {.parts = {{prefix + "self_attn.q_proj", shape.width},
                                         {prefix + "self_attn.k_proj", shape.kv_heads * shape.head_width()},
                                         {prefix + "self_attn.v_proj", shape.kv_heads * shape.head_width()}},
                               .in = shape.width,
                               .bias = false,
                               .init = Init::normal(0.02)}),
        attention_out(builder, plain(prefix + "self_attn.o_proj", shape.width, shape.width)),
        before_feed(builder, prefix + "post_attention_layernorm", shape.width, false),
        feed_in(builder,
                {.parts = {{prefix + "mlp.gate_proj", shape.inner_width}, {prefix + "mlp.up_proj", shape.inner_width}},
                 .in = shape.width,
                 .bias = false,
                 .init = Init::normal(0.02)}),
        feed_out(builder, plain(prefix + "mlp.down_proj", shape.inner_width, shape.width)) {}

  static LinearShape plain(const std::string& name, std::int64_t in, std::int64_t out) {
    return {.parts = {{name, out}}, .in = in, .bias = false, .init = Init::normal(0.02)};
  }

  std::string prefix;
  Norm before_attention;
  Linear attention_in;
  Linear attention_out;
  Norm before_feed;
  Linear feed_in;
  Linear feed_out;
};

class Llama : public LanguageModel {
 public:
  Llama(const TrainSpec& spec, const TransformerShape& shape, std::int64_t seq_length)
      : LanguageModel(spec, shape, seq_length) {
    Builder builder(parameters_, spec);
    const std::int64_t padding = padding_to(shape.vocabulary, 8);
    const auto table = [&](const std::string& name) {
      return &builder.add({.parts = {{name}},
                           .shape = {shape.vocabulary + padding, shape.width},
                           .init = Init::normal(0.02),
                           .padded_rows = padding});
    };
    tokens_ = table("model.embed_tokens.weight");
    for (std::int64_t i = 0; i < shape.layers; ++i) layers_.emplace_back(builder, shape, i);
    final_norm_ = std::make_unique<Norm>(builder, "model.norm", shape.width, false);
    output_ = shape.tied ? tokens_ : table("lm_head.weight");
    builder.check_targets();
    for (const auto& layer : layers_) {
      blocks_.push_back([this, &layer](const std::vector<at::Tensor>& state) { return run(layer, state); });
    }
  }

  void prepare(at::Device device, at::ScalarType work) override {
    LanguageModel::prepare(device, work);
    rotary_ = rotary_table(seq_length_, shape_.head_width(), shape_.rope_base, shape_.rope_scaling, device);
  }

 private:
  std::vector<at::Tensor> run(const LlamaBlock& layer, const std::vector<at::Tensor>& state) const {
    const auto first = add_and_norm(state[0], not_yet_added(state), layer.before_attention.weight(), at::Tensor(),
                                    shape_.norm_epsilon);
    const at::Tensor attended =
        packed_attention(layer.attention_in(first.normed), head_shape(), &rotary_, attention_settings(true, training_));
    const auto second = add_and_norm(first.residual, drop(layer.attention_out(attended), training_),
                                     layer.before_feed.weight(), at::Tensor(), shape_.norm_epsilon);
    return {second.residual, drop(layer.feed_out(swiglu(layer.feed_in(second.normed))), training_)};
  }

  at::Tensor hidden(const at::Tensor& tokens, bool training) override {
    const auto state = run_blocks({drop(at::embedding(tokens_->value, tokens), training)}, training);
    return add_and_norm(state[0], state[1], final_norm_->weight(), at::Tensor(), shape_.norm_epsilon)
        .normed.reshape({-1, shape_.width});
  }

  Head head() const override { return {output_->value, at::Tensor()}; }

  void add_block_flops(ForwardFlops& per_token) const override {
    for (const auto& layer : layers_) {
      for (const auto* part : {&layer.attention_in, &layer.attention_out, &layer.feed_in, &layer.feed_out}) {
        per_token.trained += part->trained_flops();
        per_token.frozen += part->frozen_flops();
      }
    }
  }

  Parameter* tokens_ = nullptr;
  Parameter* output_ = nullptr;
  std::deque<LlamaBlock> layers_;
  std::unique_ptr<Norm> final_norm_;
  RotaryTable rotary_;
};

}  // namespace

std::unique_ptr<Model> make_llama(const TrainSpec& spec, const DataShape& data) {
  return std::make_unique<Llama>(spec, transformer_shape(spec.model), data.seq_length);
}

}  // namespace assay::engine
