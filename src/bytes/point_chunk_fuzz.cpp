#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "bytes/point_chunk.h"

// Any bytes: decode must neither crash nor read beyond them, and what it accepts must survive a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto points = assay::decode_chunk({reinterpret_cast<const char*>(data), size});
  if (!points.ok()) return 0;
  std::string bytes;
  assay::encode_chunk(*points, bytes);
  const auto again = assay::decode_chunk(bytes);
  if (!again.ok() || again->size() != points->size()) std::abort();
  if (std::memcmp(again->data(), points->data(), points->size() * sizeof(assay::SeriesPoint)) != 0) std::abort();
  return 0;
}
