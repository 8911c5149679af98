#include "base/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace assay {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)), length_(text_.size()) {}
  Result<std::optional<std::string>> next() override {
    if (text_.empty()) return std::optional<std::string>();
    return std::optional(std::exchange(text_, {}));
  }
  std::optional<std::uint64_t> length() const override { return length_; }

 private:
  std::string text_;
  const std::uint64_t length_;
};

class FileSource final : public ByteSource {
 public:
  FileSource(FileDescriptor file, std::uint64_t length) : file_(std::move(file)), length_(length) {}
  Result<std::optional<std::string>> next() override {
    std::string piece(kPiece, '\0');
    for (;;) {
      const ssize_t count = ::read(file_.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error(errno, "cannot read the file");
      if (count == 0) return std::optional<std::string>();
      piece.resize(static_cast<std::size_t>(count));
      return std::optional(std::move(piece));
    }
  }
  std::optional<std::uint64_t> length() const override { return length_; }

 private:
  FileDescriptor file_;
  const std::uint64_t length_;
};

}  // namespace

Result<std::uint64_t> pour(ByteSource& source, const ByteSink& sink) {
  std::uint64_t bytes = 0;
  for (;;) {
    ASSAY_TRY(const auto piece, source.next());
    if (!piece) return bytes;
    bytes += piece->size();
    ASSAY_CHECK(sink(*piece));
  }
}

Result<std::string> read_all(ByteSource& source, std::size_t limit) {
  std::string all;
  ASSAY_CHECK(pour(source, [&](std::string_view piece) -> Result<void> {
    if (piece.size() > limit - all.size()) {
      return Error{.kind = ErrorKind::bad_file, .message = fmt::format("it has more than {} bytes", limit)};
    }
    all += piece;
    return {};
  }));
  return all;
}

std::unique_ptr<ByteSource> text_source(std::string text) { return std::make_unique<TextSource>(std::move(text)); }

Result<std::unique_ptr<ByteSource>> file_source(const fs::path& path) {
  ASSAY_TRY(auto file, open_file(path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return system_error(errno, fmt::format("cannot read '{}'", path.string()));
  if (!S_ISREG(info.st_mode)) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}' is not a file", path.string())};
  }
  return std::unique_ptr<ByteSource>(
      std::make_unique<FileSource>(std::move(file), static_cast<std::uint64_t>(info.st_size)));
}

}  // namespace assay
