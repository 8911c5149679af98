#pragma once

#include <string>
#include <string_view>

namespace assay::engine {

/// The BLAS that this process multiplies matrices with on the CPU.
struct Blas {
  std::string name;     ///< "OpenBLAS", "MKL", "BLIS", "ATLAS", "reference" (correct, but slow), "none", or "unknown"
  std::string library;  ///< the loaded file; empty when it is part of LibTorch itself
};

/// `built_in` is what LibTorch says it was built with ("mkl", "open", …), `maps` the text of /proc/self/maps.
/// A loaded library decides over what LibTorch was built with: distributions exchange it behind one file name.
Blas blas_from(std::string_view maps, std::string_view built_in);

/// Threads of a BLAS that has its own (OpenBLAS); LibTorch sets those of the others.
void set_blas_threads(int threads);

}  // namespace assay::engine
