#include "spec/gpu_traits.h"

#include <fmt/format.h>

#include "model/gpu_name.h"
#include "spec/spec.h"

namespace assay {

bool GpuTraits::fits(std::string_view gpu_model, Bytes gpu_memory) const {
  return is_gpu_named(gpu_model, model) && gpu_memory >= memory;
}

GpuTraits gpu_traits(const json::object& spec) {
  GpuTraits traits;
  const auto* model = find_setting(spec, "gpu.model");
  if (model && model->is_string()) traits.model = std::string(model->get_string());
  const auto* memory = find_setting(spec, "gpu.memory");
  if (memory && memory->is_int64()) traits.memory = {memory->get_int64()};
  const auto* linked = find_setting(spec, "gpu.linked");
  traits.linked = linked && linked->is_bool() && linked->get_bool();
  return traits;
}

std::string in_words(const GpuTraits& traits) {
  std::string words = traits.model.empty() ? "a GPU" : traits.model;
  if (traits.memory.count > 0) words += " with " + format_bytes(traits.memory);
  return words;
}

}  // namespace assay
