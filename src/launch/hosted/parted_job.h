#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/hosted/job_part.h"
#include "launch/hosted/merge_notes.h"

namespace assay {

class RunningJob;

struct PartedJobOptions {
  std::string handle;
  Nanos grace = std::chrono::seconds(5);  ///< Job::grace
  MergeNotes notes;                       ///< of a job of several parts
  /// Kept until the job was let go: the lock of its owner, for one.
  std::shared_ptr<void> keep;
};

/// A job of one or several parts as one RunningJob. Output of several parts is put together in whole lines, in the
/// order in which they arrive, so are readings; events are those of the first part. It ended as the first part that
/// failed, else as the first part; a grace after one has failed the others are stopped. A part's failure to start is
/// the job's ending, too. The job goes on when this is destroyed. `first_process` is never one of this machine.
std::unique_ptr<RunningJob> make_parted_job(std::vector<std::unique_ptr<JobPart>> parts, PartedJobOptions options);

}  // namespace assay
