#include <ATen/ATen.h>

#include <cmath>

#include "models/transformer.h"
#include "ops/norm.h"

namespace assay::engine {
namespace {

// GEMMs are fastest with sizes that are multiples of 128; 50,257 tokens become 50,304 rows.
constexpr std::int64_t kVocabularyMultiple = 128;

/// One block, in the names of Hugging Face's GPT-2.
struct Gpt2Block {
  Gpt2Block(Builder& builder, const TransformerShape& shape, std::int64_t index)
      : prefix("h." + std::to_string(index) + "."),
        before_attention(builder, prefix + "ln_1", shape.width, true),
        attention_in(builder, projection(prefix + "attn.c_attn", shape.width, 3 * shape.width, 0.02,
                                         {{"q_proj", 0, shape.width},
                                          {"k_proj", shape.width, shape.width},
                                          {"v_proj", 2 * shape.width, shape.width}})),
        attention_out(builder, projection(prefix + "attn.c_proj", shape.width, shape.width, residual_scale(shape))),
        before_feed(builder, prefix + "ln_2", shape.width, true),
        feed_in(builder, projection(prefix + "mlp.c_fc", shape.width, shape.inner_width, 0.02)),
        feed_out(builder, projection(prefix + "mlp.c_proj", shape.inner_width, shape.width, residual_scale(shape))) {}

  static LinearShape projection(const std::string& name, std::int64_t in, std::int64_t out, double scale,
                                std::vector<LinearShape::Target> targets = {}) {
    return {.parts = {{name, out, FilePart::Layout::transposed}},
            .in = in,
            .init = Init::normal(scale),
            .targets = std::move(targets)};
  }
  // Outputs that add up along the depth start smaller, as in GPT-2.
  static double residual_scale(const TransformerShape& shape) {
    return 0.02 / std::sqrt(2.0 * static_cast<double>(shape.layers));
  }

  std::string prefix;
  Norm before_attention;
  Linear attention_in;
  Linear attention_out;
  Norm before_feed;
  Linear feed_in;
  Linear feed_out;
};

class Gpt2 : public LanguageModel {
 public:
  Gpt2(const TrainSpec& spec, const TransformerShape& shape, std::int64_t seq_length)
      : LanguageModel(spec, shape, seq_length) {
    Builder builder(parameters_, spec);
    const std::int64_t padding = padding_to(shape.vocabulary, kVocabularyMultiple);
    tokens_ = &builder.add({.parts = {{"wte.weight"}},
                            .shape = {shape.vocabulary + padding, shape.width},
                            .init = Init::normal(0.02),
                            .padded_rows = padding});
    positions_ =
        &builder.add({.parts = {{"wpe.weight"}}, .shape = {shape.positions, shape.width}, .init = Init::normal(0.02)});
    for (std::int64_t i = 0; i < shape.layers; ++i) layers_.emplace_back(builder, shape, i);
    final_norm_ = std::make_unique<Norm>(builder, "ln_f", shape.width, true);
    builder.check_targets();
    for (const auto& layer : layers_) {
      blocks_.push_back([this, &layer](const std::vector<at::Tensor>& state) { return run(layer, state); });
    }
  }

 private:
  std::vector<at::Tensor> run(const Gpt2Block& layer, const std::vector<at::Tensor>& state) const {
    const auto first = add_and_norm(state[0], not_yet_added(state), layer.before_attention.weight(),
                                    layer.before_attention.bias(), shape_.norm_epsilon);
    const at::Tensor attended =
        packed_attention(layer.attention_in(first.normed), head_shape(), nullptr, attention_settings(true, training_));
    const auto second = add_and_norm(first.residual, drop(layer.attention_out(attended), training_),
                                     layer.before_feed.weight(), layer.before_feed.bias(), shape_.norm_epsilon);
    return {second.residual, drop(layer.feed_out(layer.feed_in.gelu(second.normed)), training_)};
  }

  at::Tensor hidden(const at::Tensor& tokens, bool training) override {
    const at::Tensor embedded = at::embedding(tokens_->value, tokens) + positions_->value.narrow(0, 0, tokens.size(1));
    const auto state = run_blocks({drop(embedded, training)}, training);
    return add_and_norm(state[0], state[1], final_norm_->weight(), final_norm_->bias(), shape_.norm_epsilon)
        .normed.reshape({-1, shape_.width});
  }

  Head head() const override { return {tokens_->value, at::Tensor()}; }

  void add_block_flops(ForwardFlops& per_token) const override {
    for (const auto& layer : layers_) {
      for (const auto* part : {&layer.attention_in, &layer.attention_out, &layer.feed_in, &layer.feed_out}) {
        per_token.trained += part->trained_flops();
        per_token.frozen += part->frozen_flops();
      }
    }
  }

  Parameter* tokens_ = nullptr;
  Parameter* positions_ = nullptr;
  std::deque<Gpt2Block> layers_;
  std::unique_ptr<Norm> final_norm_;
};

}  // namespace

std::unique_ptr<Model> make_gpt2(const TrainSpec& spec, const DataShape& data) {
  return std::make_unique<Gpt2>(spec, transformer_shape(spec.model), data.seq_length);
}

}  // namespace assay::engine
