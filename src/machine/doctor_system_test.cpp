#include <gmock/gmock.h>

#include "machine/doctor_checks.h"
#include "machine/fake_machine.h"

namespace assay {
namespace {

using testing::HasSubstr;
using Level = DoctorFinding::Level;

WallTime day(int year) { return std::chrono::sys_days(std::chrono::year(year) / 6 / 15); }

class DoctorSystem : public testing::Test {
 protected:
  DoctorSystem() { machine_.copy_from(machine_fixture("h200-vm")); }

  FakeMachine machine_;
};

TEST_F(DoctorSystem, clock) {
  EXPECT_EQ(check_clock({.now = day(2026), .synchronised = true}).level, Level::ok);
  EXPECT_EQ(check_clock({.now = day(2026), .synchronised = std::nullopt}).level, Level::ok);
  const auto drifting = check_clock({.now = day(2026), .synchronised = false});
  EXPECT_EQ(drifting.level, Level::warning);
  EXPECT_EQ(drifting.found, "2026-06-15T00:00:00.000Z, not synchronised");
  EXPECT_EQ(check_clock({.now = day(1970), .synchronised = true}).level, Level::problem);
  EXPECT_EQ(check_clock({.now = day(2150), .synchronised = true}).level, Level::problem);
}

TEST_F(DoctorSystem, clock_kept_by_systemd) {
  machine_.write("/run/systemd/timesync/synchronized", "");
  EXPECT_EQ(read_clock(machine_.view()).synchronised, true);
}

TEST_F(DoctorSystem, clock_source) {
  EXPECT_EQ(check_clock_source(machine_.view()).level, Level::ok);
  EXPECT_EQ(check_clock_source(machine_.view()).found, "tsc");
  const std::string file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  machine_.write(file, "hpet\n");
  EXPECT_EQ(check_clock_source(machine_.view()).level, Level::note);
  machine_.remove(file);
  EXPECT_EQ(check_clock_source(machine_.view()).level, Level::ok);
}

TEST_F(DoctorSystem, surroundings) {
  EXPECT_EQ(check_surroundings(machine_.view()).found, "in a virtual machine");
  machine_.write("/sys/class/dmi/id/product_name", "KVM\n");
  machine_.write("/.dockerenv", "");
  const auto nested = check_surroundings(machine_.view());
  EXPECT_EQ(nested.level, Level::note);
  EXPECT_EQ(nested.found, "in a container (Docker) in a virtual machine (KVM)");
  machine_.environment["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
  EXPECT_THAT(check_surroundings(machine_.view()).found, HasSubstr("Kubernetes"));
}

TEST_F(DoctorSystem, surroundings_of_bare_metal_and_of_lxc) {
  machine_.write("/proc/cpuinfo", "model name : x\nflags : fpu sse2\n");
  EXPECT_EQ(check_surroundings(machine_.view()).level, Level::ok);
  machine_.write("/proc/1/environ", std::string("A=1\0container=lxc\0", 18));
  EXPECT_EQ(check_surroundings(machine_.view()).found, "in a container (lxc)");
}

TEST_F(DoctorSystem, open_files) {
  const auto good = check_open_files(machine_.view());
  EXPECT_EQ(good.level, Level::ok);
  EXPECT_EQ(good.found, "up to 1024, can be raised to 1048576");
  machine_.write("/proc/self/limits", "Max open files            256                  1024                 files\n");
  EXPECT_EQ(check_open_files(machine_.view()).level, Level::warning);
  machine_.write("/proc/self/limits", "Max open files            1024                 unlimited            files\n");
  EXPECT_EQ(check_open_files(machine_.view()).level, Level::ok);
  machine_.remove("/proc/self/limits");
  EXPECT_EQ(check_open_files(machine_.view()).found, "not known");
}

TEST_F(DoctorSystem, core_dumps) {
  EXPECT_EQ(check_core_dumps(machine_.view()).found, "off");
  machine_.write("/proc/self/limits", "Max core file size        unlimited            unlimited            bytes\n");
  machine_.write("/proc/sys/kernel/core_pattern", "core\n");
  const auto files = check_core_dumps(machine_.view());
  EXPECT_EQ(files.level, Level::note);
  EXPECT_EQ(files.found, "written as files, of any size");
  machine_.write("/proc/sys/kernel/core_pattern", "|/usr/lib/systemd/systemd-coredump %P\n");
  EXPECT_EQ(check_core_dumps(machine_.view()).level, Level::ok);
}

TEST_F(DoctorSystem, telemetry) {
  EXPECT_EQ(check_telemetry({.series = 40}).level, Level::ok);
  EXPECT_EQ(check_telemetry({.series = 40}).found, "40 values are read");
  const auto some = check_telemetry({.series = 12, .missing = {"gpu.power_w"}, .failed = {"procfs: no /proc"}});
  EXPECT_EQ(some.level, Level::warning);
  EXPECT_EQ(some.found, "12 values are read; procfs: no /proc; not read: gpu.power_w");
  EXPECT_NE(some.remedy, "");
}

TEST_F(DoctorSystem, shared_memory) {
  EXPECT_EQ(check_shared_memory(std::uint64_t{8} << 30).level, Level::ok);
  const auto small = check_shared_memory(std::uint64_t{64} << 20);
  EXPECT_EQ(small.level, Level::warning);
  EXPECT_THAT(small.remedy, HasSubstr("--shm-size"));
  EXPECT_EQ(check_shared_memory(std::nullopt).level, Level::warning);
  fs::remove_all(machine_.view().root / "dev");
  EXPECT_EQ(shared_memory_bytes(machine_.view()), std::nullopt);
  machine_.write("/dev/shm/x", "");
  EXPECT_GT(shared_memory_bytes(machine_.view()).value_or(0), 0u);
}

TEST_F(DoctorSystem, python) {
  EXPECT_EQ(check_python(machine_.view()).level, Level::note);
  machine_.answer("python3", "-c", "python 3.12.3\ntorch 2.11.0\n");
  EXPECT_EQ(check_python(machine_.view()).found, "Python 3.12.3, PyTorch 2.11.0");
  machine_.answer("python3", "-c", "python 3.11.2\n", 1);
  EXPECT_EQ(check_python(machine_.view()).found, "Python 3.11.2, no PyTorch");
  EXPECT_EQ(check_python(machine_.view()).level, Level::ok);
}

}  // namespace
}  // namespace assay
