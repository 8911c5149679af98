#pragma once

#include "models/layers.h"
#include "models/model.h"

namespace assay::engine {

/// What classifiers have in common: features from a network, a linear head, cross-entropy.
class Classifier : public Model {
 public:
  at::Tensor loss(const Batch& batch, const at::Tensor& gradient_scale) override;
  at::Tensor score(const Batch& batch) override;
  at::Tensor logits(const at::Tensor& inputs) override;

 protected:
  /// (N, features) that the head turns into logits.
  virtual at::Tensor features(const at::Tensor& inputs, bool training) = 0;
  /// Adds the head as the last parameters. Rows are padded: the loss kernel works on whole vectors.
  void add_head(Builder& builder, const std::string& name, std::int64_t width, std::int64_t classes);
  double head_flops() const { return head_->trained_flops(); }

 private:
  std::unique_ptr<Linear> head_;
};

/// uint8 (N, height, width, 3) to the work format, about zero mean and unit variance, as (N, 3, height, width) in
/// channels-last memory.
at::Tensor normalised_images(const at::Tensor& images, at::ScalarType work);

}  // namespace assay::engine
