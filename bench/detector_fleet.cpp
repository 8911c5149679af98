#include "detector_fleet.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/degradation.h"
#include "analysis/statistics.h"

namespace assay::bench {
namespace {

constexpr int kRepetitions = 5;
constexpr int kBaselineRuns = 15;
constexpr double kSharedMemory = 0.9;

constexpr std::array kModels = {
    NoiseModel{.name = "study", .description = "heavy-tailed repetitions (t3), shared drift, 2 % outlier runs"},
    NoiseModel{.name = "normal",
               .description = "normal repetitions, shared drift, 2 % outlier runs",
               .degrees = std::numeric_limits<double>::infinity()},
    NoiseModel{.name = "one-sided",
               .description = "repetitions are only ever slowed down, shared drift, 2 % outlier runs",
               .one_sided = true},
    NoiseModel{.name = "response",
               .description = "as study; GPUs respond to the shared drift by ±10 % differently",
               .response = 0.1},
    NoiseModel{.name = "wandering",
               .description = "as study; each GPU wanders by 0.2 % on its own, AR(0.5)",
               .own = 0.2,
               .own_memory = 0.5},
    NoiseModel{.name = "outliers", .description = "as study, with 5 % outlier runs", .outlier_share = 0.05},
    NoiseModel{.name = "run-noise",
               .description = "as study; every run is off by 0.7 % as a whole, so repetitions do not help",
               .promised = false,
               .own = 0.7},
    NoiseModel{.name = "slow-wandering",
               .description = "as study; each GPU wanders by 0.4 % on its own, AR(0.9)",
               .promised = false,
               .own = 0.4,
               .own_memory = 0.9},
    NoiseModel{.name = "bursts",
               .description = "as study; what slows a run down stays for four runs",
               .promised = false,
               .outlier_share = 0.01,
               .outlier_runs = 4},
    NoiseModel{.name = "few-peers",
               .description = "as study with three peers: against its own past alone",
               .promised = false,
               .peers = 3},
};

}  // namespace

std::span<const NoiseModel> noise_models() { return kModels; }

Fleet::Fleet(const NoiseModel& model, std::uint64_t seed, std::string_view purpose)
    : model_(model), random_(seed, purpose), gpus_(static_cast<std::size_t>(model.peers) + 1) {
  drift_ = random_.normal(0, model.shared);
  for (Gpu& gpu : gpus_) {
    gpu.response = random_.normal(1, model.response);
    gpu.wander = random_.normal(0, model.own);
  }
  std::vector<std::vector<double>> values(kBaselineRuns);
  for (auto& run : values) run = run_all(1, 1);
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    std::vector<double> own(values.size());
    std::transform(values.begin(), values.end(), own.begin(), [i](const auto& run) { return run[i]; });
    gpus_[i].baseline = median(own);
  }
  for (const auto& run : values) first_runs_.push_back(seen(run));
}

WatchedRun Fleet::next(double own, double all) { return seen(run_all(own, all)); }

double Fleet::repetition_noise() {
  if (model_.one_sided) return -random_.exponential(1);
  const double normal = random_.normal(0, 1);
  if (std::isinf(model_.degrees)) return normal;
  const double chi_square = random_.gamma(model_.degrees / 2, 2);
  // Scaled to a standard deviation of 1.
  return normal / std::sqrt(chi_square / model_.degrees) * std::sqrt((model_.degrees - 2) / model_.degrees);
}

double Fleet::run_value(Gpu& gpu, double factor) {
  gpu.wander = model_.own_memory * gpu.wander +
               random_.normal(0, model_.own * std::sqrt(1 - model_.own_memory * model_.own_memory));
  if (gpu.outlier_left > 0) {
    --gpu.outlier_left;
  } else {
    gpu.outlier_depth = 0;
    if (random_.uniform() < model_.outlier_share) {
      gpu.outlier_depth = random_.uniform(3, 15);
      gpu.outlier_left = model_.outlier_runs - 1;
    }
  }
  const double level =
      factor * (1 + drift_ * gpu.response / 100) * (1 + gpu.wander / 100) * (1 - gpu.outlier_depth / 100);
  std::array<double, kRepetitions> repetitions{};
  for (double& value : repetitions) value = level * (1 + model_.repetition * repetition_noise() / 100);
  return *assay::run_value(repetitions);
}

std::vector<double> Fleet::run_all(double own, double all) {
  drift_ = kSharedMemory * drift_ + random_.normal(0, model_.shared * std::sqrt(1 - kSharedMemory * kSharedMemory));
  std::vector<double> values;
  for (std::size_t i = 0; i < gpus_.size(); ++i) values.push_back(run_value(gpus_[i], all * (i == 0 ? own : 1)));
  return values;
}

WatchedRun Fleet::seen(const std::vector<double>& values) const {
  std::vector<BaselinedValue> peers;
  std::vector<double> relative;
  for (std::size_t i = 1; i < gpus_.size(); ++i) {
    peers.push_back({values[i], gpus_[i].baseline});
    relative.push_back(100 * values[i] / gpus_[i].baseline);
  }
  return {.residual = peer_residual({values[0], gpus_[0].baseline}, peers)->percent,
          .raw = 100 * values[0] / gpus_[0].baseline,
          .fleet_median = median(relative)};
}

}  // namespace assay::bench
