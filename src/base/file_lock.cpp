#include "base/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

namespace assay {
namespace {

struct flock whole_file() {
  struct flock lock{};
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

Result<FileLock> FileLock::claim(const fs::path& path) {
  auto lock = acquire(path, Nanos(0));
  if (!lock.ok() && lock.error().kind == ErrorKind::busy) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("'{}' is held by {}", path.string(), owner_of(path)),
                 .hint = "End that process first, or use another folder."};
  }
  if (!lock.ok()) return lock;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  // A longer name of an earlier owner must not shine through.
  if (::ftruncate(lock->descriptor(), 0) != 0) return system_error(errno, "cannot empty the lock file");
  ASSAY_CHECK(write_all(lock->descriptor(), fmt::format("pid {} on {}\n", ::getpid(), host.data())));
  return lock;
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

std::string owner_of(const fs::path& path) {
  auto text = read_file(path, 4096).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace assay
