#include "backup/backup_desk.h"

#include <fmt/format.h>

#include "backup/backup_source.h"

namespace assay {
namespace {

// A disk that a backup fills up is worse than no backup.
constexpr std::uintmax_t kRoomToLeave = std::uintmax_t{64} << 20;

std::uintmax_t bytes_below(const fs::path& path) {
  std::error_code code;
  if (fs::is_regular_file(path, code)) return fs::file_size(path, code);
  std::uintmax_t bytes = 0;
  auto at = fs::recursive_directory_iterator(path, code);
  for (; !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
    std::error_code gone;
    const auto size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    bytes += gone ? 0 : size;
  }
  return bytes;
}

}  // namespace

class BackupDesk::Turn {
 public:
  explicit Turn(BackupDesk& desk) : desk_(desk) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    std::error_code ignored;
    fs::remove_all(desk_.copies_, ignored);
    desk_.taken_ = false;
  }

 private:
  BackupDesk& desk_;
};

BackupDesk::BackupDesk(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), copies_(options_.data / "leader" / "backup") {
  std::error_code ignored;
  fs::remove_all(copies_, ignored);
}

Result<void> BackupDesk::check_room() const {
  std::uintmax_t needed = kRoomToLeave;
  for (const auto& open : options_.open) needed += bytes_below(options_.data / open);
  std::error_code code;
  const auto space = fs::space(options_.data, code);
  if (code || space.available >= needed) return {};
  return Error{.kind = ErrorKind::io,
               .message = fmt::format("the leader's disk has {} MiB free, and copying its stores takes {} MiB",
                                      space.available >> 20, needed >> 20),
               .hint = "Make room there; or stop the leader and make the backup without it, which needs none."};
}

Result<std::shared_ptr<ByteSource>> BackupDesk::begin() {
  if (taken_.exchange(true)) {
    return Error{.kind = ErrorKind::busy, .message = "another backup is being made", .hint = "Wait for its end."};
  }
  auto turn = std::make_shared<Turn>(*this);
  ASSAY_CHECK(check_room());
  ASSAY_CHECK(make_folders(copies_));
  ASSAY_CHECK(options_.copy_open(copies_));
  return std::shared_ptr<ByteSource>(
      backup_source({.data = options_.data, .open = options_.open, .copies = copies_}, clock_.wall(), std::move(turn)));
}

Result<BackupSummary> BackupDesk::make(const fs::path& folder, const std::stop_token& stop) {
  ASSAY_TRY(const auto source, begin());
  return receive_backup(*source, folder, stop);
}

}  // namespace assay
