#include <ATen/ATen.h>

#include <array>
#include <cmath>

#include "formats/failure.h"
#include "models/classifier.h"
#include "models/transformer.h"
#include "ops/norm.h"
#include "ops/pool.h"

namespace assay::engine {
namespace {

/// A convolution without bias and the batch norm behind it, in the names of Hugging Face's ResNet. The filter is stored
/// channels-last, which is what tensor cores want.
class ConvolutionNorm {
 public:
  ConvolutionNorm(Builder& builder, const std::string& prefix, std::int64_t in, std::int64_t out, std::int64_t size,
                  std::int64_t stride)
      : stride_(stride), padding_(size / 2) {
    // Variance-preserving for ReLU, counted over the outputs, as published.
    const double deviation = std::sqrt(2.0 / static_cast<double>(out * size * size));
    filter_ = &builder.add({.parts = {{prefix + "convolution.weight", out, FilePart::Layout::channels_first}},
                            .shape = {out, size, size, in},
                            .init = Init::normal(deviation)});
    const auto vector = [&](const std::string& name, Init init, bool buffer) {
      return &builder.add({.parts = {{prefix + "normalization." + name}},
                           .shape = {out},
                           .init = init,
                           .full_precision = true,
                           .buffer = buffer});
    };
    weight_ = vector("weight", Init::ones(), false);
    bias_ = vector("bias", Init::zeros(), false);
    running_mean_ = vector("running_mean", Init::zeros(), true);
    running_variance_ = vector("running_var", Init::ones(), true);
  }

  BatchNormed operator()(const at::Tensor& x, const at::Tensor& added, bool relu, bool training) const {
    const at::Tensor filter = filter_->for_products().permute({0, 3, 1, 2});
    const at::Tensor y = at::conv2d(x, filter, {}, stride_, padding_);
    return batch_norm(y, {weight_->value, bias_->value, running_mean_->value, running_variance_->value}, added, relu,
                      training);
  }

  /// Elements of the output for an input of `size` × `size`; `size` becomes that of the output.
  double outputs(std::int64_t& size) const {
    size = (size + 2 * padding_ - filter_->shape[1]) / stride_ + 1;
    return static_cast<double>(filter_->shape[0] * size * size);
  }
  /// Operations of the convolution; `size` as above.
  double flops(std::int64_t& size) const {
    return 2.0 * outputs(size) * static_cast<double>(filter_->count() / filter_->shape[0]);
  }

 private:
  std::int64_t stride_;
  std::int64_t padding_;
  Parameter* filter_;
  Parameter* weight_;
  Parameter* bias_;
  Parameter* running_mean_;
  Parameter* running_variance_;
};

struct ResidualBlock {
  std::vector<ConvolutionNorm> branch;
  std::unique_ptr<ConvolutionNorm> shortcut;
};

struct Plan {
  std::array<std::int64_t, 4> depths;
  bool bottleneck;
};

class ResNet : public Classifier {
 public:
  ResNet(const TrainSpec& spec, const DataShape& data, const Plan& plan) : image_size_(data.image_size) {
    Builder builder(parameters_, spec);
    stem_ = std::make_unique<ConvolutionNorm>(builder, "resnet.embedder.embedder.", 3, 64, 7, 2);
    std::int64_t channels = 64;
    for (std::size_t stage = 0; stage < plan.depths.size(); ++stage) {
      const std::int64_t width = std::int64_t{64} << stage;
      for (std::int64_t i = 0; i < plan.depths[stage]; ++i) {
        const std::string prefix =
            "resnet.encoder.stages." + std::to_string(stage) + ".layers." + std::to_string(i) + ".";
        blocks_.push_back(make_block(builder, prefix, channels, width, stage > 0 && i == 0 ? 2 : 1, plan.bottleneck));
        channels = plan.bottleneck ? 4 * width : width;
      }
    }
    add_head(builder, "classifier.1", channels, data.classes);
    builder.check_targets();
  }

  ForwardFlops forward_flops() const override {
    double flops = head_flops();
    for_each_layer([&](const ConvolutionNorm& layer, std::int64_t& size) { flops += layer.flops(size); });
    return {.trained = flops};
  }
  double least_bytes_per_sample() const override {
    double elements = 0;
    for_each_layer([&](const ConvolutionNorm& layer, std::int64_t& size) { elements += layer.outputs(size); });
    return elements * work_bytes();
  }

 private:
  /// Calls `visit` with every convolution and the size of its input, which it replaces by that of the output.
  template <typename Visit>
  void for_each_layer(const Visit& visit) const {
    std::int64_t size = image_size_;
    visit(*stem_, size);
    size = (size + 1) / 2;
    for (const auto& block : blocks_) {
      std::int64_t before = size;
      for (const auto& layer : block.branch) visit(layer, size);
      if (block.shortcut) visit(*block.shortcut, before);
    }
  }

  static ResidualBlock make_block(Builder& builder, const std::string& prefix, std::int64_t in, std::int64_t width,
                                  std::int64_t stride, bool bottleneck) {
    ResidualBlock block;
    const std::int64_t out = bottleneck ? 4 * width : width;
    const auto layer = [&](int index) { return prefix + "layer." + std::to_string(index) + "."; };
    if (in != out || stride != 1) {
      block.shortcut = std::make_unique<ConvolutionNorm>(builder, prefix + "shortcut.", in, out, 1, stride);
    }
    if (bottleneck) {
      // The stride is in the 3 × 3 convolution (version 1.5), as in everything people compare with.
      block.branch.emplace_back(builder, layer(0), in, width, 1, 1);
      block.branch.emplace_back(builder, layer(1), width, width, 3, stride);
      block.branch.emplace_back(builder, layer(2), width, out, 1, 1);
    } else {
      block.branch.emplace_back(builder, layer(0), in, width, 3, stride);
      block.branch.emplace_back(builder, layer(1), width, out, 3, 1);
    }
    return block;
  }

  at::Tensor features(const at::Tensor& inputs, bool training) override {
    at::Tensor x = max_pool((*stem_)(normalised_images(inputs, work_), at::Tensor(), true, training).value);
    at::Tensor shortcut = x;
    for (const auto& block : blocks_) {
      if (block.shortcut) shortcut = (*block.shortcut)(shortcut, at::Tensor(), false, training).value;
      for (std::size_t i = 0; i + 1 < block.branch.size(); ++i) {
        x = block.branch[i](x, at::Tensor(), true, training).value;
      }
      BatchNormed sum = block.branch.back()(x, shortcut, true, training);
      x = std::move(sum.value);
      shortcut = std::move(sum.shortcut);
    }
    return x.mean({2, 3});
  }

  std::int64_t image_size_;
  std::unique_ptr<ConvolutionNorm> stem_;
  std::vector<ResidualBlock> blocks_;
};

}  // namespace

std::unique_ptr<Model> make_resnet(const TrainSpec& spec, const DataShape& data) {
  if (data.kind != DataShape::Kind::images) {
    throw Failure("bad_spec", "model '" + spec.model.name + "' learns from images",
                  "Use `dataset: synthetic-images` or `cifar10:PATH`.");
  }
  const Plan plan = spec.model.name == "resnet18" ? Plan{{2, 2, 2, 2}, false} : Plan{{3, 4, 6, 3}, true};
  return std::make_unique<ResNet>(spec, data, plan);
}

}  // namespace assay::engine
