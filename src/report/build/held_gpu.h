#pragma once

#include <optional>
#include <string>

#include "model/run.h"

namespace assay {

/// A GPU whose clocks were held down, as readings of it say.
struct HeldGpu {
  std::string name;    ///< "GPU-1a", of several nodes "GPU-1a of gpu02"
  std::string reason;  ///< "hw_thermal", as the series `gpu.throttle` has it
  double share = 0;    ///< of its readings
};

/// The one that heat or the hardware held down in most of its readings; nothing where none was, or too few were read.
std::optional<HeldGpu> held_by_hardware(const Run& run);

/// The one that its power limit held down in most of its readings, if that is far more than in those of the run's other
/// GPUs. All of them at their limit is how a busy GPU works.
std::optional<HeldGpu> held_by_power_limit(const Run& run);

}  // namespace assay
