#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/encoded_text.h"
#include "formats/train_spec.h"

namespace assay::engine {

/// A local text as samples of `seq_length` + 1 tokens.
struct TextOptions {
  std::string path;
  std::int64_t seq_length = 512;
  std::optional<std::int64_t> samples;  ///< the first ones of the file; absent: all
  std::optional<TextEncoder> encoder;   ///< absent: one token per byte
  bool encode_ahead = true;
};

/// How sample i is cut, T being `seq_length`:
/// - Bytes, or encoded ahead: tokens i·T … i·T + T, so that each token but the first is a target once. A rest at the
///   end that fills no sample is left out. Tokens encoded ahead stay in memory, 4 bytes each.
/// - Encoded on the fly: the bytes from i·W on, W = 5·(T + 1) (English text has fewer than 5 per token), encoded each
///   time they are asked for; cut after T + 1 tokens or, where there are fewer, repeated from the first.
///
/// Throws Failure: `missing_file`; `bad_file` where the file has not one sample; `bad_spec` where it has fewer than
/// `samples`.
std::unique_ptr<Dataset> open_text(const TextOptions& options);

}  // namespace assay::engine
