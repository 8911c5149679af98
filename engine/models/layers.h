#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "core/parameters.h"
#include "formats/train_spec.h"
#include "ops/linear.h"
#include "ops/norm.h"

namespace assay::engine {

/// Collects a model's parameters and decides which of them learn.
class Builder {
 public:
  Builder(Parameters& parameters, const TrainSpec& spec);

  Parameters& parameters() { return parameters_; }
  Parameter& add(Parameter parameter);  ///< frozen under LoRA
  Parameter& add_adapter(const std::string& name, std::vector<std::int64_t> shape, Init init);
  bool adapts(const std::string& target) const;
  double adapter_scale() const { return spec_.lora.alpha / static_cast<double>(spec_.lora.rank); }
  std::int64_t adapter_rank() const { return spec_.lora.rank; }
  void note_target(const std::string& target, bool adapted);
  /// Failure `bad_spec` if LoRA was asked for and a target fits no layer.
  void check_targets() const;

 private:
  Parameters& parameters_;
  const TrainSpec& spec_;
  std::vector<std::string> known_targets_;
  std::vector<std::string> used_targets_;
};

struct LinearShape {
  /// One or more tensors of the file whose rows follow each other, by the name before ".weight".
  std::vector<FilePart> parts;
  std::int64_t in = 0;
  bool bias = true;
  Init init;
  std::int64_t padded_rows = 0;
  /// Rows that LoRA may name besides the last word of each part.
  struct Target {
    std::string name;
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
  };
  std::vector<Target> targets;
};

class Linear {
 public:
  Linear(Builder& builder, const LinearShape& shape);

  at::Tensor operator()(const at::Tensor& x) const;
  at::Tensor gelu(const at::Tensor& x) const;  ///< tanh form, fused where possible
  at::Tensor weight() const { return weight_->for_products(); }
  at::Tensor bias() const { return bias_ ? bias_->for_products() : at::Tensor(); }
  std::int64_t rows() const;  ///< without padding
  /// Operations per row of input, trained and frozen.
  double trained_flops() const;
  double frozen_flops() const;

 private:
  struct Factors {
    Parameter* down;
    Parameter* up;
    std::int64_t first_row;
  };
  Parameter* weight_;
  Parameter* bias_ = nullptr;
  std::vector<Factors> adapters_;
  double adapter_scale_ = 1;
};

/// Weight and bias of a norm, in fp32; no bias: RMS norm.
struct Norm {
  Norm(Builder& builder, const std::string& prefix, std::int64_t width, bool bias);
  NormWeights weights(double epsilon) const { return {weight_->value, bias_ ? bias_->value : at::Tensor(), epsilon}; }

 private:
  Parameter* weight_;
  Parameter* bias_ = nullptr;
};

/// Rows to add so that a matrix with so many rows has a multiple of `multiple`.
std::int64_t padding_to(std::int64_t rows, std::int64_t multiple);

}  // namespace assay::engine
