#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>

#include "core/cuda.h"
#include "formats/failure.h"
#include "optim/optimizer.h"

namespace assay::engine {
namespace {

StepValues read_values(const at::Tensor& values) {
  const auto* row = values.data_ptr<float>();
  return {row[0], row[1], row[2], row[3]};
}

/// The gradient as fp32 on the CPU, converted where it is not.
at::Tensor exact_gradient(const Arena& arena) { return arena.grad.to(at::kFloat); }

void round_to_work(Arena& arena) {
  if (!arena.work.is_same(arena.master)) arena.work.copy_(arena.master);
}

#ifdef ASSAY_ENGINE_KERNELS
kernels::Updated updated(Arena& arena) {
  return {.master = arena.master.data_ptr<float>(),
          .work = arena.work.is_same(arena.master) ? nullptr : arena.work.data_ptr(),
          .gradient = arena.grad.data_ptr(),
          .count = arena.master.numel(),
          .work_type = kernel_type(arena.work),
          .gradient_type = kernel_type(arena.grad)};
}

const StepValues* values_on_device(const at::Tensor& values) {
  return reinterpret_cast<const StepValues*>(values.data_ptr<float>());
}
#endif

// Pieces of this many elements keep a core busy for some microseconds.
constexpr std::int64_t kGrain = 16384;

at::Tensor state_like(const Arena& arena, std::int64_t count, at::ScalarType type, bool paged) {
  auto options = at::TensorOptions().dtype(type);
  if (!arena.master.is_cuda()) return at::zeros({count}, options);
  if (paged) return at::zeros({count}, options.pinned_memory(true));
  return at::zeros({count}, options.device(arena.master.device()));
}

class SgdUpdate : public ParameterUpdate {
 public:
  SgdUpdate(std::vector<Arena>& arenas, float weight_decay) : arenas_(arenas), weight_decay_(weight_decay) {}

  void apply(const at::Tensor& values) override {
    for (auto& arena : arenas_) {
#ifdef ASSAY_ENGINE_KERNELS
      if (has_own_kernels(arena.master)) {
        kernels::sgd(updated(arena), values_on_device(values), weight_decay_, current_stream());
        continue;
      }
#endif
      if (arena.master.is_cuda()) {
        compose(arena, values);
      } else {
        loop(arena, read_values(values));
      }
      round_to_work(arena);
    }
  }
  std::int64_t device_bytes() const override { return 0; }
  std::int64_t host_bytes() const override { return 0; }

 private:
  void loop(Arena& arena, const StepValues& values) const {
    if (values.multiplier == 0) return;
    const at::Tensor gradient = exact_gradient(arena);
    auto* parameters = arena.master.data_ptr<float>();
    const auto* gradients = gradient.data_ptr<float>();
    at::parallel_for(0, arena.master.numel(), kGrain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) sgd_update(parameters[i], gradients[i], values, weight_decay_);
    });
  }
  void compose(Arena& arena, const at::Tensor& values) const {
    const at::Tensor gradient = exact_gradient(arena) * values[3] + arena.master * weight_decay_;
    const at::Tensor kept = values[3].ne(0).to(at::kFloat);
    arena.master.sub_(gradient * (values[0] * kept));
  }

  std::vector<Arena>& arenas_;
  float weight_decay_;
};

class AdamUpdate : public ParameterUpdate {
 public:
  AdamUpdate(std::vector<Arena>& arenas, const AdamSettings& settings) : arenas_(arenas), settings_(settings) {
    for (const auto& arena : arenas_) {
      moments_.push_back({state_like(arena, arena.master.numel(), at::kFloat, false),
                          state_like(arena, arena.master.numel(), at::kFloat, false)});
    }
  }

  void apply(const at::Tensor& values) override {
    for (std::size_t i = 0; i < arenas_.size(); ++i) {
      Arena& arena = arenas_[i];
#ifdef ASSAY_ENGINE_KERNELS
      if (has_own_kernels(arena.master)) {
        kernels::adam(updated(arena), moments_[i].first.data_ptr<float>(), moments_[i].second.data_ptr<float>(),
                      values_on_device(values), settings_, current_stream());
        continue;
      }
#endif
      if (arena.master.is_cuda()) {
        compose(arena, moments_[i], values);
      } else {
        loop(arena, moments_[i], read_values(values));
      }
      round_to_work(arena);
    }
  }
  std::int64_t device_bytes() const override {
    std::int64_t bytes = 0;
    for (const auto& [first, second] : moments_) bytes += first.nbytes() + second.nbytes();
    return bytes;
  }
  std::int64_t host_bytes() const override { return 0; }

 private:
  struct Moments {
    at::Tensor first;
    at::Tensor second;
  };

  void loop(Arena& arena, Moments& moments, const StepValues& values) const {
    if (values.multiplier == 0) return;
    const at::Tensor gradient = exact_gradient(arena);
    auto* parameters = arena.master.data_ptr<float>();
    const auto* gradients = gradient.data_ptr<float>();
    auto* first_moments = moments.first.data_ptr<float>();
    auto* second_moments = moments.second.data_ptr<float>();
    at::parallel_for(0, arena.master.numel(), kGrain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        adam_update(parameters[i], gradients[i], first_moments[i], second_moments[i], values, settings_);
      }
    });
  }
  /// For GPUs without our kernels. A skipped step (multiplier 0) leaves everything as it was.
  void compose(Arena& arena, Moments& moments, const at::Tensor& values) const {
    const at::Tensor kept = values[3].ne(0).to(at::kFloat);
    at::Tensor gradient = at::nan_to_num(exact_gradient(arena)) * values[3];
    if (!settings_.decoupled) gradient = gradient + arena.master * settings_.weight_decay;
    moments.first.add_((gradient - moments.first) * (kept * (1 - settings_.beta1)));
    moments.second.add_((gradient.square() - moments.second) * (kept * (1 - settings_.beta2)));
    if (settings_.decoupled) arena.master.mul_(1 - values[0] * kept * settings_.weight_decay);
    const at::Tensor denominator = (moments.second / values[2]).sqrt_().add_(settings_.epsilon);
    arena.master.sub_(moments.first / denominator * (values[0] * kept / values[1]));
  }

  std::vector<Arena>& arenas_;
  AdamSettings settings_;
  std::vector<Moments> moments_;
};

