#pragma once

#include <functional>
#include <memory>

#include "base/files.h"
#include "base/json.h"
#include "launch/hosted/job_host.h"
#include "launch/hosted/machine_watch.h"
#include "launch/launcher.h"

namespace assay {

// What this program does at the place of a job, started there by a launcher. First arguments of the program, as with
// the guard; PART is K/N, MEET is where ranks meet: ADDRESS or ADDRESS:PORT, `-` for nothing known.
//
//   __host-job FOLDER PART MEET [relay]   hosts a part until it has ended; exits as the job did. `relay`: also writes
//                                         everything to its standard output as lines (relay_line.h)
//   __take-job ID PART MEET               takes a job from standard input (order, files, complete), leaves a host
//   behind
//                                         that outlives it, and answers with the host's record or the problem
//   __follow-job ID PART OFFSETS          relays a part from these offsets on (one for each stream) to standard
//                                         output, wishes from standard input (part_relay.h)
//
// Jobs that are known by an id are below `jobs_root`.

inline constexpr const char* kHostJobArgument = "__host-job";
inline constexpr const char* kTakeJobArgument = "__take-job";
inline constexpr const char* kFollowJobArgument = "__follow-job";

/// What they need of the program around them.
struct HostServices {
  fs::path self;  ///< this program, to start again
  std::function<std::unique_ptr<Launcher>()> make_launcher;
  std::function<json::object()> describe_machine;
  int stop_fd = -1;         ///< see HostOptions
  WatchMachine watch = {};  ///< see HostOptions
  Nanos extra_time = HostOptions().extra_time;
};

/// The offsets in the streams as one word: `4096,0,17,512`.
std::string offsets_text(const PerStream<std::uint64_t>& offsets);

/// `$XDG_CACHE_HOME/assay/jobs`, else `~/.cache/assay/jobs`.
fs::path jobs_root();

/// True for a first argument of the above.
bool is_job_program(std::string_view argument);
/// Runs it; the exit code.
int job_program_main(int argc, char** argv, const HostServices& services);

}  // namespace assay
