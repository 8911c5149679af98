#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/result.h"
#include "model/run.h"
#include "store/lease.h"
#include "store/run_store.h"

namespace assay {

/// One run's folder: where its parts are, and run.json. README.md of src/store shows the layout.
class RunFolder {
 public:
  RunFolder(fs::path path, std::string id) : path_(std::move(path)), id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  const fs::path& path() const { return path_; }
  fs::path record() const { return path_ / "run.json"; }
  /// Of the owner, or of a further rank.
  fs::path journal(std::string_view name = kOwnersJournal) const;
  /// The names of all journals that there are, the owner's first, then by the numbers of the ranks.
  std::vector<std::string> journals() const;
  /// Up to `length` bytes of a journal at `offset`; fewer where the file ends. `not_found` without such a journal.
  Result<std::string> read_journal(std::string_view name, std::uint64_t offset, std::size_t length) const;
  fs::path owner_lock() const { return path_ / "owner.lock"; }
  fs::path lease() const { return path_ / "lease.json"; }
  fs::path change_lock() const { return path_ / "change.lock"; }
  fs::path ranks() const { return path_ / "ranks"; }
  fs::path artifacts() const { return path_ / "artifacts"; }

  /// run.json. `not_found` without the folder; `bad_file` where the file is missing, damaged, of a newer assay or of
  /// another run.
  Result<Run> load() const;
  /// Replaces run.json in one step.
  Result<void> save(const Run& run) const;

  /// Whether the process that records the run is still there.
  LockState owner() const { return FileLock::state(owner_lock()); }
  /// Who recorded it: "pid 4711 on gpu03"; empty if that cannot be read.
  std::string owner_name() const;

  /// The last lease; nothing where there never was one (as before there were leases) or the run has ended.
  Result<std::optional<Lease>> load_lease() const;
  Result<void> save_lease(const Lease& lease) const;

  /// What all files in it take, those included that are being written.
  std::uint64_t bytes() const;

  /// Makes what is in the folder survive a power cut, where the file system can.
  void sync() const;

 private:
  fs::path path_;
  std::string id_;
};

}  // namespace assay
