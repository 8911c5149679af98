#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

struct CommandOptions {
  Nanos deadline = std::chrono::seconds(10);        ///< then SIGKILL to the whole process group
  std::size_t output_limit = std::size_t{1} << 20;  ///< per stream; more is read and dropped
  std::optional<std::filesystem::path> folder;      ///< to run in
  std::map<std::string, std::string> environment;   ///< added to ours
  std::string input;                                ///< fed to standard input
};

struct CommandOutput {
  std::optional<int> exit_code;  ///< absent if a signal ended it
  std::optional<int> signal;
  std::string out;
  std::string error;
  bool truncated = false;
};

/// Runs a short external command (git, nvidia-smi, python3 …) and waits for it. Blocks up to the deadline.
/// Errors: `missing_file` (no such program), `denied`, `timeout`. A non-zero exit code is not an error here.
/// Nothing that the command started in its process group is left behind.
Result<CommandOutput> run_command(const std::vector<std::string>& arguments, const CommandOptions& options = {});

}  // namespace assay
