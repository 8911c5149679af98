#include "backup/backup_receiver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "backup/backup_source.h"
#include "backup/disk.h"
#include "base/json.h"

namespace assay {
namespace {

// What is left to the end keeps everybody waiting who syncs on the same disk: a leader among them.
constexpr std::uint64_t kSyncEvery = std::uint64_t{16} << 20;
constexpr std::size_t kMostFailure = std::size_t{64} << 10;

Error failure_of_source(const std::string& text) {
  const auto value = parse_json(text);
  if (!value) return {.kind = ErrorKind::io, .message = "the copy was broken off by whoever made it"};
  JsonFields fields(*value, kFailureName);
  Error error{.kind = error_kind_from(fields.text("kind")).value_or(ErrorKind::io),
              .message = fields.text("message"),
              .hint = fields.text_or("hint", "")};
  return error;
}

}  // namespace

Result<std::unique_ptr<BackupReceiver>> BackupReceiver::begin(const fs::path& folder) {
  ASSAY_CHECK(check_new(folder));
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  const fs::path partial = named.string() + ".partial";
  ASSAY_CHECK(make_folders(fs::absolute(partial).parent_path()));
  if (::mkdir(partial.c_str(), 0700) != 0) {
    if (errno != EEXIST) return system_error(errno, fmt::format("cannot create the folder '{}'", partial.string()));
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' is there already", partial.string()),
                 .hint = "Another backup writes it, or was killed before its end: then remove it."};
  }
  return std::unique_ptr<BackupReceiver>(new BackupReceiver(named, partial));
}

BackupReceiver::BackupReceiver(fs::path folder, fs::path partial)
    : folder_(std::move(folder)),
      partial_(std::move(partial)),
      reader_({.on_entry = [this](const TarEntry& entry) { return begin_entry(entry); },
               .on_bytes = [this](std::string_view bytes) { return write(bytes); },
               .on_end = [this] { return end_file(); }}) {}

BackupReceiver::~BackupReceiver() {
  if (finished_) return;
  std::error_code ignored;
  fs::remove_all(partial_, ignored);
}

Result<void> BackupReceiver::begin_entry(const TarEntry& entry) {
  if (entry.path == "." || entry.kind == TarEntry::Kind::link) return {};
  const fs::path place = partial_ / entry.path;
  if (entry.kind == TarEntry::Kind::folder) {
    if (::mkdir(place.c_str(), 0700) == 0) return {};
    return system_error(errno, fmt::format("cannot create the folder '{}'", place.string()));
  }
  failing_ = entry.path == kFailureName;
  if (failing_) return {};
  ASSAY_TRY(file_, open_file(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  mode_ = entry.mode;
  return {};
}

Result<void> BackupReceiver::write(std::string_view bytes) {
  if (failing_) {
    failure_ += bytes.substr(0, kMostFailure - std::min(kMostFailure, failure_.size()));
    return {};
  }
  ASSAY_CHECK(write_all(file_.get(), bytes));
  unsynced_ += bytes.size();
  if (unsynced_ < kSyncEvery) return {};
  unsynced_ = 0;
  if (::fdatasync(file_.get()) != 0) return system_error(errno, "cannot sync");
  return {};
}

Result<void> BackupReceiver::end_file() {
  if (std::exchange(failing_, false)) return failure_of_source(failure_);
  if (::fchmod(file_.get(), mode_) != 0) return system_error(errno, "cannot set the mode of a file");
  file_.reset();
  return {};
}

Result<void> BackupReceiver::put_finish(const Manifest& manifest) {
  for (auto at = manifest.entries.rbegin(); at != manifest.entries.rend(); ++at) {
    const TarEntry& entry = at->entry;
    const fs::path place = partial_ / entry.path;
    if (entry.kind == TarEntry::Kind::link && ::symlink(entry.target.c_str(), place.c_str()) != 0) {
      return system_error(errno, fmt::format("cannot make the link '{}'", place.string()));
    }
    // Its own folder stays its owner's alone, whatever the mode of the data folder.
    if (entry.kind != TarEntry::Kind::folder || entry.path == ".") continue;
    if (::chmod(place.c_str(), entry.mode) != 0) {
      return system_error(errno, fmt::format("cannot set the mode of '{}'", place.string()));
    }
  }
  return {};
}

Result<BackupSummary> BackupReceiver::finish() {
  ASSAY_CHECK(reader_.finish());
  ASSAY_TRY(const auto manifest, manifest_of(partial_));
  ASSAY_CHECK(put_finish(manifest));
  ASSAY_CHECK(sync_disk_of(partial_));
  ASSAY_CHECK(check_copy(partial_, manifest).within("reading the copy back"));
  if (::rename(partial_.c_str(), folder_.c_str()) != 0) {
    return system_error(errno, fmt::format("cannot give '{}' its name", folder_.string()));
  }
  finished_ = true;
  ASSAY_CHECK(sync_disk_of(fs::absolute(folder_).parent_path()));
  BackupSummary summary;
  for (const auto& copied : manifest.entries) {
    summary.files += copied.entry.kind == TarEntry::Kind::file ? 1 : 0;
    summary.bytes += copied.entry.bytes;
  }
  return summary;
}

Result<BackupSummary> receive_backup(ByteSource& source, const fs::path& folder, const std::stop_token& stop) {
  ASSAY_TRY(const auto receiver, BackupReceiver::begin(folder));
  ASSAY_CHECK(pour(source, [&](std::string_view piece) -> Result<void> {
    if (stop.stop_requested()) return Error{.kind = ErrorKind::interrupted, .message = "it was time to stop"};
    return receiver->take(piece);
  }));
  return receiver->finish();
}

}  // namespace assay
