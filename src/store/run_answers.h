#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay {

// What a store of runs tells of files, changes and troubles.

struct Artifact {
  std::string name;
  std::int64_t bytes = 0;
};

/// A run that was added, changed or removed. What a run records is no change of it: its journals grow.
struct RunChange {
  std::uint64_t sequence = 0;
  std::string run;
  bool removed = false;
};

/// A run, a study or a folder that the store could not read, with the reason. The others are not affected.
struct StoreProblem {
  std::string about;
  Error error;
};

struct ReindexReport {
  int runs = 0;
  int studies = 0;
  int interrupted = 0;  ///< of `runs`: found without an owner and closed
  std::vector<StoreProblem> problems;
};

}  // namespace assay
