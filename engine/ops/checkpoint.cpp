#include "ops/checkpoint.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/torch_compat.h"

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Generator generator_of(at::Device device) { return at::globalContext().defaultGenerator(device); }

/// Sets a generator back for as long as it lives.
class ReplayedRandom {
 public:
  ReplayedRandom(at::Device device, const at::Tensor& state) : generator_(generator_of(device)) {
    if (!state.defined()) return;
    now_ = generator_.get_state();
    generator_.set_state(state);
  }
  ~ReplayedRandom() {
    if (now_.defined()) generator_.set_state(now_);
  }
  ReplayedRandom(const ReplayedRandom&) = delete;
  ReplayedRandom& operator=(const ReplayedRandom&) = delete;

 private:
  at::Generator generator_;
  at::Tensor now_;
};

struct Checkpoint : torch::autograd::Function<Checkpoint> {
  // `anchor` requires a gradient so that the node is recorded even where no input does, as in the first block of a
  // model with a frozen embedding.
  static variable_list forward(AutogradContext* context, const at::Tensor&, const at::Tensor& first,
                               const MaybeTensor& second, std::int64_t block, bool random) {
    variable_list inputs = {first};
    if (second) inputs.push_back(*second);
    context->saved_data["block"] = block;
    if (random) context->saved_data["random"] = generator_of(inputs[0].device()).get_state();
    context->save_for_backward(inputs);
    return function(block)(inputs);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list inputs;
    for (const auto& saved : context->get_saved_variables()) {
      inputs.push_back(saved.detach().set_requires_grad(saved.requires_grad()));
    }
    const auto found = context->saved_data.find("random");
    const at::Tensor state = found == context->saved_data.end() ? at::Tensor() : found->second.toTensor();
    variable_list outputs;
    {
      const at::AutoGradMode enable(true);
      const ReplayedRandom replay(inputs[0].device(), state);
      outputs = function(context->saved_data["block"].toInt())(inputs);
    }
    variable_list roots;
    variable_list root_gradients;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!gradients[i].defined() || !outputs[i].requires_grad()) continue;
      roots.push_back(outputs[i]);
      root_gradients.push_back(gradients[i]);
    }
    torch::autograd::backward(roots, root_gradients);
    variable_list result = {at::Tensor()};
    for (const auto& input : inputs) result.push_back(input.grad());
    result.resize(5);  // anchor, first, second, block, random
    return result;
  }

  static const Block& function(std::int64_t address) { return *reinterpret_cast<const Block*>(address); }
};

}  // namespace

std::vector<at::Tensor> checkpoint(const Block& block, const std::vector<at::Tensor>& inputs, bool random) {
  const at::Tensor anchor = at::empty({0}, inputs[0].options().dtype(at::kFloat)).set_requires_grad(true);
  return Checkpoint::apply(anchor, inputs[0], inputs.size() > 1 ? MaybeTensor(inputs[1]) : MaybeTensor(),
                           reinterpret_cast<std::int64_t>(&block), random);
}

}  // namespace assay::engine
