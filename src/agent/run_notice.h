#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace assay {

// How an agent learns of runs that others start on its machine: a file `PID-STARTTIME` for each process that records
// one, with the run's id in it. A process that died without tidying up is told from a live one by its start time.

/// Where notices are, best first: the first one that can be written takes them, all are looked at.
std::vector<fs::path> notice_folders();

/// Tells the agent of this machine, if there is one, that this process has a run under way. Best effort: where no
/// folder can be written, nothing is told. One per process at a time. Move only.
class RunNotice {
 public:
  static RunNotice announce(std::string_view run, const std::vector<fs::path>& folders = notice_folders());

  RunNotice(RunNotice&& other) noexcept : file_(std::exchange(other.file_, {})) {}
  RunNotice& operator=(RunNotice&&) = delete;
  /// Takes the notice back.
  ~RunNotice();

  /// Empty where none could be written.
  const fs::path& file() const { return file_; }

 private:
  explicit RunNotice(fs::path file) : file_(std::move(file)) {}

  fs::path file_;
};

struct NoticedRun {
  pid_t pid = 0;  ///< of the process that records it
  std::string run;
  bool operator==(const NoticedRun&) const = default;
};

/// The runs of live processes. The folders are open to everybody, so nothing in them is trusted: other names, links
/// and what is beyond the limits are passed over.
std::vector<NoticedRun> runs_on_this_machine(const std::vector<fs::path>& folders = notice_folders());

}  // namespace assay
