#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/hosted/job_folder.h"
#include "launch/launcher.h"

namespace assay {

struct FolderJobOptions {
  std::string handle;
  PerStream<std::uint64_t> taken{};  ///< see `Launcher::attach`
  /// See `FolderPartOptions`: what the place knows of a part's loss.
  std::function<std::optional<Error>(std::int64_t part)> find_loss = [](std::int64_t) {
    return std::optional<Error>();
  };
};

/// The job of a folder that this machine can read directly, as its owner: streams go on behind what was taken, what it
/// leaves in its artifacts comes back to where its scratch folder was. For launchers over a shared file system.
/// Errors: `not_found` (no such folder, or no job in it), `busy` (it has an owner), `bad_file`, `io`.
Result<std::unique_ptr<RunningJob>> own_folder_job(const JobFolder& folder, FolderJobOptions options);

/// Waits until every part of it has begun or one could not be, at most until `deadline`. The error is why it could not
/// be started; running out of time is `timeout`.
Result<void> await_start(const JobFolder& folder, std::int64_t parts, SteadyTime deadline);

/// The same for one part of it.
Result<void> await_part(const JobFolder& folder, std::int64_t part, SteadyTime deadline);

}  // namespace assay
