#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// One line of /proc/PID/stat.
struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  ///< at most 15 bytes of anything; the process chooses it
  char state = '?';
  std::uint64_t cpu_ticks = 0;         ///< user and system time, in units of 1/sysconf(_SC_CLK_TCK) s
  std::uint64_t waited_cpu_ticks = 0;  ///< the same of its children, and theirs, that have ended and were waited for
  std::int64_t threads = 0;
  std::uint64_t start_ticks = 0;  ///< since boot; with the pid it names a process for good

  /// A zombie is not alive, but a process whose first thread has ended while others go on is.
  bool alive() const { return (state != 'Z' && state != 'X') || threads > 1; }
};

/// Nothing if the text is not such a line.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

/// Nothing if there is no such process. `proc` is where procfs is mounted.
std::optional<ProcessStat> read_process_stat(pid_t pid, const std::filesystem::path& proc = "/proc");

/// Every process below `ancestor`, itself not included, zombies included. Looks at all processes of the machine.
/// A snapshot of moving things: one whose parent ended while we looked may be missed.
std::vector<ProcessStat> descendants_of(pid_t ancestor, const std::filesystem::path& proc = "/proc");

/// Whether this signal would meet its default action there: it is neither handled, ignored nor blocked.
bool has_default_action(pid_t pid, int signal, const std::filesystem::path& proc = "/proc");

/// Sends a signal to that very process: not to another one that was given its number in the meantime.
void send_signal(const ProcessStat& process, int signal);

}  // namespace assay
