#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace assay {

/// CPU time and memory, as far as the place can tell.
struct JobUsage {
  Nanos user_time{};  ///< of everything that was waited for
  Nanos system_time{};
  std::int64_t peak_rss_bytes = 0;  ///< of the largest single process
};

/// How a job ended.
struct JobEnding {
  /// Of its first process. This or `signal` is there, unless that very process is `still_running`.
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<JobUsage> usage;
  /// From its start to its end, where somebody at the place has watched both: whoever attached has not.
  std::optional<Nanos> ran_for = {};
  /// Names of processes that were still there a moment after the first one had ended, and were ended; at most 32.
  std::vector<std::string> left_behind;
  /// Names of processes that even SIGKILL did not end: hanging in a driver, or not ours. At most 32; nearly always
  /// empty.
  std::vector<std::string> still_running;
  bool stopped = false;  ///< it ended after `interrupt`, `stop` or `kill`
  /// A process of it was ended for more memory than its place gives a job.
  bool out_of_memory = false;
};

/// Adds what another process of the same job used and left behind.
void add_to(JobEnding& ending, const JobEnding& other);

}  // namespace assay
