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

  /// The file at an absolute path of the machine, below `root`; empty when it cannot be read.
  std::string text(std::string_view path) const;
  /// `text` without blanks and line ends around it.
  std::string line(std::string_view path) const;
  bool exists(std::string_view path) const;
  /// Whether a program of this name is in a folder of PATH.
  bool has_program(std::string_view name) const;
};

/// What is known about this machine: host, OS, CPU, memory, GPUs, driver, Python and PyTorch, the shareable part of
/// the environment, the job's variables, and the git state of `folder`. Unknown things stay empty. Runs external
/// commands with deadlines; may take a few hundred milliseconds (`python_modules` starts a Python, the slow part).
Provenance inspect_machine(const MachineView& view, const std::filesystem::path& folder, bool python_modules);

}  // namespace assay
