#pragma once

#include <cstddef>

namespace assay {

/// What a reader of server-sent events puts up with.
struct SseLimits {
  std::size_t line_bytes = std::size_t{1} << 20;
  std::size_t event_bytes = std::size_t{4} << 20;
};

}  // namespace assay
