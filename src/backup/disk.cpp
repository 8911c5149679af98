#include "backup/disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace assay {

Result<void> check_new(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) return {};
  if (!fs::is_directory(folder, code) || !fs::is_empty(folder, code)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' is not empty", folder.string()),
                 .hint = "Name a new folder, so that nothing is overwritten."};
  }
  return {};
}

Result<void> check_outside(const fs::path& folder, const fs::path& data) {
  std::error_code code;
  const auto inside = fs::weakly_canonical(folder, code).lexically_relative(fs::weakly_canonical(data, code));
  if (code) return system_error(code.value(), fmt::format("cannot look at '{}'", folder.string()));
  if (inside.empty() || *inside.begin() == "..") return {};
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'{}' lies inside the data folder", folder.string()),
               .hint = "Name a folder elsewhere, best on another disk."};
}

Result<void> sync_disk_of(const fs::path& path) {
  ASSAY_TRY(const auto opened, open_file(path, O_RDONLY | O_DIRECTORY));
  if (::syncfs(opened.get()) == 0) return {};
  return system_error(errno, fmt::format("cannot sync '{}'", path.string()));
}

}  // namespace assay
