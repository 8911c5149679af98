#include <gtest/gtest.h>

#include <cstdlib>

#include "core/openmp.h"

int main(int argc, char** argv) {
  assay::engine::let_openmp_wait_politely(argv);
  // As in main.cpp: oneDNN's AMX kernels die of SIGILL in Debian's LibTorch.
  ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", 0);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
