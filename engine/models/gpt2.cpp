#include <ATen/ATen.h>

#include <cmath>

#include "models/transformer.h"

namespace assay::engine {
namespace {

// GEMMs are fastest with sizes that are multiples of 128; 50,257 tokens become 50,304 rows.
constexpr std::int64_t kVocabularyMultiple = 128;
constexpr double kDeviation = 0.02;

LinearShape projection(const std::string& name, std::int64_t in, std::int64_t out, double deviation) {
  return {.parts = {{name, out, FilePart::Layout::transposed}}, .in = in, .init = Init::normal(deviation)};
}

/// In the names of Hugging Face's GPT-2.
DecoderBlock make_block(Builder& builder, const TransformerShape& shape, std::int64_t index) {
  const std::string prefix = "h." + std::to_string(index) + ".";
  const std::int64_t width = shape.width;
  // Outputs that add up along the depth start smaller, as in GPT-2.
  const double residual_deviation = kDeviation / std::sqrt(2.0 * static_cast<double>(shape.layers));
  LinearShape attention_in = projection(prefix + "attn.c_attn", width, 3 * width, kDeviation);
  attention_in.targets = {{"q_proj", 0, width}, {"k_proj", width, width}, {"v_proj", 2 * width, width}};
  return {.before_attention = Norm(builder, prefix + "ln_1", width, true),
          .attention_in = Linear(builder, attention_in),
          .attention_out = Linear(builder, projection(prefix + "attn.c_proj", width, width, residual_deviation)),
          .before_feed = Norm(builder, prefix + "ln_2", width, true),
          .feed_in = Linear(builder, projection(prefix + "mlp.c_fc", width, shape.inner_width, kDeviation)),
          .feed_out = Linear(builder, projection(prefix + "mlp.c_proj", shape.inner_width, width, residual_deviation))};
}

class Gpt2 : public Decoder {
 public:
  Gpt2(const TrainSpec& spec, const TransformerShape& shape, std::int64_t seq_length)
      : Decoder(spec, shape, seq_length) {
    Builder builder(parameters_, spec);
    const std::int64_t padding = padding_to(shape.vocabulary, kVocabularyMultiple);
    tokens_ = &builder.add({.parts = {{"wte.weight"}},
                            .shape = {shape.vocabulary + padding, shape.width},
                            .init = Init::normal(kDeviation),
                            .padded_rows = padding});
    positions_ = &builder.add(
        {.parts = {{"wpe.weight"}}, .shape = {shape.positions, shape.width}, .init = Init::normal(kDeviation)});
    for (std::int64_t i = 0; i < shape.layers; ++i) layers_.push_back(make_block(builder, shape, i));
    final_norm_ = std::make_unique<Norm>(builder, "ln_f", shape.width, true);
    builder.check_targets();
    chain_blocks();
  }

 private:
  at::Tensor embed(const at::Tensor& tokens) const override {
    return at::embedding(tokens_->value, tokens) + positions_->value.narrow(0, 0, tokens.size(1));
  }
  at::Tensor feed(const DecoderBlock& block, const at::Tensor& normed) const override {
    return block.feed_out(block.feed_in.gelu(normed));
  }
  Head head() const override { return {tokens_, nullptr}; }

  Parameter* tokens_ = nullptr;
  Parameter* positions_ = nullptr;
};

}  // namespace

std::unique_ptr<Model> make_gpt2(const TrainSpec& spec, const DataShape& data) {
  return std::make_unique<Gpt2>(spec, transformer_shape(spec.model), data.seq_length);
}

}  // namespace assay::engine
