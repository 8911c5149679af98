#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/blas.h"

namespace assay::engine {

/// One CUDA device as LibTorch sees it.
struct CudaDevice {
  std::string uuid;  ///< "GPU-…"
  std::string name;
  std::int64_t memory_bytes = 0;
  std::string capability;  ///< "9.0"
};

struct CudaFacts {
  bool built = false;  ///< this engine was compiled with CUDA
  bool available = false;
  std::string toolkit;  ///< "13.0", that LibTorch was built with
  std::string problem;  ///< why a CUDA engine cannot use CUDA here; else empty
  std::vector<CudaDevice> devices;
};

// Everything below asks the loaded LibTorch; nothing is assumed from how the engine was compiled alone.

std::string torch_version();
CudaFacts cuda_facts();
Blas blas_in_use();

/// Whether LibTorch brings the process group, and NCCL's version ("2.28.9"; empty without NCCL).
bool has_gloo();
bool has_nccl();
std::string nccl_version();

}  // namespace assay::engine
