#include <cstdint>
#include <cstdlib>

#include "store/run_place.h"

// A place that is understood is written as one that is understood, and the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr const char* kSorts[] = {"created", "name", "metrics.loss"};
  assay::RunQuery query{.sort = kSorts[size % 3], .descending = size % 2 == 0};
  query.after.assign(reinterpret_cast<const char*>(data), size);
  const auto place = assay::read_place(query);
  if (!place) return 0;
  query.after = assay::write_place(*place);
  const auto again = assay::read_place(query);
  if (!again || again->tie != place->tie || again->text != place->text || again->number != place->number) std::abort();
  return 0;
}
