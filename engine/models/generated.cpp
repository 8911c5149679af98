#include <ATen/ATen.h>

#include <cmath>

#include "formats/failure.h"
#include "models/layers.h"
#include "models/transformer.h"
#include "ops/loss.h"
#include "ops/norm.h"

namespace assay::engine {
namespace {

constexpr std::int64_t kDefaultLayers = 4;
constexpr std::int64_t kDefaultWidth = 128;
constexpr std::int64_t kDefaultHeads = 4;
constexpr std::int64_t kPatch = 16;  // images become patches of 16 × 16 pixels, smaller ones of 4 × 4
constexpr double kEpsilon = 1e-5;

Init usual(std::int64_t in) { return Init::uniform(1 / std::sqrt(static_cast<double>(in))); }

LinearShape square(const std::string& name, std::int64_t in, std::int64_t out) {
  return {.parts = {{name, out}}, .in = in, .init = usual(in)};
}

/// One block of a stack: (N, T, width) to the same.
class StackBlock {
 public:
  virtual ~StackBlock() = default;
  virtual at::Tensor run(const at::Tensor& x, bool causal) const = 0;
  virtual double flops_per_token(std::int64_t tokens) const = 0;
};

class FullyConnected : public StackBlock {
 public:
  FullyConnected(Builder& builder, const std::string& prefix, std::int64_t width)
      : layer_(builder, square(prefix + "fc", width, width)) {}
  at::Tensor run(const at::Tensor& x, bool) const override { return at::relu(layer_(x)); }
  double flops_per_token(std::int64_t) const override { return layer_.trained_flops(); }

 private:
  Linear layer_;
};

class Residual : public StackBlock {
 public:
  Residual(Builder& builder, const std::string& prefix, std::int64_t width)
      : norm_(builder, prefix + "norm", width, true),
        in_(builder, square(prefix + "in", width, 2 * width)),
        out_(builder, square(prefix + "out", 2 * width, width)) {}
  at::Tensor run(const at::Tensor& x, bool) const override {
    const auto normed = add_and_norm(x, at::Tensor(), norm_.weights(kEpsilon), x.scalar_type());
    return normed.residual + out_(at::relu(in_(normed.normed)));
  }
  double flops_per_token(std::int64_t) const override { return in_.trained_flops() + out_.trained_flops(); }

 private:
  Norm norm_;
  Linear in_;
  Linear out_;
};

class Recurrent : public StackBlock {
 public:
  Recurrent(Builder& builder, const std::string& prefix, std::int64_t width) {
    const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
      parameters_.push_back(
          &builder.add({.parts = {{prefix + name}}, .shape = std::move(shape), .init = usual(width)}));
    };
    add("weight_ih", {4 * width, width});
    add("weight_hh", {4 * width, width});
    add("bias_ih", {4 * width});
    add("bias_hh", {4 * width});
  }
  at::Tensor run(const at::Tensor& given, bool) const override {
    std::vector<at::Tensor> weights;
    for (const auto* parameter : parameters_) weights.push_back(parameter->for_products());
    const at::Tensor x = given.to(weights[0].scalar_type());
    const at::Tensor start = at::zeros({1, x.size(0), x.size(2)}, x.options());
    return std::get<0>(at::lstm(x, {start, start}, weights, true, 1, 0.0, true, false, true));
  }
  double flops_per_token(std::int64_t) const override {
    return 2.0 * static_cast<double>(parameters_[0]->count() + parameters_[1]->count());
  }

 private:
  std::vector<const Parameter*> parameters_;
};

class SelfAttention : public StackBlock {
 public:
  SelfAttention(Builder& builder, const std::string& prefix, std::int64_t width, std::int64_t heads, Attention kind)
      : shape_{heads, heads, width / heads},
        kind_(kind),
        norm_(builder, prefix + "norm", width, true),
        in_(builder, {.parts = {{prefix + "q_proj", width}, {prefix + "k_proj", width}, {prefix + "v_proj", width}},
                      .in = width,
                      .init = usual(width)}),
        out_(builder, square(prefix + "o_proj", width, width)) {}
  at::Tensor run(const at::Tensor& x, bool causal) const override {
    const auto normed = add_and_norm(x, at::Tensor(), norm_.weights(kEpsilon), x.scalar_type());
    return normed.residual + out_(packed_attention(in_(normed.normed), shape_, nullptr, {kind_, causal, 0.0}));
  }
  double flops_per_token(std::int64_t tokens) const override {
    return in_.trained_flops() + out_.trained_flops() +
           4.0 * static_cast<double>(tokens * shape_.heads * shape_.head_width);
  }

