#pragma once

#include <map>
#include <string>

#include "base/confinement.h"

namespace assay {

/// What the agent has that a run must not see, and as whom runs are done.
struct OwnThings {
  fs::path state;                                  ///< with the node's key and the records of other runs
  fs::path token_file;                             ///< may be empty
  std::map<std::string, std::string> environment;  ///< of the agent
  std::string run_as;                              ///< a user; empty: the agent's own
  bool limits_runs = false;                        ///< by control groups, which a run could lift as the agent's user
};

/// How the runs that a leader asks for are confined. An agent of root's has to be told as whom they run: `usage`. The
/// other errors are those of `check_confinement`.
Result<Confinement> confinement_of_runs(const OwnThings& own);

/// The same for runs that are done at another place: they are done as the agent itself there, which `run_as` can only
/// say again, and root has to. `usage`.
Result<void> check_runs_elsewhere(const std::string& run_as);

}  // namespace assay
