#include "core/parameters.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <numeric>

namespace assay::engine {
namespace {

// Every parameter starts at a multiple of this many elements: vector loads and tensor cores want aligned addresses.
constexpr std::int64_t kAlignment = 128;

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Elements of the tensor, padding rows included; `Parameter::shape` has them already.
std::int64_t stored(const Parameter& parameter) { return product(parameter.shape); }

void fill(at::Tensor value, const Init& init) {
  switch (init.kind) {
    case Init::Kind::zeros: value.zero_(); break;
    case Init::Kind::ones: value.fill_(1); break;
    case Init::Kind::normal: value.normal_(0, init.scale); break;
    case Init::Kind::uniform: value.uniform_(-init.scale, init.scale); break;
  }
}

void start(Parameter& parameter, at::Tensor value) {
  fill(value, parameter.init);
  if (parameter.padded_rows > 0)
    value.narrow(0, parameter.shape[0] - parameter.padded_rows, parameter.padded_rows).zero_();
}

/// A weight and its rounded copy, which has the same elements in another format.
struct RoundedCopy : torch::autograd::Function<RoundedCopy> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& value,
                            const at::Tensor& rounded) {
    context->saved_data["gradient"] = value.grad();
    return rounded.view(rounded.sizes());
  }
  // Added to the weight's gradient here: autograd would convert it first, one more pass over the memory. Autograd still
  // visits the weight, with nothing to add, so that whoever waits for its gradient is told.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    context->saved_data["gradient"].toTensor().add_(gradients[0]);
    return {at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor Parameter::for_products() const {
  if (!rounded.defined()) return value;
  return at::GradMode::is_enabled() ? RoundedCopy::apply(value, rounded) : rounded;
}

std::int64_t Parameter::count() const {
  if (padded_rows == 0) return product(shape);
  return product(shape) / shape[0] * (shape[0] - padded_rows);
}

Parameter& Parameters::add(Parameter parameter) {
  if (parameter.parts.size() == 1 && parameter.parts[0].rows == 0) {
    parameter.parts[0].rows = parameter.shape.empty() ? 1 : parameter.shape[0] - parameter.padded_rows;
  }
  parameters_.push_back(std::move(parameter));
  return parameters_.back();
}

Parameter& Parameters::add(const std::string& name, std::vector<std::int64_t> shape, Init init) {
  return add({.parts = {{.name = name}}, .shape = std::move(shape), .init = init});
}

void Parameters::allocate(at::Device device, const NumberFormats& formats, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  at::manual_seed(seed);
  for (const bool full : {false, true}) {
    const auto type = full ? at::kFloat : formats.products;
    Arena arena;
    std::int64_t size = 0;
    for (auto& parameter : parameters_) {
      const bool is_full = parameter.full_precision && formats.products != at::kFloat;
      if (!parameter.trainable || parameter.buffer || is_full != full) continue;
      arena.slices.push_back({&parameter, size, stored(parameter)});
      size += (stored(parameter) + kAlignment - 1) / kAlignment * kAlignment;
    }
    if (size == 0) continue;
    const auto options = at::TensorOptions().device(device);
    // Zeros: the gaps between parameters must not be garbage, the gradient norm reads them.
    arena.master = at::zeros({size}, options.dtype(at::kFloat));
    arena.grad = at::zeros({size}, options.dtype(full ? at::kFloat : formats.sums));
    arena.work = type == at::kFloat ? arena.master : at::zeros({size}, options.dtype(type));
    arenas_.push_back(std::move(arena));
  }
  // In the order of the model, whatever arena a parameter belongs to, so that precision does not change the start.
  for (auto& parameter : parameters_) {
    Arena* home = nullptr;
    Arena::Slice place;
    for (auto& arena : arenas_) {
      for (const auto& slice : arena.slices) {
        if (slice.parameter == &parameter) home = &arena, place = slice;
      }
    }
    if (!home) {
      const auto type = parameter.full_precision || parameter.buffer ? at::kFloat : formats.products;
      parameter.value = at::empty(parameter.shape, at::TensorOptions().device(device).dtype(type));
      start(parameter, parameter.value);
      continue;
    }
    const auto view_of = [&](const at::Tensor& flat) {
      return flat.narrow(0, place.offset, place.count).view(parameter.shape);
    };
    parameter.master = view_of(home->master);
    start(parameter, parameter.master);
    const bool same = home->work.scalar_type() == home->grad.scalar_type();
    if (!same) parameter.rounded = view_of(home->work);
    parameter.value = (same ? view_of(home->work) : parameter.master).detach();
    parameter.value.set_requires_grad(true);
    parameter.value.mutable_grad() = view_of(home->grad);
  }
  round_masters();
}

std::int64_t Parameters::count() const {
  std::int64_t total = 0;
  for (const auto& parameter : parameters_) total += parameter.buffer ? 0 : parameter.count();
  return total;
}

std::int64_t Parameters::trainable_count() const {
  std::int64_t total = 0;
  for (const auto& parameter : parameters_) total += parameter.buffer || !parameter.trainable ? 0 : parameter.count();
  return total;
}

void Parameters::zero_grad() {
  for (auto& arena : arenas_) arena.grad.zero_();
}

void Parameters::round_masters() {
  const at::NoGradGuard no_grad;
  for (auto& arena : arenas_) {
    if (!arena.work.is_same(arena.master)) arena.work.copy_(arena.master);
  }
}

}  // namespace assay::engine
