#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace assay::engine {

/// How a parameter starts.
struct Init {
  enum class Kind { zeros, ones, normal, uniform } kind = Kind::zeros;
  double scale = 0;  ///< normal: standard deviation; uniform: ± this

  static Init zeros() { return {Kind::zeros, 0}; }
  static Init ones() { return {Kind::ones, 0}; }
  static Init normal(double standard_deviation) { return {Kind::normal, standard_deviation}; }
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
};

/// A tensor of a weights file that makes up some rows of a parameter. Q, K and V, or gate and up, are stored as one
/// matrix here, since one product over all rows is faster than three; files have them apart.
struct FilePart {
  /// How the file stores what is (out, in) or (out, height, width, in) here.
  enum class Layout { same, transposed, channels_first };

  std::string name;       ///< in the Hugging Face layout
  std::int64_t rows = 0;  ///< 0: all
  Layout layout = Layout::same;
};

/// What is computed in which number format. Factors of products and what comes out of them: `products`. Trained weights
/// as models read them, their gradients and the residual stream, which adds up many products: `sums`.
struct NumberFormats {
  at::ScalarType products = at::kFloat;
  at::ScalarType sums = at::kFloat;
};

/// A weight. `value` is what learns; its `.grad` is a view into the arena's gradients.
struct Parameter {
  std::vector<FilePart> parts;
  std::vector<std::int64_t> shape;
  Init init;
  bool full_precision = false;  ///< norms stay in fp32, as under autocast
  bool trainable = true;
  bool buffer = false;           ///< running statistics: saved and loaded, but not a parameter
  std::int64_t padded_rows = 0;  ///< rows at the end that exist for the kernels' sake, are zero and stay zero
  at::Tensor value;              ///< in the format of sums; frozen: in that of products
  at::Tensor master;             ///< fp32 view into the arena; undefined where frozen
  at::Tensor rounded;  ///< view into the arena's rounded copy; undefined where `value` is in the products' format

  const std::string& name() const { return parts.front().name; }
  std::int64_t count() const;  ///< elements, without padding
  /// The weight as a factor of products, as autocast hands it to them: the rounded copy, made once a step by the
  /// optimiser, not once a use. Its gradient arrives in `value`.
  at::Tensor for_products() const;
};

/// Trainable parameters of like number formats, next to each other in memory, in the order of the forward pass: the
/// optimiser, the gradient norm and the all-reduce each work on one long vector instead of hundreds of small ones.
struct Arena {
  struct Slice {
    Parameter* parameter = nullptr;
    std::int64_t offset = 0;
    std::int64_t count = 0;  ///< with padding rows
  };
  at::Tensor work;    ///< flat, in the format of products
  at::Tensor grad;    ///< flat, in the format of sums
  at::Tensor master;  ///< flat fp32, what the optimiser updates; the same tensor as `work` where that is fp32
  std::vector<Slice> slices;
};

/// Every parameter of a model. Models `add` theirs while they are built and keep the references; `allocate` then gives
/// them memory and first values.
class Parameters {
 public:
  Parameter& add(Parameter parameter);
  Parameter& add(const std::string& name, std::vector<std::int64_t> shape, Init init);

  /// Gives every parameter memory on `device` and its first value: the same for the same seed, device type and model.
  /// Frozen ones get no gradient and no master copy.
  void allocate(at::Device device, const NumberFormats& formats, std::uint64_t seed);

  std::deque<Parameter>& all() { return parameters_; }
  const std::deque<Parameter>& all() const { return parameters_; }
  std::vector<Arena>& arenas() { return arenas_; }

  std::int64_t count() const;  ///< elements without buffers and padding
  std::int64_t trainable_count() const;
  void zero_grad();
  /// After masters were changed from outside (weights loaded, received from another rank): rounds them to `work`.
  void round_masters();

 private:
  std::deque<Parameter> parameters_;  // deque: references stay valid
  std::vector<Arena> arenas_;
};

}  // namespace assay::engine
