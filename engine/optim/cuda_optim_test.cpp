#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/cuda.h"
#include "optim/optimizer.h"

// The kernels of optimisers and ledger against the loops of the CPU, over several steps. Only where there is a GPU.

namespace assay::engine {
namespace {

constexpr std::int64_t kSteps = 5;
constexpr std::int64_t kOverflow = 2;
const at::Device kGpu(at::kCUDA, 0);

/// Two parameters in two arenas where formats differ, one of them not a multiple of a kernel's block.
struct Trained {
  Trained(const TrainSpec& spec, at::Device device, const NumberFormats& formats) {
    parameters.add("matrix", {300, 8}, Init::normal(1));
    parameters.add({.parts = {{"norm"}}, .shape = {40}, .init = Init::ones(), .full_precision = true});
    parameters.allocate(device, formats, 1);
    update = make_update(spec, parameters.arenas());
    ledger = std::make_unique<StepLedger>(4, spec.gradient_clipping, spec.scales_loss(), device);
  }

  /// With the same gradients on every device.
  void step(std::int64_t number, bool overflows) {
    ledger->plan(number, {0.01F * static_cast<float>(number + 1)});
    at::manual_seed(static_cast<std::uint64_t>(number));
    const double scale = ledger->loss_scale().defined() ? ledger->loss_scale().item<double>() : 1;
    for (auto& arena : parameters.arenas()) {
      arena.grad.copy_(at::randn({arena.grad.numel()}) * 0.1 * scale);
      if (overflows) arena.grad[7] = INFINITY;
    }
    update->apply(ledger->begin_update(parameters.arenas()));
    ledger->end_step(at::full({1}, 0.5 * static_cast<double>(number), parameters.arenas()[0].master.options()));
  }

  Parameters parameters;
  std::unique_ptr<ParameterUpdate> update;
  std::unique_ptr<StepLedger> ledger;
};

double apart(const at::Tensor& got, const at::Tensor& wanted) {
  const at::Tensor reference = wanted.to(at::kDouble);
  return ((got.to(at::kCPU, at::kDouble) - reference).norm() / reference.norm()).item<double>();
}

void expect_same_steps(const TrainSpec& spec, const NumberFormats& formats, double tolerance) {
  SCOPED_TRACE(std::string(name_of(spec.optimizer)) + ", " + std::string(name_of(spec.precision)));
  Trained cpu(spec, at::kCPU, formats);
  Trained gpu(spec, kGpu, formats);
  for (std::size_t i = 0; i < cpu.parameters.arenas().size(); ++i) {
    gpu.parameters.arenas()[i].master.copy_(cpu.parameters.arenas()[i].master);
  }
  gpu.parameters.round_masters();
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const bool overflows = spec.scales_loss() && i == kOverflow;
    cpu.step(i, overflows);
    gpu.step(i, overflows);
    EXPECT_EQ(cpu.ledger->place().item<std::int64_t>(), gpu.ledger->place().item<std::int64_t>());
  }
  for (std::size_t i = 0; i < cpu.parameters.arenas().size(); ++i) {
    const Arena& wanted = cpu.parameters.arenas()[i];
    const Arena& got = gpu.parameters.arenas()[i];
    EXPECT_LT(apart(got.master, wanted.master), tolerance) << "arena " << i;
    EXPECT_TRUE(at::equal(got.work, got.master.to(got.work.scalar_type()))) << "arena " << i;
  }
  const at::Tensor ring = gpu.ledger->ring().to(at::kCPU);
  EXPECT_TRUE(at::allclose(at::nan_to_num(ring), at::nan_to_num(cpu.ledger->ring()), 1e-4));
  if (spec.scales_loss()) {
    EXPECT_EQ(gpu.ledger->loss_scale().item<float>(), LossScale::kFirst / 2);
  }
}

TEST(CudaOptimisers, UpdateAsTheLoopsOfTheCpuDo) {
  if (usable_gpus() == 0) GTEST_SKIP() << "no GPU here";
  struct Case {
    Precision precision;
    NumberFormats formats;
  };
  const std::vector<Case> cases = {{Precision::fp32, {}},
                                   {Precision::bf16, {.products = at::kBFloat16, .sums = at::kFloat}},
                                   {Precision::bf16_all, {.products = at::kBFloat16, .sums = at::kBFloat16}},
                                   {Precision::fp16, {.products = at::kHalf, .sums = at::kFloat}}};
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adam, Optimizer::adamw, Optimizer::adamw_8bit}) {
    for (const auto& [precision, formats] : cases) {
      TrainSpec spec = parse_train_spec({});
      spec.optimizer = optimizer;
      spec.precision = precision;
      spec.weight_decay = 0.1;
      spec.gradient_clipping = 1;
      // A code of eight bits may fall on the other side of a boundary.
      expect_same_steps(spec, formats, optimizer == Optimizer::adamw_8bit ? 1e-2 : 1e-5);
    }
  }
}

}  // namespace
}  // namespace assay::engine
