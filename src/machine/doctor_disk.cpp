#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/units.h"
#include "machine/doctor_checks.h"

namespace assay {
namespace {

using Level = DoctorFinding::Level;

constexpr std::uint64_t kDiskGibibyte = std::uint64_t{1} << 30;

fs::path nearest_existing(const fs::path& path) {
  std::error_code code;
  fs::path existing = fs::absolute(path, code);
  while (!fs::exists(existing, code) && existing.has_relative_path()) existing = existing.parent_path();
  return existing;
}

/// 0, or the errno of making a file in the folder. The file has no name where the file system can do that.
int error_of_writing(const fs::path& folder) {
  if (FileDescriptor file(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)); file) return 0;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return errno;
  std::string pattern = (folder / ".assay-doctor-XXXXXX").string();
  const FileDescriptor file(::mkostemp(pattern.data(), O_CLOEXEC));
  if (!file) return errno;
  ::unlink(pattern.c_str());
  return 0;
}

}  // namespace

DoctorFinding check_disk_space(const std::filesystem::path& folder, std::optional<std::uint64_t> free_bytes) {
  auto finding = ok("Disk space", "disk_space", "not known");
  if (!free_bytes) return finding;
  finding.found =
      fmt::format("{} free for '{}'", format_bytes({static_cast<std::int64_t>(*free_bytes)}), folder.string());
  const std::string remedy = "Free some with 'assay prune', or keep the data elsewhere with --data or ASSAY_DATA.";
  if (*free_bytes < kDiskGibibyte) return raised(finding, Level::problem, remedy);
  if (*free_bytes < 10 * kDiskGibibyte) return raised(finding, Level::warning, remedy);
  return finding;
}

DoctorFinding check_file_system(const std::filesystem::path& folder, const Result<FileSystemKind>& kind) {
  auto finding = ok("File system", "file_system", "not known");
  if (!kind) return raised(finding, Level::warning, kind.error().text());
  finding.found = fmt::format("'{}' is on {}", folder.string(), kind->name);
  if (kind->network) {
    return raised(finding, Level::note,
                  "A network file system: recording is slower there and one process writes the index at a time. A "
                  "local folder given with --data is faster.");
  }
  if (kind->name == "tmpfs") {
    return raised(finding, Level::note, "It is kept in memory: results are lost when the machine restarts.");
  }
  return finding;
}

DoctorFinding check_data_folder(const std::filesystem::path& folder) {
  auto finding = ok("Data folder", "data_folder", fmt::format("'{}' can be written", folder.string()));
  const fs::path existing = nearest_existing(folder);
  std::error_code code;
  if (!fs::is_directory(existing, code)) {
    finding.found = fmt::format("'{}' is not a folder", existing.string());
    return raised(finding, Level::problem, "Choose another folder with --data or ASSAY_DATA.");
  }
  const bool is_there = fs::exists(folder, code);
  if (const int error = error_of_writing(existing); error != 0) {
    finding.found =
        fmt::format("'{}' cannot be {}: {}", folder.string(), is_there ? "written" : "created", std::strerror(error));
    return raised(finding, Level::problem,
                  fmt::format("Make '{}' writable for this user, or choose another folder with --data or ASSAY_DATA.",
                              existing.string()));
  }
  if (!is_there) finding.found = fmt::format("'{}' can be created", folder.string());
  return finding;
}

std::optional<std::uint64_t> free_bytes_at(const std::filesystem::path& path) {
  std::error_code code;
  const auto space = fs::space(nearest_existing(path), code);
  if (code) return std::nullopt;
  return space.available;
}

}  // namespace assay
