#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// Copies of run folders that agents send while their runs go on, byte by byte. A copy is built aside and handed over
/// when it is complete: its run.json, which comes last, can be read. Any thread.
class RunCopies {
 public:
  /// Hands a complete folder over (moves it away) to wherever runs are kept.
  using Publish = std::function<Result<void>(const std::string& run, const fs::path& folder)>;
  RunCopies(fs::path folder, Publish publish) : folder_(std::move(folder)), publish_(std::move(publish)) {}

  struct Outcome {
    std::uint64_t size = 0;  ///< what we have of the file, safely on the disk
    bool taken = false;      ///< false: the offset was not the end of it
  };
  /// Appends to a file of a run of this node. `usage`: a name that is none; `busy`: the run was handed over already, or
  /// is too large.
  Result<Outcome> append(std::string_view node, std::string_view run, std::string_view file, std::uint64_t offset,
                         std::string_view bytes);

  static constexpr std::uint64_t kMaxFileBytes = std::uint64_t{4} << 30;
  static constexpr std::ptrdiff_t kMaxRunsPerNode = 256;  ///< that are not complete; a study has many

 private:
  Result<Outcome> append_to(const fs::path& path, std::uint64_t offset, std::string_view bytes);

  const fs::path folder_;
  const Publish publish_;
  std::mutex mutex_;
};

}  // namespace assay
