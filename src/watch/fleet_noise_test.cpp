#include <cmath>

#include "base/random.h"
#include "watch/watch.h"
#include "watch/watch_fixture.h"

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// Healthy nodes with jobs that come and go, GPUs of different characters, noise, gaps and short silences.
class NoisyFleet : public WatchTest {
 protected:
  static constexpr int kNodes = 12;
  static constexpr auto kStep = seconds(15);

  NoisyFleet() {
    cluster_.nodes.clear();
    for (int i = 0; i < kNodes; ++i) {
      add_node("n" + std::to_string(i), 8);
      jobs_.emplace_back();
      for (int j = 0; j < 8; ++j) characters_.push_back({random_.normal(0, 2.5), random_.normal(1, 0.015)});
    }
  }

  struct Character {
    double warmer;
    double faster;
  };
  struct Job {
    WallTime until{};
    double use = 0;     ///< 0: the node is free
    double power = 90;  ///< of each GPU
    double memory = 0;  ///< share
  };

  /// Jobs of one to nine hours on whole nodes, a fifth of the time free.
  void next_job(Job& job) {
    job.until = now_ + std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(random_.uniform(3600, 32400)));
    const bool free = random_.uniform() < 0.2;
    job.use = free ? 0 : random_.uniform(0.55, 1);
    job.power = free ? 90 : random_.uniform(350, 690);
    job.memory = free ? 0 : random_.uniform(0.2, 0.9);
  }

  void move_gpu(GpuView& gpu, const Job& job, const Character& character) {
    const bool busy = job.use > 0;
    const double power = busy ? job.power + random_.normal(0, 15) : 90 + random_.normal(0, 2);
    gpu.processes = busy ? 1 : 0;
    // Between steps, at checkpoints and evaluations a job rests for moments.
    const double use = busy && random_.uniform() > 0.1 ? job.use + random_.normal(0, 0.05) : 0;
    set(gpu, GpuField::util, std::clamp(use, 0.0, 1.0));
    set(gpu, GpuField::memory_used_bytes, (0.6 + job.memory * 139) * kGiB);
    set(gpu, GpuField::power_w, power);
    set(gpu, GpuField::temperature_c, 25 + character.warmer + power * 0.06 + random_.normal(0, 1));
    set(gpu, GpuField::memory_temperature_c, 28 + character.warmer + power * 0.07 + random_.normal(0, 1));
    set(gpu, GpuField::sm_clock_mhz, (busy ? 1750 : 345) * character.faster + random_.normal(0, 20));
    set(gpu, GpuField::throttle_power, power > 660 && random_.uniform() < 0.5 ? 1 : 0);
    set(gpu, GpuField::throttle_thermal, random_.uniform() < 0.002 ? 1 : 0);
    if (random_.uniform() < 0.01) gpu.value = GpuView::unknown_values();
    if (random_.uniform() < 0.001) set(gpu, GpuField::temperature_c, 99);
  }

  void move() {
    for (std::size_t i = 0; i < kNodes; ++i) {
      NodeView& one = node(i);
      Job& job = jobs_[i];
      if (now_ >= job.until) next_job(job);
      if (one.state != NodeState::online) {
        one.state = NodeState::online;
      } else if (random_.uniform() < 0.002) {
        one.state = random_.uniform() < 0.7 ? NodeState::late : NodeState::offline;
      }
      one.clock_skew_s = random_.normal(0, 0.05);
      one.memory_used_bytes = (100 + job.memory * 300) * kGiB + random_.normal(0, 5 * kGiB);
      auto& disk = one.file_systems.front();
      disk.used_bytes = std::clamp(disk.used_bytes + random_.normal(0, 0.05 * kGiB), 20 * kGiB, 80 * kGiB);
      disk.available_bytes = 100 * kGiB - disk.used_bytes;
      for (std::size_t j = 0; j < one.gpus.size(); ++j) move_gpu(one.gpus[j], job, characters_[i * 8 + j]);
    }
  }

  void run_for(Nanos time) {
    for (const WallTime end = now_ + time; now_ < end; now_ += kStep) {
      move();
      for (AlertChange& change : watch_.look(cluster_, now_)) changes_.push_back(std::move(change));
    }
  }

  Random random_{20261115, "fleet"};
  std::vector<Job> jobs_;
  std::vector<Character> characters_;
};

TEST_F(NoisyFleet, RaisesNothingInThreeDays) {
  run_for(hours(72));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(NoisyFleet, OneSickGpuIsFoundAmongThem) {
  run_for(hours(2));
  jobs_[4] = {.until = now_ + hours(10), .use = 0.9, .power = 500, .memory = 0.5};
  characters_[4 * 8 + 6].warmer = 22;
  run_for(hours(2));
  EXPECT_THAT(changes(), ElementsAre("+gpu_temperature_imbalance n4 n4-GPU-6"));
}

}  // namespace
}  // namespace assay
