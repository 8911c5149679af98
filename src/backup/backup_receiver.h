#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "backup/manifest.h"
#include "base/byte_stream.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

struct BackupSummary {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

/// Takes what `backup_source` gives and makes a folder of it, which has its name only once everything was written, was
/// read back and has the right sums. Until then it is `FOLDER.partial`, which goes with this object. Its owner alone
/// can get at it: there are keys in it. One caller at a time.
class BackupReceiver {
 public:
  /// `usage` if the folder has something in it, or if there is a partial one already.
  static Result<std::unique_ptr<BackupReceiver>> begin(const fs::path& folder);
  BackupReceiver(const BackupReceiver&) = delete;
  BackupReceiver& operator=(const BackupReceiver&) = delete;
  ~BackupReceiver();

  Result<void> take(std::string_view piece) { return reader_.take(piece); }
  /// Reads everything back and gives the folder its name; on the disk on return. An error that stopped the source is
  /// this one's; `bad_file` if something is missing or damaged.
  Result<BackupSummary> finish();

 private:
  BackupReceiver(fs::path folder, fs::path partial);
  Result<void> begin_entry(const TarEntry& entry);
  Result<void> write(std::string_view bytes);
  Result<void> end_file();
  /// The modes of folders and the links: a folder that may not be written is no place to put files in, and a link no
  /// place to put them through.
  Result<void> put_finish(const Manifest& manifest);

  const fs::path folder_;
  const fs::path partial_;
  TarReader reader_;
  FileDescriptor file_;  ///< that is being written; absent for what was sent in place of a copy
  unsigned mode_ = 0;
  std::uint64_t unsynced_ = 0;
  bool failing_ = false;  ///< the entry tells an error
  std::string failure_;
  bool finished_ = false;
};

/// Takes all of a source into a new folder. `interrupted` soon after a stop was requested.
Result<BackupSummary> receive_backup(ByteSource& source, const fs::path& folder, const std::stop_token& stop = {});

}  // namespace assay
