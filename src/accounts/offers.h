#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace assay {

struct CatalogRecord;
struct QuotaRecord;

/// What a run would be, as far as a catalog looks at it.
struct WantedRun {
  std::string kind;               ///< train, command, …
  std::string model;              ///< empty: it has none
  std::string dataset;            ///< the same
  std::string command;            ///< arguments with blanks between them
  bool by_shell = false;          ///< whether the command is a text for a shell
  bool own_surroundings = false;  ///< whether it has an environment or a folder of the user's choice
};

/// Whether the catalog offers a run. An empty catalog offers everything but commands, which could be anything. A
/// command fits a pattern that has `*` only without characters that mean something to a shell, and never with
/// variables or a folder of the user's own, by which any program becomes another. What `*` stands for leads out of no
/// folder: `text:/data/*` is not `text:/data/../etc/passwd`. `denied`, with what is offered.
Result<void> check_offer(const std::vector<CatalogRecord>& catalog, const WantedRun& run);

/// `usage` for an entry that could not mean what its author thinks.
Result<void> check_entry(const CatalogRecord& entry);

/// What somebody uses already.
struct Usage {
  std::int64_t runs = 0;  ///< that wait or go on
  double gpu_hours = 0;   ///< within the last 24 hours
};

/// Whether so many more runs are within the quota. `denied`, with the figures.
Result<void> check_quota(const QuotaRecord& quota, const Usage& used, std::int64_t ordered_runs);
/// `usage` for limits below 0.
Result<void> check_limits(const QuotaRecord& quota);

}  // namespace assay
