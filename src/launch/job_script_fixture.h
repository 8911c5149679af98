#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launch/job_ending.h"
#include "launch/job_stream.h"

namespace assay {

/// What the job of a test does: the fake launcher plays it, and real ones run it as a shell script
/// (launcher_contract.h).
struct JobScript {
  struct Say {
    std::string text;
    JobStream stream = JobStream::out;
  };
  /// `NAME=value` or `NAME is not set`, as a line.
  struct SayVariable {
    std::string name;
  };
  /// The folder it runs in, as a line.
  struct SayFolder {};
  /// Very much of the letter x.
  struct Flood {
    std::size_t bytes = 0;
    JobStream stream = JobStream::out;
  };
  struct Wait {
    Nanos duration{};
  };
  using Step = std::variant<Say, SayVariable, SayFolder, Flood, Wait>;

  /// What it does about a signal; unless told otherwise it dies of it.
  struct OnSignal {
    bool ignores = false;
    std::optional<int> exit_code;  ///< it says `cleaned up` and leaves with this
  };

  std::vector<Step> steps;
  bool forever = false;  ///< does not end by itself; else, after the last step:
  int exit_code = 0;
  std::optional<int> signal;               ///< it ends by this instead
  std::vector<std::string> leaves_behind;  ///< `sleep` or `tail`: processes that go on when it has ended
  OnSignal on_interrupt;
  OnSignal on_terminate;

  // Of the fake alone.
  Nanos queued{};  ///< before it runs
  std::optional<JobUsage> usage;
  std::optional<Nanos> ran_for;
  std::optional<Error> lost;   ///< instead of its ending: whoever watched it died
  bool holds_streams = false;  ///< its streams do not end with it: a stranger has them, too
};

}  // namespace assay
