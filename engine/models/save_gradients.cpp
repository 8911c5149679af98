#include <ATen/ATen.h>

#include <deque>

#include "formats/safetensors.h"
#include "models/model.h"

namespace assay::engine {
namespace {

at::Tensor in_file_layout(const at::Tensor& tensor, FilePart::Layout layout) {
  if (layout == FilePart::Layout::transposed) return tensor.t();
  if (layout == FilePart::Layout::channels_first) return tensor.permute({0, 3, 1, 2});
  return tensor;
}

}  // namespace

void save_gradients(Parameters& parameters, double factor, const std::string& path) {
  const at::NoGradGuard no_grad;
  std::deque<at::Tensor> kept;
  std::vector<TensorView> views;
  for (const auto& parameter : parameters.all()) {
    if (!parameter.value.grad().defined()) continue;
    const at::Tensor gradient = parameter.value.grad().to(at::kCPU, at::kFloat) * factor;
    std::int64_t row = 0;
    for (const auto& part : parameter.parts) {
      kept.push_back(in_file_layout(gradient.narrow(0, row, part.rows), part.layout).contiguous());
      row += part.rows;
      const at::Tensor& tensor = kept.back();
      views.push_back({part.name,
                       Dtype::f32,
                       tensor.sizes().vec(),
                       {static_cast<const std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.nbytes())}});
    }
  }
  write_safetensors(path, views);
}

}  // namespace assay::engine
