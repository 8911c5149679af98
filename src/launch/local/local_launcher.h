#pragma once

#include <memory>

#include "launch/launcher.h"

namespace assay {

/// Jobs on this machine, each under a guard of its own (base/guard.h): nothing of a job outlives its RunningJob, nor
/// this process, even if that is killed. So there is nothing to attach to.
std::unique_ptr<Launcher> make_local_launcher();

}  // namespace assay
