#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace assay {

/// A job of a Slurm cluster that waits or runs, whoever's it is.
struct SlurmQueueEntry {
  std::string id;         ///< `12`; of arrays `13_2`, and `13_[4-9]` for those that wait
  std::string user;       ///< empty: Slurm keeps that to itself
  std::string name;       ///< the same
  std::string state;      ///< as Slurm says it: `RUNNING`
  std::string partition;  ///< several, with commas, of one that waits
  std::string nodes;      ///< those that it has: `node[1-2]`; empty: none yet
  std::int64_t node_count = 0;
  std::optional<std::int64_t> gpus;  ///< in all; absent: Slurm does not say
  std::optional<WallTime> since;     ///< it has its nodes, or waits for them
  std::string reason;                ///< why it waits
  bool of_assay = false;             ///< it says that it is the job of a run
  bool operator==(const SlurmQueueEntry&) const = default;
};

/// What Slurm says of all its jobs at one time.
struct SlurmJobs {
  std::vector<SlurmQueueEntry> jobs;  ///< those that have nodes first
  std::size_t left_out = 0;           ///< beyond `kMostSlurmJobs`
  bool keeps_private = false;         ///< users and names were left out, since Slurm shows them to nobody else
  bool operator==(const SlurmJobs&) const = default;
};

/// More are left out: first those that wait.
inline constexpr std::size_t kMostSlurmJobs = 5000;

/// The names that Slurm writes as `node[1-3,07],login`, in that order and at most `most` of them. Text that is no such
/// list gives what could be read of it.
std::vector<std::string> names_in_node_list(std::string_view list, std::size_t most);

}  // namespace assay
