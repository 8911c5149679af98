#include <ATen/ATen.h>

#include "models/transformer.h"

namespace assay::engine {
namespace {

constexpr double kLlamaDeviation = 0.02;

/// Products that share their input are one product.
LinearShape projection(std::vector<FilePart> parts, std::int64_t in) {
  return {.parts = std::move(parts), .in = in, .bias = false, .init = Init::normal(kLlamaDeviation)};
}

/// In the names of Hugging Face's Llama and Mistral.
DecoderBlock make_llama_block(Builder& builder, const TransformerShape& shape, std::int64_t index) {
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const std::int64_t kv_width = shape.kv_heads * shape.head_width();
  const std::string attention = prefix + "self_attn.";
  return {.before_attention = Norm(builder, prefix + "input_layernorm", shape.width, false),
          .attention_in = Linear(builder, projection({{attention + "q_proj", shape.width},
                                                      {attention + "k_proj", kv_width},
                                                      {attention + "v_proj", kv_width}},
                                                     shape.width)),
          .attention_out = Linear(builder, projection({{attention + "o_proj", shape.width}}, shape.width)),
          .before_feed = Norm(builder, prefix + "post_attention_layernorm", shape.width, false),
          .feed_in = Linear(builder, projection({{prefix + "mlp.gate_proj", shape.inner_width},
                                                 {prefix + "mlp.up_proj", shape.inner_width}},
                                                shape.width)),
          .feed_out = Linear(builder, projection({{prefix + "mlp.down_proj", shape.width}}, shape.inner_width))};
}

class Llama : public Decoder {
 public:
  Llama(const TrainSpec& spec, const TransformerShape& shape, std::int64_t seq_length)
      : Decoder(spec, shape, seq_length) {
    Builder builder(parameters_, spec);
    const std::int64_t padding = padding_to(shape.vocabulary, 8);
    const auto table = [&](const std::string& name) {
      return &builder.add({.parts = {{name}},
                           .shape = {shape.vocabulary + padding, shape.width},
                           .init = Init::normal(kLlamaDeviation),
                           .padded_rows = padding});
    };
    tokens_ = table("model.embed_tokens.weight");
    for (std::int64_t i = 0; i < shape.layers; ++i) layers_.push_back(make_llama_block(builder, shape, i));
    final_norm_ = std::make_unique<Norm>(builder, "model.norm", shape.width, false);
    output_ = shape.tied ? tokens_ : table("lm_head.weight");
    builder.check_targets();
    chain_blocks();
  }

  void prepare(at::Device device, at::ScalarType work) override {
    Decoder::prepare(device, work);
    rotary_ = rotary_table(seq_length_, shape_.head_width(), shape_.rope_base, shape_.rope_scaling, device);
  }

 private:
  at::Tensor embed(const at::Tensor& tokens) const override { return at::embedding(tokens_->value, tokens); }
  at::Tensor feed(const DecoderBlock& block, const at::Tensor& normed) const override {
    return block.feed_out(swiglu(block.feed_in(normed)));
  }
  const RotaryTable* rotary() const override { return &rotary_; }
  Head head() const override { return {output_, nullptr}; }

  Parameter* tokens_ = nullptr;
  Parameter* output_ = nullptr;
  RotaryTable rotary_;
};

}  // namespace

std::unique_ptr<Model> make_llama(const TrainSpec& spec, const DataShape& data) {
  return std::make_unique<Llama>(spec, transformer_shape(spec.model), data.seq_length);
}

}  // namespace assay::engine
