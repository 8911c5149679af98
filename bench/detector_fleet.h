#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace assay::bench {

/// How the runs of a simulated fleet scatter. All sizes in percent of the speed.
struct NoiseModel {
  std::string_view name;
  std::string_view description;
  bool promised = true;  ///< the goals hold for it; otherwise it shows where the method ends

  double repetition = 1;   ///< standard deviation of one repetition inside a run
  double degrees = 3;      ///< of Student's t that repetitions follow; infinity: normal
  bool one_sided = false;  ///< repetitions are only ever slowed down (exponential)
  double shared = 1;       ///< drift that all GPUs share, an AR(0.9) process
  double response = 0;     ///< how differently GPUs respond to what they share, as a share of it
  double own = 0;          ///< wandering of each GPU by itself, an AR(own_memory) process
  double own_memory = 0;
  double outlier_share = 0.02;  ///< of runs that something else slowed down by 3 … 15 %
  int outlier_runs = 1;         ///< how long that lasts
  int peers = 8;
};

std::span<const NoiseModel> noise_models();

/// One run of the watched GPU as the methods see it.
struct WatchedRun {
  double residual = 100;      ///< against the peers, in percent
  double raw = 100;           ///< against its own baseline alone, in percent
  double fleet_median = 100;  ///< of the peers against their baselines, in percent
};

/// A GPU among its peers, run after run. The same model, seed and purpose give the same runs.
class Fleet {
 public:
  Fleet(const NoiseModel& model, std::uint64_t seed, std::string_view purpose);

  /// The next run. `own` slows the watched GPU down (0.99: by one percent), `all` every GPU.
  WatchedRun next(double own = 1, double all = 1);
  /// The runs from which the baselines were taken: the beginning of the series.
  const std::vector<WatchedRun>& first_runs() const { return first_runs_; }

 private:
  struct Gpu {
    double response = 1;
    double wander = 0;
    double baseline = 1;
    int outlier_left = 0;
    double outlier_depth = 0;
  };

  double repetition_noise();
  double run_value(Gpu& gpu, double factor);
  std::vector<double> run_all(double own, double all);
  WatchedRun seen(const std::vector<double>& values) const;

  const NoiseModel& model_;
  Random random_;
  double drift_ = 0;
  std::vector<Gpu> gpus_;  ///< the watched one first
  std::vector<WatchedRun> first_runs_;
};

}  // namespace assay::bench
