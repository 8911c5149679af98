#include "core/blas.h"

#include <gtest/gtest.h>

namespace assay::engine {
namespace {

std::string maps_with(const std::string& library) {
  return "55d0c0a00000-55d0c0a21000 rw-p 00000000 00:00 0                          [heap]\n"
         "7f1e40000000-7f1e44000000 r-xp 00021000 fe:01 1311 /usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13\n"
         "7f1e50000000-7f1e51000000 r--p 00000000 fe:01 1312 " +
         library + "\n7f1e60000000-7f1e60001000 r--p 00000000 fe:01 9 /usr/lib/x86_64-linux-gnu/libc.so.6\n";
}

TEST(Blas, is_the_library_that_is_loaded) {
  const std::pair<const char*, const char*> known[] = {
      {"/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so", "OpenBLAS"},
      {"/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3", "OpenBLAS"},
      {"/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0", "reference"},
      {"/usr/lib/x86_64-linux-gnu/blis-openmp/libblas.so.3", "BLIS"},
      {"/usr/lib/x86_64-linux-gnu/atlas/libblas.so.3", "ATLAS"},
      {"/opt/intel/oneapi/mkl/lib/libmkl_intel_thread.so.2", "MKL"},
      {"/usr/lib/aarch64-linux-gnu/libnvpl_blas_core.so.0", "NVPL"},
  };
  for (const auto& [library, name] : known) {
    const Blas blas = blas_from(maps_with(library), "generic");
    EXPECT_EQ(blas.name, name) << library;
    EXPECT_EQ(blas.library, library);
  }
}

TEST(Blas, without_a_library_is_what_torch_was_built_with) {
  const std::string maps = maps_with("/usr/lib/x86_64-linux-gnu/libcublas.so.13");
  EXPECT_EQ(blas_from(maps, "mkl").name, "MKL");
  EXPECT_EQ(blas_from(maps, "open").name, "OpenBLAS");
  EXPECT_EQ(blas_from(maps, "accelerate").name, "accelerate");
  EXPECT_EQ(blas_from(maps, "none").name, "none");
  EXPECT_EQ(blas_from(maps, "").name, "unknown");
  EXPECT_EQ(blas_from("", "mkl").library, "");
}

}  // namespace
}  // namespace assay::engine
