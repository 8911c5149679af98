#pragma once

#include <string>
#include <vector>

#include "client/connection.h"
#include "context.h"

namespace assay {

/// What `assay run` wants from a cluster.
struct ClusterRun {
  std::vector<std::string> files;
  std::string resume;  ///< a study to go on with, instead of files
  std::vector<std::string> assignments;
  std::vector<std::string> tags;
  std::string name;
  std::string node;               ///< empty: as the specification says
  std::vector<std::string> gpus;  ///< UUIDs; none: as it needs
  bool no_wait = false;
  bool verbose = false;
};

/// Asks the leader for what the specifications say, shows it while it goes on, and answers with what came of it. Who no
/// longer waits leaves it going on.
int run_on_cluster(const Context& context, const ClusterRun& wanted);

}  // namespace assay
