#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backup/sha256.h"
#include "backup/tar.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

// What is in a copy of a data folder: a file of lines of JSON at its top. The first says who made it, the last how many
// there are and the sum of all before it, those between are one entry each:
//   {"schema":2,"assay":"0.4.0","made":"2026-11-16T16:45:00.000Z"}
//   {"path":"leader/cluster.db","mode":"0600","user":"assay","group":"assay","bytes":4096,"sha256":"…"}
//   {"entries":1,"sha256":"…"}

inline constexpr const char* kManifestName = "assay-backup.jsonl";

struct CopiedEntry {
  TarEntry entry;
  std::string sha256;  ///< of a file; empty in a copy that an earlier version made
  bool operator==(const CopiedEntry&) const = default;
};

struct Manifest {
  std::string assay;  ///< the version that made it
  WallTime made{};
  std::vector<CopiedEntry> entries;  ///< folders before what is in them
};

/// Writes one, an entry at a time.
class ManifestWriter {
 public:
  ManifestWriter(std::string_view assay, WallTime made);
  void add(const CopiedEntry& copied);
  /// All of it. Once.
  std::string finish();

 private:
  void add_line(const std::string& line);

  std::string text_;
  Sha256 sum_;
  std::size_t entries_ = 0;
};

/// `bad_file` for what `ManifestWriter` did not write, or not to its end; `unsupported` for that of a newer version.
Result<Manifest> read_manifest(std::string_view text);

/// The manifest of a copy. Of one that an earlier version made, which has no sums: what is in the folder, private to
/// its owner. `bad_file` for a folder that is no copy, or one that was broken off.
Result<Manifest> manifest_of(const fs::path& folder);

/// Reads every file of a copy, from the disk rather than from memory where the system allows it. `bad_file`, with the
/// names of the first that are missing or other than they were when the copy was made.
Result<void> check_copy(const fs::path& folder, const Manifest& manifest);

}  // namespace assay
