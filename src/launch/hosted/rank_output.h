#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// Appends what one rank writes to a stream's file, line by line behind its mark; without one, byte by byte as it
/// comes. Not thread-safe.
class RankOutput {
 public:
  /// `mark`: "[rank 3] "; empty: none.
  RankOutput(int fd, std::string mark) : fd_(fd), mark_(std::move(mark)) {}

  Result<void> add(std::string_view bytes);
  /// The last line, where it has no end.
  Result<void> finish();

 private:
  int fd_;
  std::string mark_;
  std::string line_;  ///< that has not ended yet
};

}  // namespace assay
