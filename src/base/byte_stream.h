#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// Where many bytes come from, piece by piece: a file, the body of a request that arrives, an answer that is being
/// made. Whoever takes them asks for the next piece once it is done with the last, so memory holds one piece and not
/// the whole. One caller at a time, on changing threads; not called again after the end or an error.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// The next piece, 64 to 256 KiB being a good size; nothing at the end. May block. One that is empty says only that
  /// there is more to come.
  virtual Result<std::optional<std::string>> next() = 0;
  /// How many bytes come all together, where that is known from the start. Then it is a promise.
  virtual std::optional<std::uint64_t> length() const { return std::nullopt; }
};

/// Takes bytes piece by piece; may block. An error ends the taking, and is what the caller gets.
using ByteSink = std::function<Result<void>(std::string_view piece)>;

/// Takes all of a source, and hands it on. The number of bytes.
Result<std::uint64_t> pour(ByteSource& source, const ByteSink& sink);
/// All of a source that is known to be small. `bad_file` where it is more than `limit`.
Result<std::string> read_all(ByteSource& source, std::size_t limit);

/// Bytes that are in memory anyway.
std::unique_ptr<ByteSource> text_source(std::string text);
/// A file, from its beginning. `missing_file`, `denied`, …; `usage` for what is no regular file.
Result<std::unique_ptr<ByteSource>> file_source(const fs::path& path);

}  // namespace assay
