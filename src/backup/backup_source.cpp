#include "backup/backup_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "backup/manifest.h"
#include "backup/owners.h"
#include "backup/tar.h"
#include "base/json.h"
#include "base/text.h"
#include "base/version.h"

namespace assay {
namespace {

// A piece is handed on when it has become so long.
constexpr std::size_t kSourcePiece = std::size_t{256} << 10;

/// What is made again from the rest, or belongs to processes.
bool is_left_out(const fs::path& path) {
  constexpr std::array kOfProcesses = {"agent", "leader/endpoint.json", "leader/owner.token", "leader/backup"};
  const std::string name = path.filename();
  if (name.ends_with(".lock") || name.ends_with("-shm")) return true;
  if (!path.has_parent_path() && name.starts_with("index.db")) return true;
  return std::find(kOfProcesses.begin(), kOfProcesses.end(), path.string()) != kOfProcesses.end();
}

class DataFolderSource final : public ByteSource {
 public:
  DataFolderSource(BackupParts parts, WallTime now, std::shared_ptr<void> keep)
      : parts_(std::move(parts)), keep_(std::move(keep)), manifest_(version(), now), pending_{"."} {}

  Result<std::optional<std::string>> next() override {
    if (done_) return std::optional<std::string>();
    while (piece_.size() < kSourcePiece && !done_) {
      if (auto read = go_on(); !read) {
        if (!add_failure(read.error())) return read.error();
      }
    }
    // Before anybody can know of the end: who then asks for another copy must not be told that this one is being made.
    if (done_) keep_.reset();
    return std::optional(std::exchange(piece_, {}));
  }

 private:
  /// A head, some bytes of a file, or the end.
  Result<void> go_on() {
    if (file_) return read_on();
    if (!pending_.empty()) {
      const fs::path path = std::move(pending_.back());
      pending_.pop_back();
      return add(path);
    }
    const std::string text = manifest_.finish();
    piece_ += tar_head({.path = kManifestName, .bytes = text.size()});
    piece_ += text;
    piece_ += tar_padding(text.size()) + tar_end();
    done_ = true;
    return {};
  }

  /// False where there is no place for it: in the middle of a file whose size was promised.
  bool add_failure(const Error& error) {
    if (file_) return false;
    const std::string text =
        json::serialize(json::object{{"kind", name_of(error.kind)}, {"message", error.text()}, {"hint", error.hint}});
    piece_ += tar_head({.path = kFailureName, .bytes = text.size()});
    piece_ += text + tar_padding(text.size()) + tar_end();
    done_ = true;
    return true;
  }

  /// Whether a path is one that a process has open, or below one.
  bool is_copied(const fs::path& path) const {
    return std::any_of(parts_.open.begin(), parts_.open.end(), [&](const fs::path& open) {
      const auto inside = path.lexically_relative(open);
      return !inside.empty() && *inside.begin() != "..";
    });
  }

  Result<void> add(const fs::path& path) {
    const fs::path place = (is_copied(path) ? parts_.copies : parts_.data) / path;
    struct stat info{};
    // A folder of runs may be on another disk, behind a link.
    const bool top = !path.has_parent_path();
    if ((top ? ::stat(place.c_str(), &info) : ::lstat(place.c_str(), &info)) != 0) {
      if (errno == ENOENT) return {};
      return system_error(errno, fmt::format("cannot look at '{}'", place.string()));
    }
    TarEntry entry{.path = path.string()};
    if (printable(entry.path) != entry.path) {
      return Error{.kind = ErrorKind::unsupported,
                   .message = fmt::format("the name '{}' is not plain text", printable(entry.path)),
                   .hint = "Rename or remove it: a backup is written by names."};
    }
    describe(info, entry);
    if (S_ISDIR(info.st_mode)) return add_folder(place, path, std::move(entry));
    if (S_ISLNK(info.st_mode)) return add_link(place, std::move(entry));
    return S_ISREG(info.st_mode) ? begin_file(place, std::move(entry)) : Result<void>();
  }

