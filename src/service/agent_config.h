#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/units.h"
#include "config/config_table.h"

namespace assay {

/// What `assay agent` is told: by its file, the environment and flags. See docs/reference/configuration.md.
struct AgentConfig {
  /// What the leader may ask for.
  struct Allowed {
    bool doctor = false;
    bool runs = false;
    bool nothing = false;  ///< said outright
  };

  std::string leader;              ///< URL; empty: it only records
  fs::path token_file;             ///< empty: the node has joined before
  std::string name;                ///< empty: the host's
  std::string address;             ///< where other nodes reach it; empty: by the one from which it reaches the leader
  std::string rack;                ///< nodes with the same one talk to each other fastest; empty: not known
  std::vector<std::string> holds;  ///< paths of data sets that it has at hand
  fs::path state;                  ///< empty: below the user's data folder
  Bytes spool_limit;
  Nanos period{};
  Nanos run_period{};
  Allowed allow;
  std::string run_as;  ///< a user; empty: the agent's own
  std::optional<Bytes> run_memory;
  std::optional<std::size_t> run_processes;
  std::string on;           ///< where runs are done, as `assay run --on` says it; empty: on this node
  std::size_t on_gpus = 0;  ///< that they may have there at once
  std::string fingerprint;  ///< empty: the join token's
  fs::path ca_file;
  bool insecure = false;
  bool slurm_jobs = false;
  bool no_gpu = false;
  fs::path record;  ///< empty: nothing is written down
  fs::path replay;  ///< empty: this machine is read
  std::optional<std::size_t> seed;
};

const ConfigTable<AgentConfig>& agent_table();

}  // namespace assay