 private:
  HeadShape shape_;
  Attention kind_;
  Norm norm_;
  Linear in_;
  Linear out_;
};

/// Blocks in a row, over a sequence: tokens, patches of an image, or the features of a vector.
class Generated : public Model {
 public:
  Generated(const TrainSpec& spec, const DataShape& data)
      : data_(data),
        width_(spec.model.width.value_or(kDefaultWidth)),
        predicts_tokens_(spec.is_language()),
        masked_(spec.task == Task::masked_lm) {
    Builder builder(parameters_, spec);
    add_stem(builder);
    const std::int64_t layers = spec.model.layers.value_or(kDefaultLayers);
    const std::int64_t heads = spec.model.heads.value_or(kDefaultHeads);
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::string& kind = spec.model.blocks[static_cast<std::size_t>(i) % spec.model.blocks.size()];
      const std::string prefix = "blocks." + std::to_string(i) + ".";
      if (kind == "attention" && width_ % heads != 0) {
        throw Failure("bad_spec", "model 'generated': " + std::to_string(heads) + " heads do not divide the width " +
                                      std::to_string(width_));
      }
      if (kind == "fc") blocks_.push_back(std::make_unique<FullyConnected>(builder, prefix, width_));
      if (kind == "residual") blocks_.push_back(std::make_unique<Residual>(builder, prefix, width_));
      if (kind == "lstm") blocks_.push_back(std::make_unique<Recurrent>(builder, prefix, width_));
      if (kind == "attention") {
        blocks_.push_back(std::make_unique<SelfAttention>(builder, prefix, width_, heads, spec.attention));
      }
    }
    answers_ = predicts_tokens_ ? data.vocabulary : data.classes;
    head_ = std::make_unique<Linear>(builder, LinearShape{.parts = {{"head", answers_}},
                                                          .in = width_,
                                                          .init = usual(width_),
                                                          .padded_rows = padding_to(answers_, 8)});
    builder.check_targets();
  }

  at::Tensor loss(const Batch& batch, const at::Tensor& gradient_scale) override {
    return head_loss(features(batch.inputs), head_->weight(), head_->bias(), batch.targets.reshape({-1}), answers_,
                     masked_, gradient_scale);
  }
  at::Tensor score(const Batch& batch) override {
    const at::NoGradGuard no_grad;
    return head_score(features(batch.inputs), head_->weight(), head_->bias(), batch.targets.reshape({-1}), answers_);
  }
  at::Tensor logits(const at::Tensor& inputs) override {
    return linear(features(inputs), head_->weight(), head_->bias()).narrow(1, 0, answers_);
  }
  ForwardFlops forward_flops() const override {
    double per_token = stem_ ? stem_->trained_flops() : 0;
    for (const auto& block : blocks_) per_token += block->flops_per_token(tokens_);
    const double head = head_->trained_flops() * static_cast<double>(predicts_tokens_ ? tokens_ : 1);
    return {.trained = per_token * static_cast<double>(tokens_) + head};
  }
  double least_bytes_per_sample() const override {
    return static_cast<double>(tokens_ * width_) * static_cast<double>(blocks_.size()) * work_bytes();
  }

 private:
  void add_stem(Builder& builder) {
    switch (data_.kind) {
      case DataShape::Kind::tokens:
        tokens_ = data_.seq_length;
        embedding_ = &builder.add(
            {.parts = {{"embedding.weight"}}, .shape = {data_.vocabulary, width_}, .init = Init::normal(0.02)});
        break;
      case DataShape::Kind::images:
        patch_ = data_.image_size % kPatch == 0 && data_.image_size > 2 * kPatch ? kPatch : 4;
        tokens_ = (data_.image_size / patch_) * (data_.image_size / patch_);
        stem_ = std::make_unique<Linear>(builder, square("stem", 3 * patch_ * patch_, width_));
        break;
      case DataShape::Kind::vectors:
        tokens_ = data_.features;
        stem_ = std::make_unique<Linear>(builder, square("stem", 1, width_));
        break;
    }
    positions_ = &builder.add({.parts = {{"positions"}}, .shape = {tokens_, width_}, .init = Init::normal(0.02)});
  }

  at::Tensor embed(const at::Tensor& inputs) const {
    if (embedding_) return at::embedding(embedding_->value, inputs);
    if (data_.kind == DataShape::Kind::vectors) return (*stem_)(inputs.to(work_).unsqueeze(-1));
    const std::int64_t side = data_.image_size / patch_;
    const at::Tensor patches = inputs.narrow(1, 0, side * patch_)
                                   .narrow(2, 0, side * patch_)
                                   .reshape({-1, side, patch_, side, patch_, 3})
                                   .permute({0, 1, 3, 2, 4, 5})
                                   .reshape({-1, tokens_, patch_ * patch_ * 3});
    return (*stem_)((patches.to(at::kFloat) * (1.0 / 128) - 1.0).to(work_));
  }

  at::Tensor features(const at::Tensor& inputs) const {
    at::Tensor x = embed(inputs) + positions_->value;
    for (const auto& block : blocks_) x = block->run(x, predicts_tokens_);
    return predicts_tokens_ ? x.reshape({-1, width_}) : x.mean(1);
  }

  DataShape data_;
  std::int64_t width_;
  bool predicts_tokens_;
  bool masked_;
  std::int64_t tokens_ = 1;
  std::int64_t patch_ = kPatch;
  std::int64_t answers_ = 0;
  Parameter* embedding_ = nullptr;
  Parameter* positions_ = nullptr;
  std::unique_ptr<Linear> stem_;
  std::vector<std::unique_ptr<StackBlock>> blocks_;
  std::unique_ptr<Linear> head_;
};

}  // namespace

std::unique_ptr<Model> make_generated(const TrainSpec& spec, const DataShape& data) {
  return std::make_unique<Generated>(spec, data);
}

}  // namespace assay::engine
