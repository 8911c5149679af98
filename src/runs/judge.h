#pragma once

#include <optional>
#include <string>

#include "launch/job_ending.h"
#include "runs/run_facts.h"

namespace assay {

struct Run;

/// Who ended a workload.
enum class EndedBy { itself, time_limit, user, lost_peer };

/// How a workload ended, seen from outside.
struct Ending {
  EndedBy by = EndedBy::itself;
  JobEnding job;
  bool at_first_look = false;  ///< it had ended before anybody looked: nobody here knows when
  bool left = false;           ///< it goes on, and nobody here follows it any more
  bool never_began = false;    ///< the user stopped it in a queue of its place
  std::optional<Error> lost;   ///< whoever watched it died, so that nobody knows: `job` is empty
  std::optional<Error> peer;   ///< what went wrong on another node of the run
};

/// Exit code of the command that did this run: 0 valid, 1 failed, 3 this machine cannot, 4 flagged or invalid.
int exit_code_of(const Run& run);
/// Exit code for an error: 1 the workload failed, 2 the request is wrong, 3 this machine cannot.
int exit_code_of(ErrorKind kind);

/// Fills in metrics, flags, error and verdict from what was recorded. A pure function of its arguments; the rules are
/// listed in docs/reference/verdicts.md. `run` carries settings, ranks and the machine it ran on. It speaks last:
/// whoever learns something that bears on the verdict puts it into the facts and asks again, and changes nothing
/// afterwards.
void judge(Run& run, const RunFacts& facts, const Ending& ending);

}  // namespace assay
