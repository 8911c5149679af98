#pragma once

#include <memory>
#include <optional>

#include "base/confinement.h"
#include "launch/launcher.h"

namespace assay {

/// Jobs on this machine, each under a guard of its own (base/guard.h): nothing of a job outlives its RunningJob, nor
/// this process, even if that is killed. So there is nothing to attach to. With a confinement, every job is held to it.
std::unique_ptr<Launcher> make_local_launcher(std::optional<Confinement> confinement = {});

}  // namespace assay
