#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "launch/launcher.h"
#include "launch/slurm/slurm_place.h"

namespace assay {

struct SlurmLauncherOptions {
  SlurmPlace place;
  /// Of jobs, unless the place names one. Every node must see it under the same path.
  fs::path folder;
  /// This program as the nodes find it, unless the place names one.
  fs::path assay;
  std::map<std::string, std::string> environment = {};  ///< for Slurm's programs, added to ours
  /// How long `start` waits for a job that Slurm does not start at once. One that begins meanwhile has told whether its
  /// program can be started; later that is its ending.
  Nanos start_patience = std::chrono::seconds(3);
};

/// Jobs in the queue of a Slurm cluster, as the user who runs this program. Each is a batch job that hosts its parts
/// (launch/hosted), one on each node, in a folder that the nodes share; they outlive whoever asked. A part is hosted
/// once, whatever Slurm starts again. While slurmctld is away jobs are followed through their folders.
///
/// `start` blocks until Slurm has started the job or said why it waits: a minute at worst. Further errors: those of
/// `refused_by_slurm`. Folders of jobs stay for a month after their end.
/// Errors: `missing_file` (no Slurm here), `io` (the folder cannot be made).
Result<std::unique_ptr<Launcher>> make_slurm_launcher(SlurmLauncherOptions options);

/// The batch script of the job of a folder.
std::string batch_script(const fs::path& folder, const std::string& assay, std::int64_t nodes);

}  // namespace assay
