#include "protocol/batch.h"

#include <cstdint>
#include <cstdlib>

// Whatever decodes must encode again to something that decodes to as much.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (const auto frame = assay::take_framed(rest)) {
    const auto batch = assay::decode_batch(*frame);
    if (!batch) continue;
    const auto again = assay::decode_batch(assay::encode_batch(*batch));
    if (!again || again->samples.size() != batch->samples.size() || again->series != batch->series) std::abort();
  }
  return 0;
}
