#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

/// How far Slurm says that a job is.
enum class SlurmStage : std::uint8_t {
  waiting,  ///< it does not run yet
  running,  ///< or is about to, or is suspended
  ending,   ///< its nodes are being cleared; how it ended is not told yet
  ended,
};

/// A job as squeue or sacct shows it.
struct SlurmRecord {
  std::string state;   ///< `RUNNING`, `NODE_FAIL`, …
  std::string reason;  ///< why it waits, or more about its end; may be empty
  std::string nodes;   ///< `node[1-2]`; empty as long as it has none
  std::string key;     ///< what marks it as ours; empty: somebody else's
  bool operator==(const SlurmRecord&) const = default;
};
using SlurmRecords = std::map<std::int64_t, SlurmRecord>;

/// What Slurm prints, made readable; nothing for what it writes where there is nothing: `(null)`, `None`, `N/A`.
std::string said_by_slurm(std::string_view text);

/// What marks a job as ours; empty: it is somebody else's.
std::string key_in_comment(std::string_view comment);

/// Format of squeue that `parse_squeue` reads.
inline constexpr std::string_view kSqueueFormat = "%i|%T|%r|%N|%k";
/// The jobs in what squeue printed. Elements of arrays and lines of other shapes are passed over: they are not ours.
SlurmRecords parse_squeue(std::string_view printed);

/// Fields of sacct that `parse_sacct` reads.
inline constexpr std::string_view kSacctFields = "JobIDRaw,State,NodeList";
/// The job itself (not its steps) in what `sacct -n -P` printed.
std::optional<SlurmRecord> parse_sacct(std::string_view printed, std::int64_t id);

/// What `sbatch --parsable` printed: an id, perhaps with the cluster's name behind it.
Result<std::int64_t> parse_sbatch(std::string_view printed);

SlurmStage stage_of(std::string_view state);

/// Whether a job that waits for this will wait for ever.
bool waits_in_vain(std::string_view reason);

/// "Slurm job 12 waits: Resources (no free nodes that fit)".
std::string waiting_text(std::int64_t id, const SlurmRecord& record);

/// Why Slurm ended a job, if it was not the job's own doing: an error with a kind that fits, words and a remedy.
/// Nothing for COMPLETED, FAILED and states that nobody knows.
std::optional<Error> ended_by_slurm(std::int64_t id, const SlurmRecord& record);

/// What sbatch said when it refused, as an error for the user.
Error refused_by_slurm(std::string_view said);

}  // namespace assay
