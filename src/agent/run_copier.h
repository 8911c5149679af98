#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/leader_access.h"
#include "base/files.h"
#include "base/result.h"
#include "net/http_client.h"

namespace assay {

/// Copies the folders of runs to the leader, piece by piece, also while they are being written. Journals only ever grow
/// and are copied as they do; what is replaced as a whole (run.json, artifacts) comes when the run has ended, run.json
/// last: with it a copy is complete. Only reads. One thread at a time.
class RunCopier {
 public:
  /// `command` asked for the runs; `runs` has a folder for each of them and need not exist yet. `client` and `access`
  /// must outlive it.
  RunCopier(HttpClient& client, const LeaderAccess& access, std::string command, fs::path runs);

  /// Sends what the leader does not have yet. After an error (`unreachable`, `busy`, …) it can be called again and goes
  /// on where it stopped; also another copier could, since the leader says what it has. A file that the leader does not
  /// want (`not_found`, `usage`) is left out from then on, and said once in the log.
  Result<void> copy(bool ended);
  /// Whether the leader has said of every run that it has all of it. Until then, what is here is the only copy.
  bool complete() const;

 private:
  Result<void> copy_wanted(const std::string& run, const std::string& file, bool ended);
  Result<void> copy_file(const std::string& run, const std::string& file, bool ended);
  Result<std::uint64_t> post(const std::string& run, const std::string& file, std::uint64_t offset, std::string bytes);

  HttpClient& client_;
  const LeaderAccess& access_;
  const std::string command_;
  const fs::path runs_;
  std::map<std::string, std::uint64_t> arrived_;  ///< by run and file: what the leader has
  std::set<std::string> unwanted_;                ///< the same names
  std::set<std::string> complete_;                ///< runs
};

/// The files of a run's folder that belong to its recording, as paths within it, in the order in which they are copied:
/// those that only grow or, `whole`, those that are replaced. No links, no locks.
std::vector<std::string> recorded_files(const fs::path& run, bool whole);

}  // namespace assay
