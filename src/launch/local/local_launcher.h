#pragma once

#include <memory>
#include <optional>

#include "base/confinement.h"
#include "base/control_group.h"
#include "launch/launcher.h"
#include "launch/programs.h"

namespace assay {

/// Jobs on this machine, each under a guard of its own (base/guard.h): nothing of a job outlives its RunningJob, nor
/// this process, even if that is killed. So there is nothing to attach to. With a confinement, every job is held to it;
/// with control groups, each has one of its own. `programs` are what the names of places stand for; without them jobs
/// are passed on as they are. One node, this one, and one rank: `unsupported` otherwise.
std::unique_ptr<Launcher> make_local_launcher(std::optional<Programs> programs = {},
                                              std::optional<Confinement> confinement = {},
                                              std::optional<ControlGroups> groups = {});

}  // namespace assay