  void describe(const struct stat& info, TarEntry& entry) {
    entry.mode = info.st_mode & 07777;
    entry.user = owners_.user(info.st_uid);
    entry.group = owners_.group(info.st_gid);
    entry.modified_s = info.st_mtime;
  }

  Result<void> add_folder(const fs::path& place, const fs::path& path, TarEntry entry) {
    entry.kind = TarEntry::Kind::folder;
    piece_ += tar_head(entry);
    manifest_.add({.entry = std::move(entry)});
    std::vector<std::string> names;
    std::error_code code;
    for (auto at = fs::directory_iterator(place, code); !code && at != fs::directory_iterator(); at.increment(code)) {
      names.push_back(at->path().filename().string());
    }
    if (code && code != std::errc::no_such_file_or_directory) {
      return system_error(code.value(), fmt::format("cannot read the folder '{}'", place.string()));
    }
    for (const auto& open : parts_.open) {
      const auto parent = open.has_parent_path() ? open.parent_path() : fs::path(".");
      if (!parts_.copies.empty() && parent == path) names.push_back(open.filename().string());
    }
    std::sort(names.begin(), names.end(), std::greater<>());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const auto& name : names) {
      fs::path inner = path == "." ? fs::path(name) : path / name;
      if (!is_left_out(inner)) pending_.push_back(std::move(inner));
    }
    return {};
  }

  Result<void> add_link(const fs::path& place, TarEntry entry) {
    std::error_code code;
    entry.target = fs::read_symlink(place, code).string();
    if (code) return {};
    entry.kind = TarEntry::Kind::link;
    piece_ += tar_head(entry);
    manifest_.add({.entry = std::move(entry)});
    return {};
  }

  Result<void> begin_file(const fs::path& place, TarEntry entry) {
    auto opened = open_file(place, O_RDONLY);
    if (!opened) return opened.error().kind == ErrorKind::missing_file ? Result<void>() : opened.error();
    struct stat info{};
    if (::fstat(opened->get(), &info) != 0) return system_error(errno, fmt::format("cannot read '{}'", place.string()));
    entry.bytes = static_cast<std::uint64_t>(info.st_size);
    describe(info, entry);
    piece_ += tar_head(entry);
    left_ = entry.bytes;
    sum_ = Sha256();
    entry_ = std::move(entry);
    file_ = std::move(*opened);
    return {};
  }

  /// No more than its head has promised: journals grow meanwhile.
  Result<void> read_on() {
    std::string bytes(std::min<std::uint64_t>(left_, kSourcePiece), '\0');
    const ssize_t count = bytes.empty() ? 0 : ::read(file_.get(), bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) return {};
      return system_error(errno, fmt::format("cannot read '{}'", entry_.path));
    }
    bytes.resize(static_cast<std::size_t>(count));
    sum_.add(bytes);
    piece_ += bytes;
    left_ -= bytes.size();
    if (left_ > 0 && count == 0) {
      return Error{.kind = ErrorKind::busy,
                   .message = fmt::format("'{}' became shorter while it was copied", entry_.path),
                   .hint = "Try again."};
    }
    if (left_ > 0) return {};
    piece_ += tar_padding(entry_.bytes);
    manifest_.add({.entry = std::move(entry_), .sha256 = sum_.digits()});
    file_.reset();
    return {};
  }

  const BackupParts parts_;
  std::shared_ptr<void> keep_;
  ManifestWriter manifest_;
  OwnerNames owners_;
  std::vector<fs::path> pending_;  ///< the next is at the end
  std::string piece_;
  FileDescriptor file_;  ///< that is being read
  TarEntry entry_;       ///< of it
  std::uint64_t left_ = 0;
  Sha256 sum_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> backup_source(BackupParts parts, WallTime now, std::shared_ptr<void> keep) {
  return std::make_unique<DataFolderSource>(std::move(parts), now, std::move(keep));
}

}  // namespace assay
