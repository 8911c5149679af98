#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "model/provenance.h"

namespace assay {

/// How this machine is looked at; tests hand in a folder of recorded /proc and /sys files and canned commands.
struct MachineView {
  std::filesystem::path root = "/";
  std::function<Result<CommandOutput>(const std::vector<std::string>&, const CommandOptions&)> run = run_command;
  std::map<std::string, std::string> environment;

  /// The machine we run on.
  static MachineView real();
};

/// What is known about this machine: host, OS, CPU, memory, GPUs, driver, Python and PyTorch, and the git state of
/// `folder`. Unknown things stay empty. Runs external commands with deadlines; may take a few hundred milliseconds
/// (`python_modules` starts a Python, which is the slow part).
Provenance inspect_machine(const MachineView& view, const std::filesystem::path& folder, bool python_modules);

}  // namespace assay
