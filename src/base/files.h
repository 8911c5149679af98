#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

namespace fs = std::filesystem;

/// A file descriptor that closes itself. Move only.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

/// open(2), always with O_CLOEXEC.
Result<FileDescriptor> open_file(const fs::path& path, int flags, unsigned mode = 0666);

/// The whole file. Larger than `limit` is an error of kind bad_file.
Result<std::string> read_file(const fs::path& path, std::size_t limit = std::size_t{64} << 20);

/// Writes all of it, riding out short writes and signals. ENOSPC and the like come back as errors.
Result<void> write_all(int fd, std::string_view bytes);

/// Replaces `path` in one step: readers see the old or the new content, also after a power cut.
Result<void> write_file_atomically(const fs::path& path, std::string_view content);

/// `mkdir -p`.
Result<void> make_folders(const fs::path& path);

/// What kind of file system holds a path; decides whether SQLite may use a write-ahead log there.
struct FileSystemKind {
  std::string name;      ///< "ext4", "nfs", "lustre", … or "0x1234" for one we have no name for
  bool network = false;  ///< memory-mapped sharing between hosts is not safe
};
/// Looks at the path or, where it does not exist yet, at its nearest existing parent. "" is the current folder.
Result<FileSystemKind> file_system_of(const fs::path& path);

/// A folder that removes itself, for tests and scratch space.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Whether a name from outside may become the name of a file: 1 to 128 bytes, no '/', no control characters, no dot
/// in front. Ids of runs and studies, names of artifacts and of ranks are held to this.
bool is_file_name(std::string_view name);

}  // namespace assay
