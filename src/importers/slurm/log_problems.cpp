#include "importers/slurm/log_problems.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kLongestMessage = 300;
/// Error texts say what they are about early; a line of megabytes is not searched to its end.
constexpr std::size_t kSearched = 2000;

struct Wording {
  std::string_view text;
  ErrorKind kind;
};

// The first that fits decides: "CANCELLED … DUE TO TIME LIMIT" is a time-out.
constexpr std::array kWordings = {
    Wording{"DUE TO TIME LIMIT", ErrorKind::timeout},
    Wording{"out of memory", ErrorKind::oom},
    Wording{"Out Of Memory", ErrorKind::oom},
    Wording{"OutOfMemory", ErrorKind::oom},
    Wording{"oom-kill", ErrorKind::oom},
    Wording{"oom_kill", ErrorKind::oom},
    Wording{"memory limit", ErrorKind::oom},
    Wording{"MemoryError", ErrorKind::oom},
    Wording{"PREEMPTION", ErrorKind::interrupted},
    Wording{"REQUEUE", ErrorKind::interrupted},
    Wording{"NODE FAILURE", ErrorKind::lost_peer},
    Wording{"CANCELLED", ErrorKind::interrupted},
    Wording{"KeyboardInterrupt", ErrorKind::interrupted},
    Wording{"Watchdog caught collective operation timeout", ErrorKind::lost_peer},
    Wording{"NCCL", ErrorKind::lost_peer},
    Wording{"Connection closed by peer", ErrorKind::lost_peer},
    Wording{"Connection reset by peer", ErrorKind::lost_peer},
    Wording{"TCPStore", ErrorKind::lost_peer},
};

/// `RuntimeError: …`, `torch.cuda.OutOfMemoryError: …`: the line begins with the name of an exception. `Mean Absolute
/// Error: 0.3` and `MeanError: 0.3` are metrics.
bool begins_with_exception(std::string_view before, std::string_view after) {
  before = trim(before);
  if (before.ends_with("error") || before.find_first_of(" =") != std::string_view::npos) return false;
  return !sole_number(after);
}

bool process_ended(std::string_view text) {
  for (const std::string_view word :
       {"Killed", "Segmentation fault", "Aborted", "Bus error", "Exited with exit code"}) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

bool announces_problem(std::string_view before) {
  if (before.empty()) return false;
  switch (before.back()) {
    case 'r': return before.ends_with("Error") || before.ends_with("error");
    case 'R': return before.ends_with("ERROR");
    case 'n': return before.ends_with("Exception");
    case 't': return before.ends_with("KeyboardInterrupt") || before.ends_with("slurm_script");
    default: return false;
  }
}

std::optional<LogProblem> problem_in(const LogSegment& segment, std::string_view before) {
  const std::string_view text = trim(segment.text).substr(0, kSearched);
  LogProblem problem{.kind = ErrorKind::crash,
                     .rank = segment.rank,
                     .line = segment.line,
                     .message = printable(text.substr(0, kLongestMessage))};
  const auto wording = std::find_if(kWordings.begin(), kWordings.end(),
                                    [&](const Wording& one) { return text.find(one.text) != std::string_view::npos; });
  if (wording != kWordings.end()) {
    problem.kind = wording->kind;
    return problem;
  }
  if (before.ends_with("slurm_script")) return process_ended(text) ? std::optional(problem) : std::nullopt;
  const std::string_view after = segment.text.substr(std::min(before.size() + 1, segment.text.size()));
  // Slurm's own programs say `srun: error: …`, loggers `ERROR: …`.
  const bool by_slurm = before.ends_with(": error") || before == "error";
  if (by_slurm || before.ends_with("ERROR") || begins_with_exception(before, after)) return problem;
  return std::nullopt;
}

}  // namespace assay
