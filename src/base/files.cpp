#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "base/text.h"

namespace assay {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<FileDescriptor> open_file(const fs::path& path, int flags, unsigned mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return system_error(errno, fmt::format("cannot open '{}'", path.string()));
  return FileDescriptor(fd);
}

Result<std::string> read_file(const fs::path& path, std::size_t limit) {
  ASSAY_TRY(const auto file, open_file(path, O_RDONLY));
  std::string content;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got == 0) return content;
    if (got < 0) {
      if (errno == EINTR) continue;
      return system_error(errno, fmt::format("cannot read '{}'", path.string()));
    }
    content.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.size() > limit) {
      return Error{.kind = ErrorKind::bad_file,
                   .message = fmt::format("'{}' is larger than {} bytes", path.string(), limit)};
    }
  }
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return system_error(errno, "cannot write");
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_file_atomically(const fs::path& path, std::string_view content) {
  const std::string doing = fmt::format("writing '{}'", path.string());
  // Process id and counter keep two writers from sharing one temporary file; the last rename wins.
  static std::atomic<unsigned> counter{0};
  const fs::path temporary = path.string() + fmt::format(".{}-{}.tmp", ::getpid(), counter++);
  const auto write = [&]() -> Result<void> {
    ASSAY_TRY(const auto file, open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC));
    ASSAY_CHECK(write_all(file.get(), content));
    if (::fdatasync(file.get()) != 0) return system_error(errno, "cannot sync");
    if (::rename(temporary.c_str(), path.c_str()) != 0) return system_error(errno, "cannot rename");
    return {};
  };
  auto result = write();
  if (!result) ::unlink(temporary.c_str());
  return std::move(result).within(doing);
}

Result<void> make_folders(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return system_error(code.value(), fmt::format("cannot create the folder '{}'", path.string()));
  return {};
}

Result<FileSystemKind> file_system_of(const fs::path& path) {
  struct Known {
    unsigned long magic;
    const char* name;
    bool network;
  };
  static constexpr std::array kKnown = {
      Known{0xEF53, "ext4", false},      Known{0x58465342, "xfs", false},     Known{0x9123683E, "btrfs", false},
      Known{0x01021994, "tmpfs", false}, Known{0x794C7630, "overlay", false}, Known{0x2FC12FC1, "zfs", false},
      Known{0xF2F52010, "f2fs", false},  Known{0x6969, "nfs", true},          Known{0x0BD00BD0, "lustre", true},
      Known{0x47504653, "gpfs", true},   Known{0x19830326, "beegfs", true},   Known{0xFE534D42, "smb2", true},
      Known{0xFF534D42, "cifs", true},   Known{0x00C36400, "ceph", true},     Known{0x5346414F, "afs", true},
      Known{0x65735546, "fuse", true},   Known{0x01021997, "9p", true},       Known{0xAAD7AAEA, "panfs", true},
  };
  std::error_code code;
  fs::path existing = fs::absolute(path.empty() ? "." : path, code);
  while (!fs::exists(existing, code) && existing.has_relative_path()) existing = existing.parent_path();
  struct statfs info{};
  if (::statfs(existing.c_str(), &info) != 0) {
    return system_error(errno, fmt::format("cannot tell the file system of '{}'", existing.string()));
  }
  const auto magic = static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFUL;
  for (const auto& known : kKnown) {
    if (known.magic == magic) return FileSystemKind{known.name, known.network};
  }
  return FileSystemKind{fmt::format("{:#x}", magic), false};
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "assay-XXXXXX").string();
  ASSAY_ASSERT(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

bool is_file_name(std::string_view name) {
  if (name.empty() || name.size() > 128 || name.front() == '.') return false;
  const bool plain = std::none_of(name.begin(), name.end(),
                                  [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  return plain && printable(name) == name;
}

}  // namespace assay
