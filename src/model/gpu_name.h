#pragma once

#include <string_view>

namespace assay {

/// Whether a GPU of that model is one that was asked for: the words of `wish` follow each other in the model's name,
/// whatever their case. "H200" is an "NVIDIA H200"; "A10" is no "NVIDIA A100-SXM4-80GB". An empty wish is any.
bool is_gpu_named(std::string_view model, std::string_view wish);

}  // namespace assay
