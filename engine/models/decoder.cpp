#include <ATen/ATen.h>

#include "models/transformer.h"
#include "ops/norm.h"

namespace assay::engine {

void Decoder::chain_blocks() {
  for (const auto& block : layers_) {
    blocks_.push_back([this, &block](const std::vector<at::Tensor>& state) { return run(block, state); });
  }
}

std::vector<at::Tensor> Decoder::run(const DecoderBlock& block, const std::vector<at::Tensor>& state) const {
  const at::Tensor not_yet_added = state.size() > 1 ? state[1] : at::Tensor();
  const auto first = add_and_norm(state[0], not_yet_added, block.before_attention.weights(shape_.norm_epsilon), work_);
  const at::Tensor attended =
      packed_attention(block.attention_in(first.normed), head_shape(), rotary(), attention_settings(true, training_));
  const auto second = add_and_norm(first.residual, drop(block.attention_out(attended), training_),
                                   block.before_feed.weights(shape_.norm_epsilon), work_);
  return {second.residual, drop(feed(block, second.normed), training_)};
}

at::Tensor Decoder::hidden(const at::Tensor& tokens, bool training) {
  const auto state = run_blocks({drop(embed(tokens), training)}, training);
  return add_and_norm(state[0], state[1], final_norm_->weights(shape_.norm_epsilon), work_)
      .normed.reshape({-1, shape_.width});
}

void Decoder::add_block_flops(ForwardFlops& per_token) const {
  for (const auto& block : layers_) {
    for (const auto* layer : {&block.attention_in, &block.attention_out, &block.feed_in, &block.feed_out}) {
      add_flops(per_token, *layer);
    }
  }
}

}  // namespace assay::engine
