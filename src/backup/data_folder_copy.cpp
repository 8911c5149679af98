#include "backup/data_folder_copy.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/version.h"

namespace assay {
namespace {

constexpr const char* kLabel = "assay-backup.json";
constexpr const char* kLeader = "leader";

Result<void> check_empty(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) return {};
  if (!fs::is_directory(folder, code) || !fs::is_empty(folder, code)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' is not empty", folder.string()),
                 .hint = "Name a new folder, so that nothing is overwritten."};
  }
  return {};
}

/// What is made again from the rest, or belongs to processes.
bool is_derived(const std::string& name) {
  return name.starts_with("index.db") || name.ends_with(".lock") || name == kLeader || name == "agent" ||
         name == kLabel;
}

Error cannot(std::string_view what, const fs::path& path, const std::error_code& code) {
  return {.kind = ErrorKind::io, .message = fmt::format("cannot {} '{}': {}", what, path.string(), code.message())};
}

/// File by file: one that is deleted meanwhile is no part of the copy, and ends nothing.
Result<void> copy_tree(const fs::path& from, const fs::path& to) {
  std::error_code code;
  const auto status = fs::symlink_status(from, code);
  if (status.type() == fs::file_type::not_found) return {};
  if (!fs::is_directory(status)) {
    fs::copy(from, to, fs::copy_options::copy_symlinks, code);
    if (code && fs::exists(from)) return cannot("copy", from, code);
    return {};
  }
  ASSAY_CHECK(make_folders(to));
  auto entry = fs::directory_iterator(from, code);
  if (code) return cannot("read", from, code);
  for (; entry != fs::directory_iterator(); entry.increment(code)) {
    if (code) return cannot("read", from, code);
    const std::string name = entry->path().filename();
    if (!name.ends_with(".lock")) ASSAY_CHECK(copy_tree(entry->path(), to / name));
  }
  return {};
}

/// Everything in a data folder but what is derived and what the leader copies itself.
Result<void> copy_runs(const fs::path& from, const fs::path& to) {
  std::error_code code;
  auto entry = fs::directory_iterator(from, code);
  if (code) return cannot("read", from, code);
  for (; entry != fs::directory_iterator(); entry.increment(code)) {
    if (code) return cannot("read", from, code);
    const std::string name = entry->path().filename();
    if (!is_derived(name)) ASSAY_CHECK(copy_tree(entry->path(), to / name));
  }
  return {};
}

}  // namespace

Result<void> copy_data_folder(const fs::path& data, const LeaderParts& leader, const fs::path& folder) {
  ASSAY_CHECK(check_empty(folder));
  std::error_code code;
  const auto inside = fs::weakly_canonical(folder, code).lexically_relative(fs::weakly_canonical(data, code));
  if (code) return cannot("look at", folder, code);
  if (!inside.empty() && *inside.begin() != "..") {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}' lies inside the data folder", folder.string())};
  }
  ASSAY_CHECK(make_folders(folder / kLeader));
  // There are keys in it.
  fs::permissions(folder, fs::perms::owner_all, code);
  if (code) return cannot("protect", folder, code);
  ASSAY_CHECK(leader.copy_open(folder));
  for (const auto& file : leader.files) ASSAY_CHECK(copy_tree(data / file, folder / file));
  ASSAY_CHECK(copy_runs(data, folder));
  // Written last: a backup that was broken off is told by its absence.
  return write_file_atomically(folder / kLabel, pretty_json(json::object{{"schema", 1}, {"assay", version()}}));
}

Result<void> restore_data_folder(const fs::path& backup, const fs::path& data) {
  const auto label = read_file(backup / kLabel, 1 << 16);
  if (!label) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' is no backup, or one that was broken off", backup.string()),
                 .hint = "`assay backup FOLDER` makes one."};
  }
  ASSAY_TRY(const auto value, parse_json(*label));
  ASSAY_CHECK(check_schema(value, 1, kLabel));
  ASSAY_CHECK(check_empty(data));
  ASSAY_CHECK(make_folders(data));
  ASSAY_CHECK(copy_tree(backup / kLeader, data / kLeader));
  return copy_runs(backup, data);
}

}  // namespace assay
