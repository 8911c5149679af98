#include "machine/nvidia.h"

#include <gmock/gmock.h>

#include "machine/fake_machine.h"

namespace assay {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

TEST(Nvidia, an_h200) {
  const auto gpus = gpus_from(machine_fixture_text("nvidia-smi/h200-full.csv"));
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].info, (GpuInfo{.uuid = "GPU-a9449dfe-e9df-13cb-f842-5d34a377472e",
                                   .name = "NVIDIA H200",
                                   .memory_bytes = 143771 * kMebibyte}));
  EXPECT_EQ(gpus[0].driver, "580.159.04");
  EXPECT_EQ(gpus[0].persistence, true);
  EXPECT_EQ(gpus[0].uncorrected_errors, 0);
  EXPECT_EQ(gpus[0].temperature_c, 35);
  EXPECT_EQ(gpus[0].utilization_percent, 0);
}

TEST(Nvidia, the_first_four_fields_are_enough) {
  const auto gpus = gpus_from(machine_fixture_text("nvidia-smi/h200.csv"));
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].info.name, "NVIDIA H200");
  EXPECT_EQ(gpus[0].persistence, std::nullopt);
  EXPECT_EQ(gpus[0].temperature_c, std::nullopt);
}

TEST(Nvidia, eight_a100) {
  const auto gpus = gpus_from(machine_fixture_text("nvidia-smi/a100x8-full.csv"));
  ASSERT_EQ(gpus.size(), 8u);
  for (const auto& gpu : gpus) {
    EXPECT_EQ(gpu.info.name, "NVIDIA A100-SXM4-80GB");
    EXPECT_EQ(gpu.info.memory_bytes, 81920 * kMebibyte);
    EXPECT_EQ(gpu.persistence, false);
  }
  EXPECT_EQ(gpus[5].uncorrected_errors, 3);
  EXPECT_EQ(gpus[2].temperature_c, 84);
}

TEST(Nvidia, what_a_gpu_does_not_have_is_absent_not_zero) {
  const auto mig = gpus_from(machine_fixture_text("nvidia-smi/mig-full.csv"));
  ASSERT_EQ(mig.size(), 1u) << "the warning in front is no GPU";
  EXPECT_EQ(mig[0].uncorrected_errors, std::nullopt);
  EXPECT_EQ(mig[0].utilization_percent, std::nullopt);
  EXPECT_EQ(mig[0].temperature_c, 29);
  const auto geforce = gpus_from(machine_fixture_text("nvidia-smi/geforce-full.csv"));
  ASSERT_EQ(geforce.size(), 1u);
  EXPECT_EQ(geforce[0].info.memory_bytes, 0);
  EXPECT_EQ(geforce[0].uncorrected_errors, std::nullopt);
  EXPECT_EQ(geforce[0].temperature_c, std::nullopt);
  EXPECT_EQ(geforce[0].utilization_percent, std::nullopt);
}

TEST(Nvidia, texts_that_are_no_list) {
  EXPECT_TRUE(gpus_from(machine_fixture_text("nvidia-smi/mismatch.txt")).empty());
  EXPECT_TRUE(gpus_from("No devices were found\n").empty());
  EXPECT_TRUE(gpus_from("").empty());
  EXPECT_TRUE(gpus_from("\xff\xfe,,,,\n,\n").empty());
  EXPECT_EQ(gpus_from("GPU-1\r\n").size(), 1u);
}

TEST(Nvidia, processes) {
  const auto processes = gpu_processes_from(machine_fixture_text("nvidia-smi/h200-processes.csv"));
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].gpu_uuid, "GPU-a9449dfe-e9df-13cb-f842-5d34a377472e");
  EXPECT_EQ(processes[0].pid, 407);
  EXPECT_EQ(processes[0].name, "python3");
  EXPECT_EQ(processes[0].memory_bytes, 1634 * kMebibyte);
}

TEST(Nvidia, process_names_with_commas_and_hidden_ones) {
  const auto processes = gpu_processes_from(machine_fixture_text("nvidia-smi/mig-processes.csv"));
  ASSERT_EQ(processes.size(), 2u) << "a line without a pid is no process";
  EXPECT_EQ(processes[0].name, "/usr/bin/python3 -c import torch, numpy");
  EXPECT_EQ(processes[0].memory_bytes, std::nullopt);
  EXPECT_EQ(processes[1].name, "");
  EXPECT_EQ(processes[1].memory_bytes, 512 * kMebibyte);
  EXPECT_TRUE(gpu_processes_from("").empty());
  EXPECT_TRUE(gpu_processes_from("GPU-1\nGPU-1,2\nGPU-1,2,3\n,,,\n").empty());
}

TEST(Nvidia, driver_version_of_open_and_closed_kernel_modules) {
  EXPECT_EQ(driver_version_from(machine_fixture_text("h200-vm/proc/driver/nvidia/version")), "580.159.04");
  EXPECT_EQ(driver_version_from("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 22:51:05 UTC "
                                "2024\nGCC version:  gcc version 11.4.0\n"),
            "535.161.08");
  EXPECT_EQ(driver_version_from("GCC version: 11.4.0\n"), "");
  EXPECT_EQ(driver_version_from(""), "");
}

TEST(Nvidia, smi_is_tried_only_where_something_of_nvidia_is) {
  FakeMachine machine;
  machine.environment["PATH"] = "/usr/local/bin::/usr/bin";
  EXPECT_FALSE(may_have_nvidia(machine.view()));
  machine.write("/usr/bin/nvidia-smi", "not executable");
  EXPECT_FALSE(may_have_nvidia(machine.view()));
  fs::permissions(machine.view().root / "usr/bin/nvidia-smi", fs::perms::owner_all);
  EXPECT_TRUE(may_have_nvidia(machine.view()));
  machine.remove("/usr");
  EXPECT_FALSE(may_have_nvidia(machine.view()));
  machine.write("/dev/nvidiactl", "");
  EXPECT_TRUE(may_have_nvidia(machine.view()));
  machine.remove("/dev");
  machine.write("/proc/driver/nvidia/version", "");
  EXPECT_TRUE(may_have_nvidia(machine.view()));
}

}  // namespace
}  // namespace assay
