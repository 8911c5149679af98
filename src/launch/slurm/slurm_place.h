#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "launch/place_text.h"

namespace assay {

struct Job;

/// How jobs are asked of Slurm: what people write behind `--on slurm:`. What is empty is left to Slurm.
struct SlurmPlace {
  std::string partition, account, qos, constraint, reservation;
  std::string gres;               ///< on each node, as Slurm writes it: `gpu:h100:2`; else what the job needs
  std::string nodelist, exclude;  ///< names of nodes, as Slurm writes them: `node[1-4]`
  std::string cpus, memory;       ///< on each node: `16`, `64G`
  bool exclusive = false;         ///< whole nodes
  std::optional<Nanos> time;      ///< for Slurm to end it; else the job's own limit and a while
  fs::path folder;                ///< of jobs, on a file system that the nodes share; empty: the caller's choice
  /// Not written: names of those of our variables that jobs get; none: all of them.
  std::vector<std::string> environment;
  std::string rest;   ///< socket of slurmrestd, as `unix:/run/slurmrestd.sock`; empty: Slurm's commands
  std::string assay;  ///< this program on the nodes; empty: where it is here
  bool operator==(const SlurmPlace&) const = default;
};

/// What `partition=gpu,account=a,exclusive` asks for. Errors (`usage`) name the option, the value and the rule.
Result<SlurmPlace> slurm_place_from(const PlaceText& text);

/// What is asked of Slurm for one job: one task on each node. What is empty is left to Slurm. It is never requeued: a
/// job that was begun is never begun again, and its host would refuse to.
struct SlurmRequest {
  std::string name, comment;
  std::string partition, account, qos, constraint, reservation, nodelist, exclude;
  std::string gres, gpus_per_node;  ///< one of them
  std::string cpus, memory;         ///< on each node
  std::int64_t nodes = 1;
  bool exclusive = false;
  std::optional<std::int64_t> minutes;
  std::vector<std::string> environment;  ///< see SlurmPlace
};
/// `key` marks the job as ours in Slurm's comment.
SlurmRequest slurm_request(const SlurmPlace& place, const Job& job, std::string_view key);

/// The same as arguments of sbatch.
std::vector<std::string> sbatch_arguments(const SlurmRequest& request);

/// Slurm's comment on a job with that key.
std::string slurm_comment(std::string_view key);

}  // namespace assay
