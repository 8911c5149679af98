#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/byte_stream.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

/// Which files of a data folder are copied, and from where.
struct BackupParts {
  fs::path data;
  /// Paths below the data folder that a process has open: left out where they are …
  std::vector<fs::path> open;
  /// … and taken from the same paths below this folder; empty: there are none.
  fs::path copies;
};

/// A copy of a data folder as an archive (tar.h) that is made while it is read: everything but what is made again from
/// the rest (indexes) or belongs to processes (locks, the address of a running leader and its owner's token), and last
/// the manifest. A file is as it was when its turn came; one that was deleted meanwhile is no part of the copy.
///
/// Where something goes wrong on the way the archive ends with an entry that says so, and no manifest:
/// `BackupReceiver` gives that error to whoever asked. `keep` is let go with the last piece, or with the source.
std::unique_ptr<ByteSource> backup_source(BackupParts parts, WallTime now, std::shared_ptr<void> keep = nullptr);

/// The entry that stands for an error, with {"kind", "message", "hint"}.
inline constexpr const char* kFailureName = "assay-backup-failed.json";

}  // namespace assay
