#include <ATen/ATen.h>

#include "models/transformer.h"
#include "ops/norm.h"

namespace assay::engine {
namespace {

LinearShape plain(const std::string& name, std::int64_t in, std::int64_t out) {
  return {.parts = {{name, out}}, .in = in, .init = Init::normal(0.02)};
}

/// One block, in the names of Hugging Face's BERT. Norms come after the addition, unlike in GPT-2.
struct BertBlock {
  BertBlock(Builder& builder, const TransformerShape& shape, std::int64_t index)
      : prefix("bert.encoder.layer." + std::to_string(index) + "."),
        attention_in(builder, {.parts = {{prefix + "attention.self.query", shape.width},
                                         {prefix + "attention.self.key", shape.width},
                                         {prefix + "attention.self.value", shape.width}},
                               .in = shape.width,
                               .init = Init::normal(0.02),
                               .targets = {{"q_proj", 0, shape.width},
                                           {"k_proj", shape.width, shape.width},
                                           {"v_proj", 2 * shape.width, shape.width}}}),
        attention_out(builder, plain(prefix + "attention.output.dense", shape.width, shape.width)),
        after_attention(builder, prefix + "attention.output.LayerNorm", shape.width, true),
        feed_in(builder, plain(prefix + "intermediate.dense", shape.width, shape.inner_width)),
        feed_out(builder, plain(prefix + "output.dense", shape.inner_width, shape.width)),
        after_feed(builder, prefix + "output.LayerNorm", shape.width, true) {}

  std::string prefix;
  Linear attention_in;
  Linear attention_out;
  Norm after_attention;
  Linear feed_in;
  Linear feed_out;
  Norm after_feed;
};

/// BERT with the head for masked language modelling.
class Bert : public LanguageModel {
 public:
  Bert(const TrainSpec& spec, const TransformerShape& shape, std::int64_t seq_length)
      : LanguageModel(spec, shape, seq_length) {
    Builder builder(parameters_, spec);
    const std::int64_t padding = padding_to(shape.vocabulary, 8);
    const std::string place = "bert.embeddings.";
    const auto table = [&](const std::string& name, std::int64_t rows, std::int64_t padded) {
      return &builder.add({.parts = {{place + name}},
                           .shape = {rows + padded, shape.width},
                           .init = Init::normal(0.02),
                           .padded_rows = padded});
    };
    words_ = table("word_embeddings.weight", shape.vocabulary, padding);
    positions_ = table("position_embeddings.weight", shape.positions, 0);
    types_ = table("token_type_embeddings.weight", 2, 0);
    embedding_norm_ = std::make_unique<Norm>(builder, place + "LayerNorm", shape.width, true);
    for (std::int64_t i = 0; i < shape.layers; ++i) layers_.emplace_back(builder, shape, i);
    const std::string top = "cls.predictions.";
    transform_ = std::make_unique<Linear>(builder, plain(top + "transform.dense", shape.width, shape.width));
    transform_norm_ = std::make_unique<Norm>(builder, top + "transform.LayerNorm", shape.width, true);
    output_bias_ = &builder.add({.parts = {{top + "bias"}},
                                 .shape = {shape.vocabulary + padding},
                                 .init = Init::zeros(),
                                 .padded_rows = padding});
    builder.check_targets();
    for (const auto& layer : layers_) {
      blocks_.push_back([this, &layer](const std::vector<at::Tensor>& state) { return run(layer, state); });
    }
  }

 private:
  at::Tensor norm(const Norm& norm, const at::Tensor& x, const at::Tensor& delta) const {
    // What comes out of a norm is BERT's residual stream: it keeps the format of that.
    return add_and_norm(x, delta, norm.weights(shape_.norm_epsilon), x.scalar_type()).normed;
  }

  std::vector<at::Tensor> run(const BertBlock& layer, const std::vector<at::Tensor>& state) const {
    const at::Tensor attended =
        packed_attention(layer.attention_in(state[0]), head_shape(), nullptr, attention_settings(false, training_));
    const at::Tensor x = norm(layer.after_attention, state[0], drop(layer.attention_out(attended), training_));
    return {norm(layer.after_feed, x, drop(layer.feed_out(at::gelu(layer.feed_in(x))), training_))};
  }

  at::Tensor hidden(const at::Tensor& tokens, bool training) override {
    // Every sample is one segment: type 0 throughout.
    const at::Tensor added = positions_->value.narrow(0, 0, tokens.size(1)) + types_->value[0];
    const at::Tensor embedded = norm(*embedding_norm_, at::embedding(words_->value, tokens) + added, at::Tensor());
    const auto state = run_blocks({drop(embedded, training)}, training);
    return norm(*transform_norm_, at::gelu((*transform_)(state[0])), at::Tensor()).reshape({-1, shape_.width});
  }

  Head head() const override { return {words_, output_bias_}; }

  void add_block_flops(ForwardFlops& per_token) const override {
    for (const auto& layer : layers_) {
      for (const auto* part : {&layer.attention_in, &layer.attention_out, &layer.feed_in, &layer.feed_out}) {
        add_flops(per_token, *part);
      }
    }
    add_flops(per_token, *transform_);
  }

  Parameter* words_ = nullptr;
  Parameter* positions_ = nullptr;
  Parameter* types_ = nullptr;
  Parameter* output_bias_ = nullptr;
  std::unique_ptr<Norm> embedding_norm_;
  std::deque<BertBlock> layers_;
  std::unique_ptr<Linear> transform_;
  std::unique_ptr<Norm> transform_norm_;
};

}  // namespace

std::unique_ptr<Model> make_bert(const TrainSpec& spec, const DataShape& data) {
  return std::make_unique<Bert>(spec, transformer_shape(spec.model), data.seq_length);
}

}  // namespace assay::engine
