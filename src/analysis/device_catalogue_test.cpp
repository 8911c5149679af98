#include "analysis/device_catalogue.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace assay {
namespace {

TEST(DeviceCatalogue, IsFoundByTheReportedName) {
  const auto* a100 = find_device("NVIDIA A100-SXM4-80GB");
  ASSERT_TRUE(a100);
  EXPECT_EQ(a100->name, "NVIDIA A100 80 GB SXM");
  EXPECT_EQ(a100->fp16_tflops, 312);
  EXPECT_EQ(a100->bandwidth_gb_per_s, 2039);
  EXPECT_EQ(find_device("nvidia a100-sxm4-40gb")->memory_gb, 40);
  EXPECT_EQ(find_device("Tesla T4"), find_device("NVIDIA T4"));
  EXPECT_FALSE(find_device("Tesla T4")->bandwidth_gb_per_s);
  EXPECT_EQ(find_device("AMD EPYC 9654 96-Core Processor")->kind, DeviceInfo::Kind::cpu);
}

TEST(DeviceCatalogue, DoesNotGuess) {
  EXPECT_FALSE(find_device("NVIDIA A100"));
  EXPECT_FALSE(find_device("NVIDIA L4 something"));
  EXPECT_FALSE(find_device(""));
  EXPECT_FALSE(find_device("|"));
}

TEST(DeviceCatalogue, EveryEntryIsSound) {
  std::set<std::string_view> names;
  for (const auto& device : device_catalogue()) {
    EXPECT_TRUE(names.insert(device.name).second) << device.name;
    EXPECT_FALSE(device.architecture.empty()) << device.name;
    EXPECT_EQ(find_device(device.reported.substr(0, device.reported.find('|'))), &device) << device.name;
    if (device.kind == DeviceInfo::Kind::gpu) {
      EXPECT_TRUE(device.memory_gb) << device.name;
    }
    if (device.fp16_tflops && device.fp32_tflops) {
      EXPECT_GT(*device.fp16_tflops, *device.fp32_tflops) << device.name;
    }
    for (const auto& figure : {device.memory_gb, device.fp32_tflops, device.fp16_tflops, device.bandwidth_gb_per_s}) {
      EXPECT_GT(figure.value_or(1), 0) << device.name;
    }
  }
}

}  // namespace
}  // namespace assay
