#include "machine/facts.h"

#include <gtest/gtest.h>

#include "machine/fake_machine.h"

namespace assay {
namespace {

TEST(Facts, os_name) {
  EXPECT_EQ(os_name_from(machine_fixture_text("h200-vm/etc/os-release")), "Ubuntu 24.04.3 LTS");
  EXPECT_EQ(os_name_from("NAME='Rocky Linux'\nVERSION_ID=\"9.4\"\n"), "Rocky Linux 9.4");
  EXPECT_EQ(os_name_from("NAME=Arch\n"), "Arch");
  EXPECT_EQ(os_name_from(""), "");
  EXPECT_EQ(os_name_from("\"\nPRETTY_NAME=\"\n"), "\"");
}

TEST(Facts, cpu_model_of_x86_is_the_first_model_name) {
  EXPECT_EQ(cpu_model_from(machine_fixture_text("h200-vm/proc/cpuinfo")), "Intel(R) Xeon(R) Processor");
}

TEST(Facts, cpu_model_of_other_processors) {
  EXPECT_EQ(cpu_model_from(machine_fixture_text("cpuinfo/grace.txt")), "ARM Neoverse-V2");
  EXPECT_EQ(cpu_model_from(machine_fixture_text("cpuinfo/unknown-arm.txt")), "ARM implementer 0x61 part 0x22");
  EXPECT_EQ(cpu_model_from(machine_fixture_text("cpuinfo/power9.txt")), "POWER9, altivec supported");
  EXPECT_EQ(cpu_model_from("CPU implementer : zebra\nCPU part : 1\n"), "");
  EXPECT_EQ(cpu_model_from(""), "");
}

TEST(Facts, memory) {
  const auto memory =
      memory_from("MemTotal:  131980916 kB\nMemAvailable: 1000 kB\nHugePages_Total: 7\nSwapTotal: 5 kB\n");
  EXPECT_EQ(memory.total, std::int64_t{131980916} * 1024);
  EXPECT_EQ(memory.available, 1024000);
  EXPECT_EQ(memory.swap_total, 5120);
  EXPECT_EQ(memory.swap_free, std::nullopt);
  EXPECT_EQ(memory_from("MemTotal: many kB\n").total, std::nullopt);
}

TEST(Facts, count_of_list) {
  EXPECT_EQ(count_of_list("0-15\n"), 16);
  EXPECT_EQ(count_of_list("0-3,8,10-11"), 7);
  EXPECT_EQ(count_of_list("5"), 1);
  for (const char* wrong : {"", "x", "3-1", "1-", "-1", "0-3,", "0-99999999999"}) {
    EXPECT_EQ(count_of_list(wrong), std::nullopt) << wrong;
  }
}

TEST(Facts, whole_number_takes_nothing_else) {
  EXPECT_EQ(whole_number("42"), 42);
  EXPECT_EQ(whole_number("-1"), -1);
  for (const char* wrong : {"", " 42", "42 ", "4.2", "0x10", "99999999999999999999"}) {
    EXPECT_EQ(whole_number(wrong), std::nullopt) << wrong;
  }
}

TEST(Facts, cores_come_from_the_affinity_of_this_process) {
  FakeMachine machine;
  machine.write("/proc/self/status", "Name:\tassay\nCpus_allowed_list:\t0-3,64-67\n");
  EXPECT_EQ(usable_cores(machine.view()), 8);
}

TEST(Facts, without_that_line_the_kernel_is_asked) {
  FakeMachine machine;
  machine.write("/proc/self/status", "Name:\tassay\n");
  EXPECT_GE(usable_cores(machine.view()), 1);
}

TEST(Facts, governors_of_the_cores_that_have_one) {
  FakeMachine machine;
  machine.write("/sys/devices/system/cpu/possible", "0-7\n");
  machine.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  machine.write("/sys/devices/system/cpu/cpu6/cpufreq/scaling_governor", "performance\n");
  EXPECT_EQ(governors(machine.view()), (std::vector<std::string>{"powersave", "performance"}));
}

}  // namespace
}  // namespace assay
