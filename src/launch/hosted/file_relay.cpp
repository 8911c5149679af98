#include "launch/hosted/file_relay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "base/text.h"

namespace assay {
namespace {

bool stays_inside(const fs::path& path) {
  return !path.empty() && !path.is_absolute() &&
         std::all_of(path.begin(), path.end(), [](const fs::path& part) { return is_file_name(part.string()); });
}

}  // namespace

FileSender::FileSender(fs::path folder) : folder_(std::move(folder)) {
  std::error_code code;
  fs::recursive_directory_iterator entry(folder_, code);
  while (!code && entry != fs::recursive_directory_iterator()) {
    std::error_code unreadable;
    if (entry->is_regular_file(unreadable) && !entry->is_symlink(unreadable)) files_.push_back(entry->path());
    entry.increment(code);
  }
  // Taken from the end.
  std::sort(files_.rbegin(), files_.rend());
}

Result<bool> FileSender::step(std::string& lines, std::size_t about) {
  const std::size_t enough = lines.size() + about;
  std::string piece;
  while (lines.size() < enough && (open_ || !files_.empty())) {
    if (!open_) {
      const auto path = files_.back();
      files_.pop_back();
      ASSAY_TRY(open_, open_file(path, O_RDONLY));
      sent_ = 0;
      lines +=
          relay_lines({.kind = RelayKind::file,
                       .payload = json::serialize(json::object{{"path", path.lexically_relative(folder_).string()}})});
    }
    piece.resize(kMostRelayBytes);
    const ssize_t got = ::read(open_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "cannot read a file of the job");
    if (got == 0) {
      open_.reset();
      continue;
    }
    piece.resize(static_cast<std::size_t>(got));
    lines += relay_lines({.kind = RelayKind::bytes, .offset = sent_, .payload = piece});
    sent_ += piece.size();
  }
  return open_ || !files_.empty();
}

Result<void> FileReceiver::begin(std::string_view record) {
  ASSAY_TRY(const auto value, parse_json(record));
  JsonFields fields(value, "a file of the job");
  const fs::path path = fields.text("path");
  ASSAY_CHECK(fields.finish());
  if (!stays_inside(path)) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' is not a path for a file of a job", printable(path.string()))};
  }
  open_.reset();
  std::error_code code;
  passed_over_ = fs::exists(fs::symlink_status(folder_ / path, code)) && !mine_.contains(path.string());
  if (passed_over_) return {};
  mine_.insert(path.string());
  ASSAY_CHECK(make_folders((folder_ / path).parent_path()));
  ASSAY_TRY(open_, open_file(folder_ / path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  return {};
}

Result<void> FileReceiver::add(const RelayFrame& bytes) {
  if (passed_over_) return {};
  if (!open_ || static_cast<std::uint64_t>(::lseek(open_.get(), 0, SEEK_CUR)) != bytes.offset) {
    return Error{.kind = ErrorKind::bad_file, .message = "bytes of a file that was not begun, or some are missing"};
  }
  return write_all(open_.get(), bytes.payload);
}

}  // namespace assay
