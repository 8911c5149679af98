#pragma once

#include <memory>

#include "launch/hosted/machine_watch.h"

namespace assay {

/// What is measured where a run's job is hosted: the machine, the job's processes and its GPUs, as `assay run` does on
/// its own machine.
std::unique_ptr<MachineWatch> watch_machine(const WatchedPart& part);

}  // namespace assay
