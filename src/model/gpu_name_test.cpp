#include "model/gpu_name.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(GpuName, IsKnownByItsWords) {
  EXPECT_TRUE(is_gpu_named("NVIDIA H200", "H200"));
  EXPECT_TRUE(is_gpu_named("NVIDIA H200", "nvidia h200"));
  EXPECT_TRUE(is_gpu_named("NVIDIA A100-SXM4-80GB", "A100"));
  EXPECT_TRUE(is_gpu_named("NVIDIA A100-SXM4-80GB", "a100 sxm4"));
  EXPECT_TRUE(is_gpu_named("anything", ""));
  EXPECT_TRUE(is_gpu_named("", ""));
}

TEST(GpuName, PartsOfWordsAreOtherModels) {
  EXPECT_FALSE(is_gpu_named("NVIDIA A100-SXM4-80GB", "A10"));
  EXPECT_FALSE(is_gpu_named("NVIDIA A100-SXM4-80GB", "A100 80GB")) << "they do not follow each other";
  EXPECT_FALSE(is_gpu_named("NVIDIA H200", "H100"));
  EXPECT_FALSE(is_gpu_named("", "H200")) << "not known is not what was asked for";
}

}  // namespace
}  // namespace assay
