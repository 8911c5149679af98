#pragma once

#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

/// Whether somebody holds the lock of a file.
enum class LockState {
  held,
  free,
  unknown,  ///< the file system cannot say (no lock manager, no access)
};

/// An exclusive lock on a file, held until this object goes away or the process dies. It belongs to the open file, not
/// to the process (F_OFD_SETLK): threads exclude each other too, and closing another descriptor does not release it.
/// It works over NFSv4. Move only.
class FileLock {
 public:
  /// Makes the file if it is missing and waits for the lock. `busy` when it is still held after `patience`.
  /// On a file system without locks it succeeds without one: better unguarded than unusable.
  static Result<FileLock> acquire(const fs::path& path, Nanos patience = std::chrono::seconds(30));

  /// Takes the lock at once and writes into the file who has it: "pid 4711 on gpu03". `busy`, with the owner's name,
  /// if somebody else does.
  static Result<FileLock> claim(const fs::path& path);

  /// Locks a file that is open for writing already. `busy` at once if somebody holds it.
  static Result<void> lock(int fd);

  /// Does not take the lock. A missing file is `free`.
  static LockState state(const fs::path& path);

  int descriptor() const { return file_.get(); }

 private:
  explicit FileLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

/// Who last claimed the file, as `FileLock::claim` wrote it; empty where nobody did.
std::string owner_of(const fs::path& path);

}  // namespace assay
