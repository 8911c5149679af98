#include "ops/pool.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/cuda.h"

namespace assay::engine {
namespace {

#ifdef ASSAY_ENGINE_KERNELS

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// LibTorch writes 8 bytes of index for 2 of a value, and its backward pass takes three times as long.
struct MaxPool : torch::autograd::Function<MaxPool> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given) {
    const at::Tensor x = given.contiguous(at::MemoryFormat::ChannelsLast);
    const kernels::Pool shape = shape_of(x.sizes(), kernel_type(x));
    const auto options = x.options().memory_format(at::MemoryFormat::ChannelsLast);
    const at::Tensor y =
        at::empty({x.size(0), x.size(1), kernels::pooled(shape.height), kernels::pooled(shape.width)}, options);
    const at::Tensor places = at::empty_like(y, y.options().dtype(at::kByte));
    kernels::max_pool_forward(x.data_ptr(), y.data_ptr(), places.data_ptr<std::uint8_t>(), shape, current_stream());
    context->save_for_backward({places});
    context->saved_data["shape"] = x.sizes().vec();
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto sizes = context->saved_data["shape"].toIntVector();
    const at::Tensor dy = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor places = context->get_saved_variables()[0];
    const at::Tensor dx = at::empty(sizes, dy.options().memory_format(at::MemoryFormat::ChannelsLast));
    kernels::max_pool_backward(dy.data_ptr(), places.data_ptr<std::uint8_t>(), dx.data_ptr(),
                               shape_of(sizes, kernel_type(dy)), current_stream());
    return {dx};
  }

  static kernels::Pool shape_of(at::IntArrayRef sizes, kernels::Type type) {
    const auto size = [&](std::size_t dimension) { return static_cast<int>(sizes[dimension]); };
    return {.batch = size(0), .height = size(2), .width = size(3), .channels = size(1), .type = type};
  }
};

#endif

}  // namespace

at::Tensor max_pool(const at::Tensor& x) {
#ifdef ASSAY_ENGINE_KERNELS
  if (has_own_kernels(x) && x.size(1) % 8 == 0) return MaxPool::apply(x);
#endif
  return at::max_pool2d(x, 3, 2, 1);
}

}  // namespace assay::engine
