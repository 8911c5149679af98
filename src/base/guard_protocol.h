#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/guard.h"

namespace assay {

// What `GuardedProcess` and the guard say to each other. Both are always the same binary, so nothing is versioned.

// The guard's descriptors; 0, 1 and 2 are the workload's own.
inline constexpr int kGuardControl = 3;  ///< one packet per command; its end means that the parent is gone
inline constexpr int kGuardReport = 4;   ///< two lines of JSON: how the start went, how the workload ended
inline constexpr int kGuardEvents = 5;   ///< passed on to the workload
inline constexpr int kGuardRequest = 6;  ///< what to run

/// What goes over the control socket, as it lies in memory.
struct GuardCommand {
  enum class What : char { interrupt, terminate, kill };
  What what = What::terminate;
  bool has_grace = false;  ///< else that of the request holds
  Nanos grace{};
};

/// Where the workload finds its event pipe. One digit, since dash can redirect to no other; not one of the first,
/// which scripts like to use, nor 9, which the flock(1) manual uses.
inline constexpr int kWorkloadEvents = 8;

// Once every descendant was sent SIGKILL, this is how long the guard waits for them to go. Freeing hundreds of
// gigabytes of pinned memory takes many seconds; what is there after that hangs in a driver or belongs to root.
inline constexpr Nanos kKillTime = std::chrono::seconds(30);

/// The part of the options that the guard needs (its environment it has already); it goes through a file in memory and
/// not through the guard's argument list, which everybody on the machine can read and `pkill -f` would match.
std::string encode_request(const GuardedOptions& options);
Result<GuardedOptions> decode_request(std::string_view bytes);

std::string start_line(const Result<pid_t>& workload);
/// The workload's pid, or the error that kept it from starting.
Result<pid_t> parse_start_line(std::string_view line);

std::string report_line(const GuardReport& report);
Result<GuardReport> parse_report_line(std::string_view line);

}  // namespace assay
