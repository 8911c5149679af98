#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backup/backup_receiver.h"
#include "backup/backup_source.h"
#include "base/clock.h"
#include "base/files.h"

namespace assay {

/// A data folder, and copies of it.
class BackupTest : public testing::Test {
 protected:
  void write(const fs::path& file, std::string_view text, unsigned mode = 0600) {
    ASSERT_TRUE(make_folders((data_ / file).parent_path()).ok());
    ASSERT_TRUE(write_file_atomically(data_ / file, text).ok());
    ASSERT_EQ(::chmod((data_ / file).c_str(), mode), 0);
  }
  /// Every file below a folder, by its path from there.
  static std::vector<std::string> files(const fs::path& folder) {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_directory() || entry.is_symlink()) found.push_back(entry.path().lexically_relative(folder));
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static unsigned mode_of(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  Result<BackupSummary> copy() {
    const auto source = backup_source({.data = data_}, clock_.wall());
    return receive_backup(*source, copy_);
  }

  ManualClock clock_;
  TemporaryFolder folder_;
  fs::path data_ = folder_.path() / "data";
  fs::path copy_ = folder_.path() / "copy";
};

}  // namespace assay
