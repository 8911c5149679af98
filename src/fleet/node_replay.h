#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "fleet/fleet_fault.h"
#include "fleet/fleet_recording.h"
#include "fleet/gpu_faults.h"
#include "protocol/batch.h"
#include "telemetry/replay/perturbation.h"

namespace assay {

/// The GPUs of one simulated node: the shared recording in the character that the seed gives them, with the faults of
/// that node. What it reads is a function of seed and times alone, and without faults is what `make_replay_source`
/// would give, without the cost of naming every value. One thread at a time.
class NodeReplay {
 public:
  /// `faults` are those of this node. `start`: since the start of the fleet, when its first reading will be.
  NodeReplay(std::shared_ptr<const FleetRecording> recording, std::uint64_t seed, std::span<const FleetFault> faults,
             Nanos start);

  /// Every series of the node in the order of their numbers. Made anew by each call: thousands of nodes keep none.
  std::vector<SeriesName> names() const;
  std::vector<DeviceFacts> devices() const;

  /// Adds the samples and events of one moment to a batch. `since_start` of the fleet, not before the last one;
  /// `time` is what the node's clock says.
  void read(Nanos since_start, WallTime time, Batch& batch);

 private:
  struct Gpu {
    std::string id;
    GpuCharacter character;
    GpuAilment ailment;  ///< at the last reading
  };

  void play(Nanos since_start, WallTime time, Batch& batch);
  void find_points(std::int64_t position);
  void play_series(std::int64_t time_ns, Batch& batch) const;
  void play_events(std::int64_t position, WallTime time, Batch& batch);
  double value_of(const FleetRecording::Track& track, std::size_t point) const;
  void take_faults(Nanos since_start, WallTime time, Batch& batch);
  /// By its name in the recording; null if it has no such GPU.
  const Gpu* recorded_gpu(const std::string& id) const;

  std::shared_ptr<const FleetRecording> recording_;
  Nanos start_;
  Nanos phase_;  ///< where in the recording the first reading is
  std::vector<Gpu> gpus_;
  std::vector<FleetFault> faults_;  ///< those of GPUs

  // Where the recording was at the last reading.
  std::int64_t round_ = 0;
  std::size_t next_event_ = 0;
  std::vector<std::size_t> next_;   ///< by timeline: the first point that was not shown yet
  std::vector<std::size_t> point_;  ///< by timeline: the present one, or kNone; of the reading under way
};

}  // namespace assay
