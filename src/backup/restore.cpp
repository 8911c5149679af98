#include "backup/restore.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "backup/disk.h"
#include "backup/owners.h"
#include "base/byte_stream.h"

namespace assay {
namespace {

/// Entries of a copy, put into a data folder one by one.
class Restoring {
 public:
  Restoring(fs::path backup, fs::path data) : backup_(std::move(backup)), data_(std::move(data)) {}

  Result<void> begin() {
    struct stat info{};
    if (::stat(data_.c_str(), &info) == 0) there_ = Owner{info.st_uid, info.st_gid};
    return make_folders(data_);
  }
  Result<void> put(const CopiedEntry& copied) {
    const TarEntry& entry = copied.entry;
    switch (entry.kind) {
      case TarEntry::Kind::folder: return put_folder(entry);
      case TarEntry::Kind::link: return {};
      case TarEntry::Kind::file: return put_file(copied);
    }
    return {};
  }
  /// Folders get their modes when everything is in them, and links are made when nothing can be put through them.
  Result<void> end(const Manifest& manifest) {
    for (auto at = manifest.entries.rbegin(); at != manifest.entries.rend(); ++at) {
      if (at->entry.kind == TarEntry::Kind::link) ASSAY_CHECK(put_link(at->entry));
      if (at->entry.kind != TarEntry::Kind::folder) continue;
      const fs::path place = data_ / at->entry.path;
      ASSAY_CHECK(own(place, at->entry));
      if (::chmod(place.c_str(), at->entry.mode) != 0) return cannot("set the mode of", place);
    }
    return sync_disk_of(data_);
  }
  /// Leaves the folder as empty as it was.
  void undo() {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(data_, ignored)) fs::remove_all(entry.path(), ignored);
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const auto& name : unknown_) {
      texts.push_back(fmt::format("there is no '{}' on this machine: what was theirs belongs to {} now", name,
                                  there_ ? "the owner of the data folder" : "you"));
    }
    return texts;
  }

 private:
  struct Owner {
    uid_t user;
    gid_t group;
  };

  static Error cannot(std::string_view what, const fs::path& path) {
    return system_error(errno, fmt::format("cannot {} '{}'", what, path.string()));
  }

  Result<void> put_folder(const TarEntry& entry) {
    const fs::path place = data_ / entry.path;
    if (entry.path == "." || ::mkdir(place.c_str(), 0700) == 0) return {};
    return cannot("create the folder", place);
  }

  Result<void> put_link(const TarEntry& entry) {
    const fs::path place = data_ / entry.path;
    if (::symlink(entry.target.c_str(), place.c_str()) != 0) return cannot("make the link", place);
    return own(place, entry);
  }

  Result<void> put_file(const CopiedEntry& copied) {
    const fs::path place = data_ / copied.entry.path;
    ASSAY_TRY(const auto source, file_source(backup_ / copied.entry.path));
    ASSAY_TRY(const auto file, open_file(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    Sha256 sum;
    ASSAY_CHECK(pour(*source, [&](std::string_view piece) {
      sum.add(piece);
      return write_all(file.get(), piece);
    }));
    if (!copied.sha256.empty() && sum.digits() != copied.sha256) {
      return Error{.kind = ErrorKind::bad_file,
                   .message = fmt::format("'{}' has other content than when it was copied", copied.entry.path)};
    }
    ASSAY_CHECK(own(place, copied.entry));
    if (::fchmod(file.get(), copied.entry.mode) != 0) return cannot("set the mode of", place);
    return {};
  }

  /// Root alone can give files away; everybody else has them.
  Result<void> own(const fs::path& place, const TarEntry& entry) {
    if (::geteuid() != 0) return {};
    const auto user = id_of(entry.user, &OwnerNames::user_id, there_ ? std::optional(there_->user) : std::nullopt);
    const auto group = id_of(entry.group, &OwnerNames::group_id, there_ ? std::optional(there_->group) : std::nullopt);
    if (::lchown(place.c_str(), user.value_or(static_cast<uid_t>(-1)), group.value_or(static_cast<gid_t>(-1))) == 0) {
      return {};
    }
    return cannot("give its owner to", place);
  }

  std::optional<uid_t> id_of(const std::string& name, std::optional<uid_t> (OwnerNames::*look_up)(const std::string&),
                             std::optional<uid_t> otherwise) {
    if (name.empty()) return otherwise;
    const auto known = (owners_.*look_up)(name);
    if (!known) unknown_.insert(name);
    return known ? known : otherwise;
  }

  const fs::path backup_;
  const fs::path data_;
  std::optional<Owner> there_;  ///< of the folder, where there was one
  OwnerNames owners_;
  std::set<std::string> unknown_;
};

}  // namespace

Result<RestoreSummary> restore_data_folder(const fs::path& backup, const fs::path& data) {
  ASSAY_TRY(const auto manifest, manifest_of(backup));
  ASSAY_CHECK(check_new(data));
  ASSAY_CHECK(check_copy(backup, manifest));
  Restoring restoring(backup, data);
  ASSAY_CHECK(restoring.begin());
  RestoreSummary summary;
  summary.made = manifest.made;
  const auto put_all = [&]() -> Result<void> {
    for (const auto& copied : manifest.entries) {
      ASSAY_CHECK(restoring.put(copied));
      summary.files += copied.entry.kind == TarEntry::Kind::file ? 1 : 0;
      summary.bytes += copied.entry.bytes;
    }
    return restoring.end(manifest);
  };
  if (auto put = put_all(); !put) {
    restoring.undo();
    return std::move(put).error();
  }
  summary.warnings = restoring.warnings();
  if (manifest.assay.empty()) {
    summary.warnings.emplace_back(
        "an earlier version of assay made this backup, without sums: what may be damaged in it cannot be told");
  }
  return summary;
}

}  // namespace assay
