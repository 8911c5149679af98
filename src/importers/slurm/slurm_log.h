#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "importers/slurm/slurm_job.h"
#include "importers/text/named_text.h"

namespace assay {

// Output files of training jobs under Slurm (`slurm-%j.out`). Pure functions.

/// The jobs in one file, in the order of their first line; mostly one. Whatever the bytes are, the facts that can be
/// read are read: lines of several ranks in any order, cut or run together, with labels, progress bars and terminal
/// escapes. A number that the end of the file may have cut is not used. Only a file that is no text is an error.
struct SlurmLog {
  std::vector<SlurmJob> jobs;
  std::vector<Flag> flags;  ///< about the file as bytes
};
Result<SlurmLog> parse_slurm_log(std::string_view bytes, std::string_view name);

/// Joins what several files say about one job (`slurm-1.out` and `slurm-1.err`, or one file per rank). The order of
/// the first mention is kept.
std::vector<SlurmJob> merge_jobs(std::vector<SlurmJob> jobs);

/// What a reader of the job's figures must know: stated figures that contradict the log's own data, ranks that
/// disagree, a cut or unfinished log, problems the job reported.
std::vector<Flag> check_slurm_job(const SlurmJob& job);

struct SlurmImport {
  std::vector<SlurmJob> jobs;
  std::vector<Flag> flags;
};
/// All of the above over a set of files. A file that is no text becomes a flag `unreadable`; it is an error only if
/// there is no other.
Result<SlurmImport> import_slurm(std::span<const NamedText> files);

}  // namespace assay
