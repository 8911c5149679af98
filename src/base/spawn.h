#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

// fork and exec, done with care, for `run_command` and the guard. Other code uses those two.

/// One descriptor that the child gets: our `from` becomes its `to`. Nothing else is inherited.
struct Inherited {
  int from;
  int to;  ///< below 16
};

struct SpawnOptions {
  std::vector<std::string> arguments;           ///< program (searched on the PATH of `environment`) and its arguments
  std::vector<std::string> environment;         ///< complete, as NAME=value
  std::optional<std::filesystem::path> folder;  ///< to run in; a relative program path counts from there
  std::vector<Inherited> descriptors;
  bool own_session = false;       ///< and with it its own process group, named by its pid, and no terminal
  bool dies_with_parent = false;  ///< SIGKILL when the calling thread ends
};

/// Starts a program, with default signal dispositions and nothing blocked. Returns when the program runs: a failure
/// to start it comes back from here, with a message for the user. Any thread, several at once.
/// Errors: `usage` (no program, NUL bytes, too long), `missing_file` (program, interpreter or folder), `denied`
/// (not executable, a folder), `bad_file` (not a format the kernel runs), `io`.
Result<pid_t> spawn(const SpawnOptions& options);

/// Whether a program can be given these at all: there is one, and nothing holds a NUL byte. Error: `usage`.
Result<void> check_arguments(const std::vector<std::string>& arguments);
/// Whether these can be set: names are not empty and have no '=', and nothing holds a NUL byte. Error: `usage`.
Result<void> check_environment(const std::map<std::string, std::string>& additions);

/// Our environment with `additions`, as NAME=value. Additions win. Error: see `check_environment`.
Result<std::vector<std::string>> merged_environment(const std::map<std::string, std::string>& additions);

/// These variables alone, as NAME=value. Error: see `check_environment`.
Result<std::vector<std::string>> environment_list(const std::map<std::string, std::string>& variables);

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

/// pipe(2) with O_CLOEXEC.
Result<Pipe> make_pipe();

Result<void> make_non_blocking(int fd);

/// A readable, seekable descriptor on these bytes, without a file. Feeding a child through it can neither block nor
/// break as a pipe does.
Result<FileDescriptor> memory_file(std::string_view bytes);

/// Waits until `fd` is readable or at its end. False when `deadline` came first.
bool wait_readable(int fd, SteadyTime deadline);

}  // namespace assay
