#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

/// Backups at regular times into folders of their own, of which the newest are kept. Which there are and when the next
/// is due is read from their names (`assay-20261116T164500Z`), so that it is the same after a restart; whatever has
/// another name is nobody's business here. One caller at a time.
class BackupSchedule {
 public:
  struct Options {
    fs::path to;  ///< the folder of all
    Nanos every = std::chrono::hours(24);
    std::size_t keep = 7;  ///< at least one
  };
  /// Makes one in a new folder; what it returns without an error for is whole and was read back. Gives up soon when it
  /// is time to stop.
  using Make = std::function<Result<void>(const fs::path& folder, const std::stop_token& stop)>;

  BackupSchedule(Options options, Make make, const Clock& clock);

  /// Makes a backup if one is due, and only then forgets the oldest beyond those that are kept. Nothing if none was
  /// due; a failure is tried again after an hour, or after a tenth of `every` where that is less.
  std::optional<Result<void>> tick(const std::stop_token& stop = {});

 private:
  Result<void> make_one(const std::stop_token& stop);
  Result<std::vector<std::string>> names() const;
  bool is_due(const std::vector<std::string>& names) const;

  const Options options_;
  const Make make_;
  const Clock& clock_;
  std::optional<SteadyTime> made_;        ///< by this object
  std::optional<SteadyTime> not_before_;  ///< after a failure
};

}  // namespace assay
