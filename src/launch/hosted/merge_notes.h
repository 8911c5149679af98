#pragma once

#include <cstdint>
#include <vector>

#include "base/files.h"
#include "launch/job_stream.h"

namespace assay {

/// Which part each piece of a job's merged streams came from, in a file of the owner's, so that after a restart the
/// streams go on at the right byte of every part. Written before a piece is handed on: survives `kill -9` of the owner.
/// A job of one part needs none. Not thread-safe.
class MergeNotes {
 public:
  /// None are kept: of a job of one part.
  MergeNotes() = default;
  /// Reads what is there (the end of a line that was cut off is passed over), and where in each of the `parts` the
  /// merged streams stand at `taken`. What was noted behind that is forgotten. A missing file is an empty one. Errors:
  /// `bad_file`, `io`.
  static Result<MergeNotes> open(const fs::path& path, std::size_t parts, const PerStream<std::uint64_t>& taken);

  /// Bytes of each stream of a part that were merged already.
  const PerStream<std::uint64_t>& merged(std::size_t part) const { return merged_[part]; }
  /// The next `bytes` of the stream come from that part.
  Result<void> add(JobStream stream, std::size_t part, std::size_t bytes);

 private:
  FileDescriptor file_;
  std::vector<PerStream<std::uint64_t>> merged_;
};

}  // namespace assay
