#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/run_state.h"

namespace assay {

/// How long a run will probably take.
struct ExpectedLength {
  double seconds = 0;
  double factor = 1;          ///< in two of three cases it takes no longer than this times as long, and no shorter
  std::size_t from_runs = 0;  ///< that were like it; 0: a guess from its specification
};

/// A run that a cluster was asked for and that has not ended, as people see it.
struct QueuedRun {
  std::string run;
  std::string name;
  std::string kind;
  std::string study;    ///< empty: none
  std::string variant;  ///< of the study
  std::string by;       ///< who asked
  std::string owner;    ///< the same as the API names owners: `user ada`
  RunState state = RunState::queued;
  bool stopping = false;  ///< somebody has ended it, and it goes on until its node has heard of that
  bool held = false;
  int priority = 0;
  std::string needs;                 ///< for people: "2 GPUs", "the CPUs of a node"
  std::string node;                  ///< where it is or must be done; empty: not decided yet
  std::vector<std::string> further;  ///< the other nodes of a run over several, in the order of its ranks
  std::vector<std::string> gpus;     ///< UUIDs of those it has been given
  std::vector<std::string> after;    ///< runs that it waits for
  int attempt = 1;
  int attempts = 1;  ///< in all
  WallTime created{};
  std::optional<WallTime> started;
  std::optional<WallTime> deadline;  ///< it is to have ended by then
  ExpectedLength length;
  std::optional<WallTime> expected_end;  ///< of one that has begun

  std::string why;  ///< for people, of one that waits: "waits for free GPUs, with 2 jobs before it"; of one that has
                    ///< begun: that its node is lost
  // Of one that waits.
  std::string reason;                         ///< a name of `WaitReason`; empty: it has been given its place
  std::size_t ahead = 0;                      ///< jobs that come before it for the same nodes
  std::string expected_node;                  ///< where it will probably be done
  std::vector<std::string> expected_further;  ///< the same for the other nodes of a run over several
  std::optional<WallTime> expected_start;     ///< if that can be told
  std::optional<WallTime> late_start;         ///< if jobs take as long as they well may
};

/// What would become of a run if it were asked for.
struct PreviewedRun {
  std::string variant;
  int repeat = 0;
  std::string needs;
  int gpus = 0;
  int nodes = 1;
  std::string node;                  ///< where it would probably be done; empty: nowhere now
  std::vector<std::string> further;  ///< the other nodes of a run over several
  ExpectedLength length;
  std::string why;  ///< it cannot be done now; empty: it can
  std::optional<WallTime> expected_start;
  std::optional<WallTime> late_start;
};

}  // namespace assay
