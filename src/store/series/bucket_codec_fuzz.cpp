#include <cstdint>
#include <cstdlib>
#include <string>

#include "store/series/bucket_codec.h"

// Any bytes: decode must neither crash nor read beyond them, and what it accepts must survive a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto buckets = assay::decode_buckets({reinterpret_cast<const char*>(data), size});
  if (!buckets.ok()) return 0;
  std::string bytes;
  assay::encode_buckets(*buckets, bytes);
  const auto again = assay::decode_buckets(bytes);
  if (!again.ok() || again->size() != buckets->size()) std::abort();
  std::string second;
  assay::encode_buckets(*again, second);
  if (second != bytes) std::abort();
  return 0;
}
