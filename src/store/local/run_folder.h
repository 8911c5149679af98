#pragma once

#include <string>
#include <string_view>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/result.h"
#include "model/run.h"

namespace assay {

/// One run's folder: where its parts are, and run.json. README.md of src/store shows the layout.
class RunFolder {
 public:
  RunFolder(fs::path path, std::string id) : path_(std::move(path)), id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  const fs::path& path() const { return path_; }
  fs::path record() const { return path_ / "run.json"; }
  fs::path journal() const { return path_ / "journal"; }
  fs::path owner_lock() const { return path_ / "owner.lock"; }
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

 private:
  fs::path path_;
  std::string id_;
};

/// Makes this process the owner of the run in `folder`.
Result<FileLock> take_ownership(const RunFolder& folder);

}  // namespace assay
