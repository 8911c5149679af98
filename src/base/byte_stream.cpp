#include "base/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace assay {
namespace {

constexpr std::size_t kCopyPiece = std::size_t{256} << 10;

}  // namespace

Result<std::size_t> TextSource::read(std::span<char> into) {
  const auto count = std::min(into.size(), rest_.size());
  std::memcpy(into.data(), rest_.data(), count);
  rest_.remove_prefix(count);
  return count;
}

Result<FileSource> FileSource::open(const fs::path& path) {
  ASSAY_TRY(auto file, open_file(path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return system_error(errno, fmt::format("cannot read '{}'", path.string()));
  if (!S_ISREG(info.st_mode)) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}' is not a file", path.string())};
  }
  return FileSource(std::move(file), static_cast<std::uint64_t>(info.st_size));
}

Result<std::size_t> FileSource::read(std::span<char> into) {
  for (;;) {
    const ssize_t count = ::read(file_.get(), into.data(), into.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return system_error(errno, "cannot read the file");
  }
}

Result<std::string> read_all(ByteSource& source, std::size_t limit) {
  std::string all;
  ASSAY_CHECK(copy_all(source, [&](std::string_view piece) -> Result<void> {
    if (piece.size() > limit - all.size()) {
      return Error{.kind = ErrorKind::bad_file, .message = fmt::format("more than {} bytes", limit)};
    }
    all += piece;
    return {};
  }));
  return all;
}

Result<void> copy_all(ByteSource& source, const std::function<Result<void>(std::string_view)>& take) {
  std::vector<char> buffer(kCopyPiece);
  for (;;) {
    ASSAY_TRY(const auto count, source.read(buffer));
    if (count == 0) return {};
    ASSAY_CHECK(take({buffer.data(), count}));
  }
}

}  // namespace assay