class EightBitAdamUpdate : public ParameterUpdate {
 public:
  EightBitAdamUpdate(std::vector<Arena>& arenas, const AdamSettings& settings, bool paged)
      : arenas_(arenas), settings_(settings), paged_(paged) {
    for (const auto& arena : arenas_) {
      if (arena.master.is_cuda() && !has_own_kernels(arena.master)) {
        throw Failure("unsupported", "this engine was built without CUDA kernels, which 8-bit optimisers need",
                      "Build it where nvcc is on the PATH, or use `optimizer: adamw`.");
      }
      const std::int64_t count = arena.master.numel();
      const std::int64_t blocks = (count + eight_bit::kBlock - 1) / eight_bit::kBlock;
      states_.push_back({state_like(arena, count, at::kByte, paged), state_like(arena, count, at::kByte, paged),
                         state_like(arena, blocks, at::kFloat, paged), state_like(arena, blocks, at::kFloat, paged)});
    }
  }

  void apply(const at::Tensor& values) override {
    for (std::size_t i = 0; i < arenas_.size(); ++i) {
      Arena& arena = arenas_[i];
      State& state = states_[i];
#ifdef ASSAY_ENGINE_KERNELS
      if (has_own_kernels(arena.master)) {
        // Page-locked host memory has the same address on the device: the paged states are read and written over the
        // bus.
        kernels::adam_8bit(updated(arena), state.first.data_ptr<std::uint8_t>(), state.second.data_ptr<std::uint8_t>(),
                           state.first_scale.data_ptr<float>(), state.second_scale.data_ptr<float>(),
                           values_on_device(values), settings_, current_stream());
        continue;
      }
#endif
      loop(arena, state, read_values(values));
      round_to_work(arena);
    }
  }
  std::int64_t device_bytes() const override { return paged_ ? 0 : bytes(); }
  std::int64_t host_bytes() const override { return paged_ ? bytes() : 0; }

 private:
  struct State {
    at::Tensor first;
    at::Tensor second;
    at::Tensor first_scale;
    at::Tensor second_scale;
  };

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& state : states_) {
      sum += state.first.nbytes() + state.second.nbytes() + state.first_scale.nbytes() + state.second_scale.nbytes();
    }
    return sum;
  }

  void loop(Arena& arena, State& state, const StepValues& values) const {
    if (values.multiplier == 0) return;
    const at::Tensor gradient = exact_gradient(arena);
    auto* parameters = arena.master.data_ptr<float>();
    const auto* gradients = gradient.data_ptr<float>();
    auto* codes1 = state.first.data_ptr<std::uint8_t>();
    auto* codes2 = state.second.data_ptr<std::uint8_t>();
    auto* scales1 = state.first_scale.data_ptr<float>();
    auto* scales2 = state.second_scale.data_ptr<float>();
    const std::int64_t count = arena.master.numel();
    at::parallel_for(
        0, state.first_scale.numel(), kGrain / eight_bit::kBlock, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t block = first; block < last; ++block) {
            const std::int64_t begin = block * eight_bit::kBlock;
            const std::int64_t size = std::min<std::int64_t>(eight_bit::kBlock, count - begin);
            float moment1[eight_bit::kBlock];
            float moment2[eight_bit::kBlock];
            float largest1 = 0;
            float largest2 = 0;
            for (std::int64_t i = 0; i < size; ++i) {
              moment1[i] = eight_bit::decode_signed(codes1[begin + i]) * scales1[block];
              moment2[i] = eight_bit::decode_unsigned(codes2[begin + i]) * scales2[block];
              adam_update(parameters[begin + i], gradients[begin + i], moment1[i], moment2[i], values, settings_);
              largest1 = std::max(largest1, std::abs(moment1[i]));
              largest2 = std::max(largest2, moment2[i]);
            }
            for (std::int64_t i = 0; i < size; ++i) {
              codes1[begin + i] = largest1 > 0 ? eight_bit::encode_signed(moment1[i] / largest1) : 0;
              codes2[begin + i] = largest2 > 0 ? eight_bit::encode_unsigned(moment2[i] / largest2) : 0;
            }
            scales1[block] = largest1;
            scales2[block] = largest2;
          }
        });
  }

  std::vector<Arena>& arenas_;
  AdamSettings settings_;
  bool paged_;
  std::vector<State> states_;
};

}  // namespace

std::unique_ptr<ParameterUpdate> make_update(const TrainSpec& spec, std::vector<Arena>& arenas) {
  AdamSettings settings;
  settings.weight_decay = static_cast<float>(spec.weight_decay);
  switch (spec.optimizer) {
    case Optimizer::sgd: return std::make_unique<SgdUpdate>(arenas, settings.weight_decay);
    case Optimizer::adam: settings.decoupled = false; [[fallthrough]];
    case Optimizer::adamw: return std::make_unique<AdamUpdate>(arenas, settings);
    case Optimizer::adamw_8bit: return std::make_unique<EightBitAdamUpdate>(arenas, settings, false);
    case Optimizer::paged_adamw_8bit: return std::make_unique<EightBitAdamUpdate>(arenas, settings, true);
  }
  throw Failure("unsupported", "unknown optimiser");
}

}  // namespace assay::engine
