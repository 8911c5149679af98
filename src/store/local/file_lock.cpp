#include "store/local/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace assay {
namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// 0, EAGAIN when somebody else holds it, or the reason why locking does not work here.
int try_lock(int fd) {
  struct flock lock = whole_file();
  while (::fcntl(fd, F_OFD_SETLK, &lock) != 0) {
    if (errno == EINTR) continue;
    return errno == EACCES ? EAGAIN : errno;
  }
  return 0;
}

}  // namespace

Result<FileLock> FileLock::acquire(const fs::path& path, Nanos patience) {
  ASSAY_TRY(auto file, open_file(path, O_RDWR | O_CREAT));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  // Asked again and again instead of waiting in the kernel: that wait has no time limit.
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    if (try_lock(file.get()) != EAGAIN) return FileLock(std::move(file));
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error{.kind = ErrorKind::busy,
                   .message = fmt::format("another process holds '{}' for too long", path.string())};
    }
    std::this_thread::sleep_for(pause);
  }
}

Result<void> FileLock::lock(int fd) {
  if (try_lock(fd) == EAGAIN) return Error{.kind = ErrorKind::busy, .message = "another process holds the lock"};
  return {};
}

LockState FileLock::state(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ENOENT ? LockState::free : LockState::unknown;
  struct flock lock = whole_file();
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0) return LockState::unknown;
  return lock.l_type == F_UNLCK ? LockState::free : LockState::held;
}

}  // namespace assay
