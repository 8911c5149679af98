#include "formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "formats/failure.h"

namespace assay::engine {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  const bool denied = error == EACCES || error == EPERM;
  throw Failure(missing  ? "missing_file"
                : denied ? "denied"
                         : "io",
                "'" + path + "' cannot be read: " + std::strerror(error));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // O_NONBLOCK: a named pipe is refused below instead of being waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail(path, errno);
  struct stat status{};
  if (::fstat(fd, &status) != 0) {
    const int error = errno;
    ::close(fd);
    fail(path, error);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    throw Failure("bad_file", "'" + path + "' is not a regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  // There is no mapping of nothing.
  void* start = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  ::close(fd);
  if (start == MAP_FAILED) fail(path, error);
  start_ = static_cast<const std::byte*>(start);
  size_ = size;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (start_) ::munmap(const_cast<std::byte*>(start_), size_);
}

std::string_view MappedFile::text() const { return {reinterpret_cast<const char*>(start_), size_}; }

}  // namespace assay::engine
