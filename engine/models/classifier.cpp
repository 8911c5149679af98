#include "models/classifier.h"

#include <ATen/ATen.h>

#include <cmath>

#include "ops/loss.h"

namespace assay::engine {
namespace {

// Middle and spread of 8-bit pixels; photographs are close enough to this that one pair of numbers does.
constexpr double kPixelMean = 118;
constexpr double kPixelSpread = 60;

}  // namespace

void Classifier::add_head(Builder& builder, const std::string& name, std::int64_t width, std::int64_t classes) {
  head_ =
      std::make_unique<Linear>(builder, LinearShape{.parts = {{name, classes}},
                                                    .in = width,
                                                    .init = Init::uniform(1 / std::sqrt(static_cast<double>(width))),
                                                    .padded_rows = padding_to(classes, 8)});
}

at::Tensor Classifier::loss(const Batch& batch, const at::Tensor& gradient_scale) {
  return head_loss(features(batch.inputs, true), head_->weight(), head_->bias(), batch.targets, head_->rows(), false,
                   gradient_scale);
}

at::Tensor Classifier::score(const Batch& batch) {
  const at::NoGradGuard no_grad;
  return head_score(features(batch.inputs, false), head_->weight(), head_->bias(), batch.targets, head_->rows());
}

at::Tensor Classifier::logits(const at::Tensor& inputs) {
  return linear(features(inputs, false), head_->weight(), head_->bias()).narrow(1, 0, head_->rows());
}

at::Tensor normalised_images(const at::Tensor& images, at::ScalarType work) {
  const at::Tensor values = images.to(at::kFloat).sub_(kPixelMean).mul_(1 / kPixelSpread).to(work);
  return values.permute({0, 3, 1, 2});
}

}  // namespace assay::engine
