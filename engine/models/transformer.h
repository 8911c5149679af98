#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "models/layers.h"
#include "models/model.h"
#include "ops/attention.h"
#include "ops/checkpoint.h"

namespace assay::engine {

/// Sizes of a language model.
struct TransformerShape {
  std::int64_t layers = 12;
  std::int64_t width = 768;
  std::int64_t heads = 12;
  std::int64_t kv_heads = 12;
  std::int64_t inner_width = 3072;  ///< of the feed-forward part
  std::int64_t vocabulary = 50257;
  std::int64_t positions = 1024;  ///< longest sequence; 0: no limit
  bool tied = true;               ///< embedding and output share one matrix
  double norm_epsilon = 1e-5;
  double rope_base = 10000;
  Llama3Scaling rope_scaling;

  std::int64_t head_width() const { return width / heads; }
};

/// The sizes of a named language model with the spec's changes; Failure `bad_spec` where they contradict each other.
TransformerShape transformer_shape(const ModelSpec& spec);
bool is_language_model(const std::string& name);

/// What GPT-2, Llama and BERT have in common: embedding, a stack of blocks, a head over the vocabulary, and the loss
/// of `hidden` states against tokens. A decoder's block takes the residual stream and, but for the first one, the last
/// branch's output that has not been added to it yet: the addition and the norm that follows are one operation.
class LanguageModel : public Model {
 public:
  LanguageModel(const TrainSpec& spec, const TransformerShape& shape, std::int64_t seq_length);

  at::Tensor loss(const Batch& batch, const at::Tensor& gradient_scale) override;
  at::Tensor score(const Batch& batch) override;
  at::Tensor logits(const at::Tensor& inputs) override;
  ForwardFlops forward_flops() const override;
  double least_bytes_per_sample() const override;
  bool can_be_recorded() const override { return dropout_ == 0; }

 protected:
  struct Head {
    const Parameter* matrix;
    const Parameter* vector;  ///< may be null

    at::Tensor weight() const { return matrix->for_products(); }
    at::Tensor bias() const { return vector ? vector->for_products() : at::Tensor(); }
  };
  /// (tokens, width) states that the head turns into logits.
  virtual at::Tensor hidden(const at::Tensor& tokens, bool training) = 0;
  virtual Head head() const = 0;
  /// Operations per token of all blocks' products, without attention and head.
  virtual void add_block_flops(ForwardFlops& per_token) const = 0;

  /// Runs all blocks, each recomputed in the backward pass if the spec asks for checkpointing.
  std::vector<at::Tensor> run_blocks(std::vector<at::Tensor> state, bool training);
  at::Tensor drop(const at::Tensor& x, bool training) const;
  static void add_flops(ForwardFlops& per_token, const Linear& layer);
  AttentionSettings attention_settings(bool causal, bool training) const;
  HeadShape head_shape() const { return {shape_.heads, shape_.kv_heads, shape_.head_width()}; }

  const TransformerShape shape_;
  const std::int64_t seq_length_;
  const Attention attention_;
  const double dropout_;
  const bool checkpointing_;
  const bool masked_;          // most tokens are not asked for
  bool training_ = false;      // of the pass under way, for blocks that are recomputed
  std::vector<Block> blocks_;  // filled by the derived constructors
};

/// One block of a decoder: norm, attention, norm, feed-forward, each branch added to the residual stream.
struct DecoderBlock {
  Norm before_attention;
  Linear attention_in;
  Linear attention_out;
  Norm before_feed;
  Linear feed_in;
  Linear feed_out;
};

/// GPT-2 and Llama: tokens to a stack of decoder blocks, a last norm, and a head that may be the embedding again.
class Decoder : public LanguageModel {
 protected:
  using LanguageModel::LanguageModel;

  /// The input of the first block.
  virtual at::Tensor embed(const at::Tensor& tokens) const = 0;
  virtual at::Tensor feed(const DecoderBlock& block, const at::Tensor& normed) const = 0;
  virtual const RotaryTable* rotary() const { return nullptr; }

  /// After the derived constructor has filled `layers_`.
  void chain_blocks();
  at::Tensor hidden(const at::Tensor& tokens, bool training) override;
  void add_block_flops(ForwardFlops& per_token) const override;

  std::deque<DecoderBlock> layers_;
  std::unique_ptr<Norm> final_norm_;

 private:
  std::vector<at::Tensor> run(const DecoderBlock& block, const std::vector<at::Tensor>& state) const;
};

std::unique_ptr<Model> make_gpt2(const TrainSpec& spec, const DataShape& data);
std::unique_ptr<Model> make_llama(const TrainSpec& spec, const DataShape& data);
std::unique_ptr<Model> make_bert(const TrainSpec& spec, const DataShape& data);
std::unique_ptr<Model> make_mlp(const TrainSpec& spec, const DataShape& data);
std::unique_ptr<Model> make_resnet(const TrainSpec& spec, const DataShape& data);
std::unique_ptr<Model> make_generated(const TrainSpec& spec, const DataShape& data);

}  // namespace assay::engine
