#include "store/series_question.h"

#include <cstdint>
#include <cstdlib>

// A question that is understood asks for a time that exists.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto query = assay::parse_series_question(text, assay::WallTime(std::chrono::seconds(1'760'000'000)));
  if (query && query->range.from_ns >= query->range.to_ns) std::abort();
  return 0;
}
