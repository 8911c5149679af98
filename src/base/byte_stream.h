#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// Bytes that come piece by piece: a file, an answer over the network. Nobody holds all of them. One thread.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// How many there are in all, where that is known.
  virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
  /// Fills the beginning of `into`, which is not empty; how much of it. 0: there are no more.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
};

/// Bytes that are in memory anyway.
class TextSource final : public ByteSource {
 public:
  /// `text` must outlive it.
  explicit TextSource(std::string_view text) : rest_(text), size_(text.size()) {}
  std::optional<std::uint64_t> size() const override { return size_; }
  Result<std::size_t> read(std::span<char> into) override;

 private:
  std::string_view rest_;
  std::uint64_t size_;
};

/// A file, from its beginning.
class FileSource final : public ByteSource {
 public:
  /// `missing_file`, `denied`, …; `usage` for what is no regular file.
  static Result<FileSource> open(const fs::path& path);
  std::optional<std::uint64_t> size() const override { return size_; }
  Result<std::size_t> read(std::span<char> into) override;

 private:
  FileSource(FileDescriptor file, std::uint64_t size) : file_(std::move(file)), size_(size) {}
  FileDescriptor file_;
  std::uint64_t size_;
};

/// Everything that is left, for what is known to be small. `bad_file` where it is more than `limit`.
Result<std::string> read_all(ByteSource& source, std::size_t limit);
/// Hands everything that is left to `take`, in pieces of up to a quarter of a megabyte.
Result<void> copy_all(ByteSource& source, const std::function<Result<void>(std::string_view)>& take);

}  // namespace assay
