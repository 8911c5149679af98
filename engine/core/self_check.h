#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "core/torch_facts.h"

namespace assay::engine {

/// A bf16 matrix product, really computed and held against the fp32 product of the same numbers.
struct Bf16Check {
  bool usable = false;
  double largest_error = 0;  ///< relative to the largest element
  std::string problem;       ///< why it is not usable; else empty
};

/// What `assay-engine check` found out. Takes about a second and uses every core meanwhile.
struct SelfCheck {
  std::string torch;
  int threads = 0;
  Blas blas;
  double fp32_gflops = 0;  ///< best of several 512³ products: tells a fast BLAS from a missing one
  Bf16Check bf16_cpu;
  std::optional<Bf16Check> bf16_cuda;
  CudaFacts cuda;
  bool gloo = false;
  bool nccl = false;
  std::string nccl_version;
};

/// Throws what LibTorch throws.
SelfCheck check_this_machine();

boost::json::object to_json(const SelfCheck& check);
/// For people; ends with a newline.
std::string to_text(const SelfCheck& check);

}  // namespace assay::engine
