#include <ATen/ATen.h>

#include <cmath>

#include "formats/failure.h"
#include "models/classifier.h"
#include "models/transformer.h"

namespace assay::engine {
namespace {

class Mlp : public Classifier {
 public:
  Mlp(const TrainSpec& spec, const DataShape& data) : is_image_(data.kind == DataShape::Kind::images) {
    Builder builder(parameters_, spec);
    std::int64_t width = is_image_ ? 3 * data.image_size * data.image_size : data.features;
    for (std::size_t i = 0; i < spec.model.hidden.size(); ++i) {
      layers_.emplace_back(builder, LinearShape{.parts = {{"layers." + std::to_string(i), spec.model.hidden[i]}},
                                                .in = width,
                                                .init = Init::uniform(1 / std::sqrt(static_cast<double>(width)))});
      width = spec.model.hidden[i];
    }
    add_head(builder, "layers." + std::to_string(layers_.size()), width, data.classes);
    builder.check_targets();
    dropout_ = spec.dropout;
  }

  ForwardFlops forward_flops() const override {
    ForwardFlops flops;
    for (const auto& layer : layers_) flops.trained += layer.trained_flops();
    flops.trained += head_flops();
    return flops;
  }
  double least_bytes_per_sample() const override {
    double elements = 0;
    for (const auto& layer : layers_) elements += static_cast<double>(layer.rows());
    return elements * work_bytes();
  }
  bool can_be_recorded() const override { return dropout_ == 0; }

 private:
  at::Tensor features(const at::Tensor& inputs, bool training) override {
    at::Tensor x = is_image_ ? normalised_images(inputs, work_).flatten(1) : inputs.to(work_);
    for (const auto& layer : layers_) {
      x = at::relu(layer(x));
      if (training && dropout_ > 0) x = at::dropout(x, dropout_, true);
    }
    return x;
  }

  bool is_image_;
  double dropout_ = 0;
  std::deque<Linear> layers_;
};

}  // namespace

std::unique_ptr<Model> make_mlp(const TrainSpec& spec, const DataShape& data) {
  if (data.kind == DataShape::Kind::tokens) {
    throw Failure("bad_spec", "model 'mlp' cannot learn from tokens", "Use `dataset: spiral` or images.");
  }
  return std::make_unique<Mlp>(spec, data);
}

}  // namespace assay::engine
