#include <cstdlib>

#include "model/load_profile.h"

// A profile that is read can be drawn, and is read again as it was written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = assay::parse_json({reinterpret_cast<const char*>(data), size});
  if (!value) return 0;
  const auto profile = assay::load_profile_from_json(*value);
  if (!profile) return 0;
  for (const auto* times :
       {&profile->latency, &profile->first_token, &profile->per_output_token, &profile->inter_token}) {
    if (times->quantiles_ns.size() > assay::kMostQuantiles || times->quantiles_ns.empty() != (times->count == 0))
      std::abort();
  }
  if (!assay::load_profile_from_json(assay::to_json(*profile))) std::abort();
  return 0;
}
