#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

/// Where the bytes of a body come from, piece by piece: of a request that arrives, of an answer or an upload that is
/// being made. Whoever takes them asks for the next piece once it is done with the last, so memory holds one piece and
/// not the body. One caller at a time, on changing threads; not called again after the end or an error.
class BodySource {
 public:
  virtual ~BodySource() = default;

  /// The next piece, 64 to 256 KiB being a good size; nothing at the end. May block.
  virtual Result<std::optional<std::string>> next() = 0;
  /// How many bytes come all together, where that is known from the start. Then it is a promise: a body of another
  /// length is broken off.
  virtual std::optional<std::uint64_t> length() const { return std::nullopt; }
};

/// Takes the body of an answer piece by piece; may block. An error ends the receiving, and is what the caller gets.
using BodySink = std::function<Result<void>(std::string_view piece)>;

/// Takes all of a source, and hands it on. The number of bytes.
Result<std::uint64_t> pour(BodySource& source, const BodySink& sink);

}  // namespace assay
