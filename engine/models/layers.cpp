#include "models/layers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "formats/failure.h"

namespace assay::engine {
namespace {

std::string last_word(const std::string& name) { return name.substr(name.rfind('.') + 1); }

std::string folder_of(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? std::string() : name.substr(0, dot + 1);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

Builder::Builder(Parameters& parameters, const TrainSpec& spec) : parameters_(parameters), spec_(spec) {}

Parameter& Builder::add(Parameter parameter) {
  if (spec_.task == Task::lora) parameter.trainable = false;
  return parameters_.add(std::move(parameter));
}

Parameter& Builder::add_adapter(const std::string& name, std::vector<std::int64_t> shape, Init init) {
  return parameters_.add(name, std::move(shape), init);
}

bool Builder::adapts(const std::string& target) const {
  const auto& targets = spec_.lora.targets;
  return spec_.task == Task::lora && std::find(targets.begin(), targets.end(), target) != targets.end();
}

void Builder::note_target(const std::string& target, bool adapted) {
  if (std::find(known_targets_.begin(), known_targets_.end(), target) == known_targets_.end()) {
    known_targets_.push_back(target);
  }
  if (adapted) used_targets_.push_back(target);
}

void Builder::check_targets() const {
  if (spec_.task != Task::lora) return;
  for (const auto& target : spec_.lora.targets) {
    if (std::find(used_targets_.begin(), used_targets_.end(), target) != used_targets_.end()) continue;
    throw Failure("bad_spec", "the model '" + spec_.model.name + "' has no layer '" + target + "' for LoRA",
                  known_targets_.empty() ? "This model has no layer that LoRA can adapt."
                                         : "`lora.targets` can be " + joined(known_targets_) + ".");
  }
}

std::int64_t padding_to(std::int64_t rows, std::int64_t multiple) { return (multiple - rows % multiple) % multiple; }

Linear::Linear(Builder& builder, const LinearShape& shape) : adapter_scale_(builder.adapter_scale()) {
  std::int64_t rows = 0;
  std::vector<FilePart> weights;
  std::vector<FilePart> biases;
  std::vector<LinearShape::Target> targets = shape.targets;
  for (const auto& part : shape.parts) {
    weights.push_back({part.name + ".weight", part.rows, part.layout});
    biases.push_back({part.name + ".bias", part.rows});
    targets.push_back({last_word(part.name), rows, part.rows});
    rows += part.rows;
  }
  const std::int64_t stored = rows + shape.padded_rows;
  weight_ = &builder.add(
      {.parts = weights, .shape = {stored, shape.in}, .init = shape.init, .padded_rows = shape.padded_rows});
  if (shape.bias) {
    bias_ = &builder.add({.parts = biases, .shape = {stored}, .init = Init::zeros(), .padded_rows = shape.padded_rows});
  }
  for (const auto& target : targets) {
    const bool adapted = builder.adapts(target.name);
    builder.note_target(target.name, adapted);
    if (!adapted) continue;
    const std::string prefix = folder_of(shape.parts.front().name) + target.name;
    const std::int64_t rank = builder.adapter_rank();
    auto& down = builder.add_adapter(prefix + ".lora_A.weight", {rank, shape.in},
                                     Init::uniform(1 / std::sqrt(static_cast<double>(shape.in))));
    auto& up = builder.add_adapter(prefix + ".lora_B.weight", {target.rows, rank}, Init::zeros());
    adapters_.push_back({&down, &up, target.first_row});
  }
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  if (adapters_.empty()) return linear(x, weight(), bias());
  std::vector<Adapter> adapters;
  for (const auto& factors : adapters_) {
    adapters.push_back({factors.down->for_products(), factors.up->for_products(), factors.first_row, adapter_scale_});
  }
  const at::Tensor out = adapted_linear(x, weight(), adapters);
  return bias_ ? out + bias() : out;
}

at::Tensor Linear::gelu(const at::Tensor& x) const {
  if (adapters_.empty() && bias_) return linear_gelu(x, weight(), bias());
  return at::gelu((*this)(x), "tanh");
}

std::int64_t Linear::rows() const { return weight_->shape[0] - weight_->padded_rows; }

double Linear::trained_flops() const {
  double elements = weight_->trainable ? static_cast<double>(weight_->count()) : 0;
  for (const auto& factors : adapters_) elements += static_cast<double>(factors.down->count() + factors.up->count());
  return 2 * elements;
}

double Linear::frozen_flops() const { return weight_->trainable ? 0 : 2 * static_cast<double>(weight_->count()); }

Norm::Norm(Builder& builder, const std::string& prefix, std::int64_t width, bool bias)
    : weight_(&builder.add(
          {.parts = {{prefix + ".weight"}}, .shape = {width}, .init = Init::ones(), .full_precision = true})) {
  if (!bias) return;
  bias_ =
      &builder.add({.parts = {{prefix + ".bias"}}, .shape = {width}, .init = Init::zeros(), .full_precision = true});
}

}  // namespace assay::engine
