#include <gmock/gmock.h>

#include "machine/doctor_checks.h"
#include "machine/fake_machine.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Level = DoctorFinding::Level;

class DoctorGpu : public testing::Test {
 protected:
  DoctorGpu() {
    machine_.copy_from(machine_fixture("h200-vm"));
    show("h200-full.csv", "");
  }

  void show(const std::string& gpus, const std::string& processes) {
    machine_.answer("nvidia-smi", "--query-gpu=", machine_fixture_text("nvidia-smi/" + gpus));
    machine_.answer("nvidia-smi",
                    "--query-compute-apps=", processes.empty() ? "" : machine_fixture_text("nvidia-smi/" + processes));
  }
  void fail(const std::string& text, int exit_code) {
    machine_.answer("nvidia-smi", "--query-gpu=", machine_fixture_text("nvidia-smi/" + text), exit_code);
  }
  void add_pci_device(const std::string& vendor, const std::string& device_class) {
    machine_.write("/sys/bus/pci/devices/0000:01:00.0/vendor", vendor + "\n");
    machine_.write("/sys/bus/pci/devices/0000:01:00.0/class", device_class + "\n");
  }
  GpuSurvey survey() { return survey_gpus(machine_.view()); }

  FakeMachine machine_;
};

TEST_F(DoctorGpu, a_healthy_h200) {
  const auto found = survey();
  EXPECT_EQ(check_gpu_driver(found).level, Level::ok);
  EXPECT_EQ(check_gpu_driver(found).found, "580.159.04");
  EXPECT_EQ(check_gpus_present(found).level, Level::ok);
  EXPECT_EQ(check_gpus_present(found).found, "1 × NVIDIA H200 (140 GiB)");
  EXPECT_EQ(check_gpus_busy(found).found, "by nobody");
  EXPECT_EQ(check_gpu_persistence(found).found, "on");
  EXPECT_EQ(check_gpu_errors(found).level, Level::ok);
  EXPECT_EQ(check_gpu_temperature(found).found, "35 °C at most");
}

TEST_F(DoctorGpu, a_node_with_many_ills) {
  show("a100x8-full.csv", "");
  const auto found = survey();
  EXPECT_EQ(check_gpus_present(found).found, "8 × NVIDIA A100-SXM4-80GB (80.0 GiB)");
  EXPECT_EQ(check_gpu_persistence(found).level, Level::note);
  EXPECT_EQ(check_gpu_persistence(found).found, "off on 8 of 8 GPUs");
  EXPECT_EQ(check_gpu_errors(found).level, Level::problem);
  EXPECT_THAT(check_gpu_errors(found).found,
              AllOf(HasSubstr(found.gpus[5].info.uuid.substr(0, 12)), HasSubstr("3 uncorrected ECC errors")));
  EXPECT_EQ(check_gpu_temperature(found).level, Level::warning);
  EXPECT_THAT(check_gpu_temperature(found).found, HasSubstr(found.gpus[2].info.uuid.substr(0, 12) + ": 84 °C"));
  EXPECT_EQ(check_gpus_busy(found).level, Level::warning) << "a GPU works for a process that is not visible";
  EXPECT_THAT(check_gpus_busy(found).found, HasSubstr(found.gpus[1].info.uuid.substr(0, 12) + ": 97 % busy"));
}

TEST_F(DoctorGpu, who_uses_a_gpu) {
  show("h200-full.csv", "h200-processes.csv");
  machine_.write("/proc/407/status", "Name:\tpython3\nUid:\t1001\t1001\t1001\t1001\n");
  machine_.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:1001:1001:Ada:/home/ada:/bin/sh\n");
  const auto busy = check_gpus_busy(survey());
  EXPECT_EQ(busy.level, Level::warning);
  EXPECT_EQ(busy.found, "pid 407 (python3) of ada with 1.60 GiB on GPU-a9449dfe");
  machine_.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\n");
  EXPECT_THAT(check_gpus_busy(survey()).found, HasSubstr("of user 1001"));
  machine_.remove("/proc/407");
  EXPECT_EQ(check_gpus_busy(survey()).found, "pid 407 (python3) with 1.60 GiB on GPU-a9449dfe");
}

TEST_F(DoctorGpu, fields_that_are_not_there_raise_nothing) {
  show("geforce-full.csv", "");
  const auto found = survey();
  for (const auto& finding :
       {check_gpus_busy(found), check_gpu_persistence(found), check_gpu_errors(found), check_gpu_temperature(found)}) {
    EXPECT_EQ(finding.level, Level::ok) << finding.check;
  }
  EXPECT_EQ(check_gpu_temperature(found).found, "not known");
}

TEST_F(DoctorGpu, driver_and_library_of_different_versions) {
  fail("mismatch.txt", 18);
  const auto finding = check_gpu_driver(survey());
  EXPECT_EQ(finding.level, Level::problem);
  EXPECT_THAT(finding.found, AllOf(HasSubstr("Driver/library version mismatch"), HasSubstr("580.159.04")));
  EXPECT_THAT(finding.remedy, HasSubstr("Reboot"));
  EXPECT_EQ(check_gpus_present(survey()).level, Level::problem);
}

TEST_F(DoctorGpu, a_driver_that_does_not_answer) {
  fail("no-driver.txt", 9);
  EXPECT_EQ(check_gpu_driver(survey()).level, Level::problem);
  EXPECT_THAT(check_gpu_driver(survey()).found, HasSubstr("couldn't communicate"));
  machine_.answer("nvidia-smi", "--query-gpu=", Error{.kind = ErrorKind::timeout, .message = "no answer within 10 s"});
  EXPECT_THAT(check_gpu_driver(survey()).found, HasSubstr("no answer within 10 s"));
  machine_.answer("nvidia-smi", "--query-gpu=", "", 1);
  EXPECT_EQ(check_gpu_driver(survey()).found, "nvidia-smi failed without a word");
}

TEST_F(DoctorGpu, a_driver_without_gpus) {
  machine_.answer("nvidia-smi", "--query-gpu=", "");
  EXPECT_EQ(check_gpus_present(survey()).level, Level::problem);
}

TEST_F(DoctorGpu, a_machine_without_gpus_is_no_problem) {
  machine_.remove("/proc/driver");
  add_pci_device("0x8086", "0x030000");
  EXPECT_EQ(check_gpu_driver(survey()).level, Level::note);
  EXPECT_EQ(check_gpus_present(survey()).level, Level::ok);
  EXPECT_TRUE(machine_.calls().empty()) << "nvidia-smi is not even tried";
}

TEST_F(DoctorGpu, gpus_without_a_driver_are_a_problem) {
  machine_.remove("/proc/driver");
  add_pci_device("0x10de", "0x030200");
  EXPECT_EQ(check_gpu_driver(survey()).level, Level::problem);
  EXPECT_THAT(check_gpu_driver(survey()).found, HasSubstr("no driver is loaded"));
  EXPECT_EQ(check_gpus_present(survey()).level, Level::problem);
}

}  // namespace
}  // namespace assay
