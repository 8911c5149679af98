#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/slurm_jobs.h"

namespace assay {

struct SlurmReport;

/// What the leader knows of a Slurm that gives out the same machines: what the agent of one node tells, since every
/// word of it may keep other nodes from being used. Kept in memory alone. Any thread.
class SlurmDesk {
 public:
  struct Options {
    std::string told_by;  ///< the node whose agent is believed; empty: none is
    /// After which what was said last counts no more: nobody is kept waiting by an agent that is gone.
    Nanos memory = std::chrono::minutes(10);
    /// How long nothing new begins after the leader's start, unless the agent was heard of before.
    Nanos first_word = std::chrono::seconds(30);
  };
  SlurmDesk(Options options, const Clock& clock);

  /// `denied`: it is not that node's to say.
  Result<void> check_teller(std::string_view node) const;
  /// The same.
  Result<void> take(std::string_view node, SlurmReport report);

  struct View {
    std::string told_by;            ///< empty: nobody is to tell
    std::optional<WallTime> as_of;  ///< absent: nothing is known, or what was known is too old
    std::string problem;            ///< why nothing newer is known
    SlurmJobs jobs;
  };
  View view() const;

  /// Why a node is to begin nothing of ours, as "is used by Slurm job 12 (ada)"; empty: it may. Nodes are known by the
  /// names that Slurm gives them.
  std::string use_of(std::string_view node) const;

 private:
  bool is_known() const;

  const Options options_;
  const Clock& clock_;
  const SteadyTime started_;
  mutable std::mutex mutex_;
  SlurmJobs jobs_;
  std::string problem_;
  std::optional<SteadyTime> told_at_;  ///< with the jobs, not with a problem
  WallTime as_of_{};
  std::map<std::string, std::string, std::less<>> uses_;  ///< by node
};

}  // namespace assay
