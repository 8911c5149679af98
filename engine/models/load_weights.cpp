#include <ATen/ATen.h>

#include <cstring>
#include <set>

#include "formats/failure.h"
#include "formats/weights.h"
#include "models/model.h"

namespace assay::engine {
namespace {

at::ScalarType scalar_type(const TensorView& view, const std::string& path) {
  switch (view.dtype) {
    case Dtype::f64: return at::kDouble;
    case Dtype::f32: return at::kFloat;
    case Dtype::f16: return at::kHalf;
    case Dtype::bf16: return at::kBFloat16;
    default: break;
  }
  throw Failure("bad_file", "'" + path + "': tensor '" + view.name + "' holds " + std::string(name_of(view.dtype)) +
                                ", not floating-point numbers");
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const auto extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

/// Files name the same tensor with or without the name of the whole model in front.
const TensorView* find(const Weights& weights, const std::string& name) {
  if (const auto* view = weights.find(name)) return view;
  if (const auto* view = weights.find("transformer." + name)) return view;
  const auto dot = name.find('.');
  return dot == std::string::npos ? nullptr : weights.find(name.substr(dot + 1));
}

/// The shape that the file must have for rows first … first + rows of a parameter.
std::vector<std::int64_t> shape_in_file(const Parameter& parameter, const FilePart& part) {
  std::vector<std::int64_t> shape = parameter.shape;
  if (!shape.empty()) shape[0] = part.rows;
  if (part.layout == FilePart::Layout::transposed) return {shape[1], shape[0]};
  if (part.layout == FilePart::Layout::channels_first) return {shape[0], shape[3], shape[1], shape[2]};
  return shape;
}

at::Tensor in_our_layout(const at::Tensor& tensor, FilePart::Layout layout) {
  if (layout == FilePart::Layout::transposed) return tensor.t();
  if (layout == FilePart::Layout::channels_first) return tensor.permute({0, 2, 3, 1});
  return tensor;
}

at::Tensor read(const TensorView& view, const std::string& path) {
  // A copy: the file may start a tensor at any address.
  at::Tensor tensor = at::empty(view.shape, scalar_type(view, path));
  std::memcpy(tensor.data_ptr(), view.data.data(), view.data.size());
  return tensor;
}

}  // namespace

std::int64_t load_weights(Parameters& parameters, const std::string& path) {
  const at::NoGradGuard no_grad;
  const Weights weights = open_weights(path);
  std::set<const TensorView*> used;
  for (auto& parameter : parameters.all()) {
    // A file of the model alone has no adapters: they start as they always do.
    if (parameter.name().find(".lora_") != std::string::npos && !find(weights, parameter.name())) continue;
    std::int64_t row = 0;
    for (const auto& part : parameter.parts) {
      const TensorView* view = find(weights, part.name);
      if (!view) {
        throw Failure("bad_file", "'" + path + "' has no tensor '" + part.name + "'",
                      "Is it the model that the specification names?");
      }
      if (view->shape != shape_in_file(parameter, part)) {
        throw Failure("bad_file",
                      "'" + path + "': tensor '" + part.name + "' has the shape " + text_of(view->shape) + ", not " +
                          text_of(shape_in_file(parameter, part)),
                      "Sizes under `model` (layers, width, heads, vocabulary) must be those of the file.");
      }
      at::Tensor target = parameter.master.defined() ? parameter.master : parameter.value;
      target.narrow(0, row, part.rows).copy_(in_our_layout(read(*view, path), part.layout));
      row += part.rows;
      used.insert(view);
    }
  }
  parameters.round_masters();
  return static_cast<std::int64_t>(weights.all().size() - used.size());
}

}  // namespace assay::engine
