#include <gmock/gmock.h>

#include "machine/cgroup.h"
#include "machine/doctor_checks.h"
#include "machine/fake_machine.h"

namespace assay {
namespace {

using testing::HasSubstr;
using Level = DoctorFinding::Level;

class DoctorCpu : public testing::Test {
 protected:
  DoctorCpu() { machine_.copy_from(machine_fixture("h200-vm")); }

  void set_governor(int core, const std::string& governor) {
    machine_.write("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_governor", governor + "\n");
  }

  FakeMachine machine_;
};

TEST_F(DoctorCpu, governor) {
  EXPECT_EQ(check_cpu_governor(machine_.view()).level, Level::ok) << "none visible in a virtual machine";
  for (int core = 0; core < 16; ++core) set_governor(core, "performance");
  const auto good = check_cpu_governor(machine_.view());
  EXPECT_EQ(good.level, Level::ok);
  EXPECT_EQ(good.found, "performance on 16 of 16 cores");
  EXPECT_EQ(good.remedy, "");
  for (int core = 0; core < 4; ++core) set_governor(core, "powersave");
  const auto mixed = check_cpu_governor(machine_.view());
  EXPECT_EQ(mixed.level, Level::warning);
  EXPECT_EQ(mixed.found, "performance on 12 of 16 cores, powersave on 4 of 16 cores");
  EXPECT_THAT(mixed.remedy, HasSubstr("cpupower"));
}

TEST_F(DoctorCpu, cores) {
  EXPECT_EQ(check_cpu_cores(machine_.view()).level, Level::ok);
  EXPECT_EQ(check_cpu_cores(machine_.view()).found, "all 16 cores may be used");
  machine_.write("/proc/self/status", "Cpus_allowed_list:\t0-3\n");
  const auto few = check_cpu_cores(machine_.view());
  EXPECT_EQ(few.level, Level::note);
  EXPECT_EQ(few.found, "4 of 16 cores may be used");
}

TEST_F(DoctorCpu, a_cpu_quota_is_a_warning) {
  machine_.write("/proc/self/cgroup", "0::/docker/abc\n");
  machine_.write("/sys/fs/cgroup/docker/cpu.max", "150000 100000\n");
  machine_.write("/sys/fs/cgroup/docker/abc/cpu.max", "max 100000\n");
  const auto throttled = check_cpu_cores(machine_.view());
  EXPECT_EQ(throttled.level, Level::warning);
  EXPECT_EQ(throttled.found, "16 cores, but CPU time for 1.5 only");
  machine_.write("/sys/fs/cgroup/docker/cpu.max", "1600000 100000\n");
  EXPECT_EQ(check_cpu_cores(machine_.view()).level, Level::ok) << "a quota for all cores throttles nothing";
}

TEST_F(DoctorCpu, cgroup_limits_of_version_1_and_hostile_ones) {
  machine_.write("/proc/self/cgroup", "4:cpu,cpuacct:/job\n9:memory:/job\n0::/\n");
  machine_.write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "400000\n");
  machine_.write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  machine_.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  machine_.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  machine_.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000\n");
  machine_.write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "400\n");
  machine_.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(cgroup_cpu_limit(machine_.view()), 4.0);
  ASSERT_TRUE(cgroup_memory(machine_.view()));
  EXPECT_EQ(cgroup_memory(machine_.view())->limit_bytes, 1000);
  EXPECT_EQ(cgroup_memory(machine_.view())->used_bytes, 400);
  machine_.write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "0\n");
  EXPECT_EQ(cgroup_cpu_limit(machine_.view()), std::nullopt);
  for (const char* strange : {"", "garbage", "0:", "::", "0::relative", "0::/../../.."}) {
    machine_.write("/proc/self/cgroup", strange);
    EXPECT_EQ(cgroup_cpu_limit(machine_.view()), std::nullopt) << strange;
  }
}

TEST_F(DoctorCpu, load) {
  EXPECT_EQ(check_load(machine_.view()).level, Level::ok);
  machine_.write("/proc/loadavg", "9.50 4.00 3.00 2/300 999\n");
  const auto busy = check_load(machine_.view());
  EXPECT_EQ(busy.level, Level::warning);
  EXPECT_EQ(busy.found, "9.50 in the last minute on 16 cores");
  machine_.remove("/proc/loadavg");
  EXPECT_EQ(check_load(machine_.view()).found, "not known");
}

TEST_F(DoctorCpu, smt) {
  EXPECT_EQ(check_smt(machine_.view()).level, Level::ok);
  machine_.write("/sys/devices/system/cpu/smt/active", "1\n");
  EXPECT_EQ(check_smt(machine_.view()).level, Level::note);
  machine_.remove("/sys/devices/system/cpu/smt");
  EXPECT_EQ(check_smt(machine_.view()).found, "not visible");
}

TEST_F(DoctorCpu, memory) {
  EXPECT_EQ(check_memory(machine_.view()).level, Level::ok);
  machine_.write("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 1000000 kB\n");
  EXPECT_EQ(check_memory(machine_.view()).level, Level::warning);
  machine_.write("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 100000 kB\n");
  EXPECT_EQ(check_memory(machine_.view()).level, Level::problem);
  EXPECT_NE(check_memory(machine_.view()).remedy, "");
  machine_.remove("/proc/meminfo");
  EXPECT_EQ(check_memory(machine_.view()).found, "not known");
}

TEST_F(DoctorCpu, memory_within_the_limit_of_a_cgroup) {
  machine_.write("/proc/self/cgroup", "0::/job\n");
  machine_.write("/sys/fs/cgroup/job/memory.max", "2147483648\n");
  machine_.write("/sys/fs/cgroup/job/memory.current", "2040109466\n");
  const auto tight = check_memory(machine_.view());
  EXPECT_EQ(tight.level, Level::problem);
  EXPECT_THAT(tight.found, HasSubstr("the limit of its cgroup"));
}

TEST_F(DoctorCpu, swap) {
  EXPECT_EQ(check_swap(machine_.view()).found, "none");
  machine_.write("/proc/meminfo", "SwapTotal: 8388608 kB\nSwapFree: 8388000 kB\n");
  EXPECT_EQ(check_swap(machine_.view()).level, Level::ok);
  machine_.write("/proc/meminfo", "SwapTotal: 8388608 kB\nSwapFree: 4194304 kB\n");
  const auto swapping = check_swap(machine_.view());
  EXPECT_EQ(swapping.level, Level::warning);
  EXPECT_THAT(swapping.found, HasSubstr("in use"));
}

}  // namespace
}  // namespace assay
