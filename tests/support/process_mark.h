#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/ids.h"
#include "base/process_tree.h"

namespace assay {

/// An environment variable that marks every process of one test, so that it is found wherever it has escaped to.
class ProcessMark {
 public:
  std::string name() const { return "ASSAY_TEST_MARK"; }
  std::string value() const { return value_; }

  /// Names of the living processes that carry it.
  std::vector<std::string> bearers() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const auto pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0) continue;
      // A zombie has no environment any more.
      const auto environment = read_file(entry.path() / "environ");
      if (!environment || environment->find(name() + "=" + value_) == std::string::npos) continue;
      const auto process = read_process_stat(pid);
      if (process && process->alive()) names.push_back(process->name);
    }
    return names;
  }
  long count(std::string_view process_name) const {
    const auto names = bearers();
    return std::count(names.begin(), names.end(), process_name);
  }

 private:
  std::string value_ = new_id();
};

}  // namespace assay
