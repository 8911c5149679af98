#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/units.h"

namespace assay {

/// What a specification asks of each GPU (`gpu.model`, `gpu.memory`, `gpu.linked`); all of it empty: any will do.
struct GpuTraits {
  std::string model;
  Bytes memory{};
  bool linked = false;  ///< with the others of the run on its node

  bool any() const { return model.empty() && memory.count == 0 && !linked; }
  bool fits(std::string_view gpu_model, Bytes gpu_memory) const;
};

GpuTraits gpu_traits(const json::object& spec);
/// For people: "H200 with 80 GiB".
std::string in_words(const GpuTraits& traits);

}  // namespace assay
