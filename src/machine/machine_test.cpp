#include "machine/machine.h"

#include <gmock/gmock.h>

#include "machine/fake_machine.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::UnorderedElementsAre;

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

class InspectMachine : public testing::Test {
 protected:
  InspectMachine() {
    machine_.copy_from(machine_fixture("h200-vm"));
    machine_.answer("nvidia-smi", "--query-gpu=uuid,name,memory.total,driver_version",
                    machine_fixture_text("nvidia-smi/h200.csv"));
    machine_.answer("python3", "-c", "python 3.12.3\ntorch 2.11.0\n");
    machine_.answer("git", "rev-parse", std::string(kCommit) + "\n");
    machine_.answer("git", "status", "");
  }

  FakeMachine machine_;
};

TEST_F(InspectMachine, finds_everything_on_a_recorded_machine) {
  machine_.environment = {{"NCCL_DEBUG", "INFO"}, {"HOME", "/root"}, {"SLURM_JOB_ID", "77"}};
  const auto found = inspect_machine(machine_.view(), "/repo", true);
  EXPECT_EQ(found.hostname, "gpu01");
  EXPECT_EQ(found.os, "Ubuntu 24.04.3 LTS");
  EXPECT_EQ(found.kernel, "6.18.44-fc-v445-gpu");
  EXPECT_EQ(found.cpu_model, "Intel(R) Xeon(R) Processor");
  EXPECT_EQ(found.cpu_cores, 16);
  EXPECT_EQ(found.memory_bytes, std::int64_t{131980916} * 1024);
  EXPECT_EQ(found.cpu_governor, "");
  ASSERT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(found.gpu_driver, "580.159.04");
  EXPECT_EQ(found.python_version, "3.12.3");
  EXPECT_EQ(found.torch_version, "2.11.0");
  EXPECT_EQ(found.git_commit, kCommit);
  EXPECT_EQ(found.git_dirty, false);
  EXPECT_THAT(found.environment, UnorderedElementsAre(Key("NCCL_DEBUG")));
  EXPECT_THAT(found.job, UnorderedElementsAre(Key("SLURM_JOB_ID")));
}

TEST_F(InspectMachine, commands_have_deadlines_and_git_takes_no_locks) {
  inspect_machine(machine_.view(), "/repo", true);
  ASSERT_EQ(machine_.calls().size(), 4u);
  for (const auto& call : machine_.calls()) {
    EXPECT_LE(call.options.deadline, std::chrono::seconds(10)) << call.arguments[0];
    if (call.arguments[0] != "git") continue;
    EXPECT_EQ(call.options.environment.at("GIT_OPTIONAL_LOCKS"), "0");
    EXPECT_EQ(call.options.deadline, std::chrono::seconds(2));
    EXPECT_EQ(call.arguments[2], "/repo");
  }
}

TEST_F(InspectMachine, starts_no_python_unless_asked) {
  const auto found = inspect_machine(machine_.view(), "/repo", false);
  EXPECT_EQ(found.python_version, "");
  for (const auto& call : machine_.calls()) EXPECT_NE(call.arguments[0], "python3");
}

TEST_F(InspectMachine, python_without_torch) {
  machine_.answer("python3", "-c", "python 3.11.2\n", 1);
  const auto found = inspect_machine(machine_.view(), "/repo", true);
  EXPECT_EQ(found.python_version, "3.11.2");
  EXPECT_EQ(found.torch_version, "");
}

TEST_F(InspectMachine, driver_version_without_nvidia_smi_comes_from_proc) {
  machine_.answer("nvidia-smi", "--query-gpu", machine_fixture_text("nvidia-smi/mismatch.txt"), 18);
  const auto found = inspect_machine(machine_.view(), "/repo", false);
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_EQ(found.gpu_driver, "580.159.04");
}

TEST_F(InspectMachine, without_a_driver_nvidia_smi_is_not_started) {
  machine_.remove("/proc/driver");
  const auto found = inspect_machine(machine_.view(), "/repo", false);
  EXPECT_EQ(found.gpu_driver, "");
  for (const auto& call : machine_.calls()) EXPECT_NE(call.arguments[0], "nvidia-smi");
}

TEST_F(InspectMachine, dirty_and_unknown_git_states) {
  machine_.answer("git", "status", " M train.py\n");
  EXPECT_EQ(inspect_machine(machine_.view(), "/repo", false).git_dirty, true);
  machine_.answer("git", "status", Error{.kind = ErrorKind::timeout, .message = "too slow"});
  const auto slow = inspect_machine(machine_.view(), "/repo", false);
  EXPECT_EQ(slow.git_commit, kCommit);
  EXPECT_EQ(slow.git_dirty, std::nullopt);
  machine_.answer("git", "rev-parse", "fatal: not a git repository\n", 128);
  EXPECT_EQ(inspect_machine(machine_.view(), "/repo", false).git_commit, "");
  machine_.answer("git", "rev-parse", "HEAD\n");
  EXPECT_EQ(inspect_machine(machine_.view(), "/repo", false).git_commit, "") << "a repository without commits";
}

TEST_F(InspectMachine, governors_are_named_once_each) {
  for (int core = 0; core < 16; ++core) {
    machine_.write("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_governor",
                   core < 3 ? "powersave\n" : "performance\n");
  }
  EXPECT_EQ(inspect_machine(machine_.view(), "/repo", false).cpu_governor, "performance, powersave");
}

TEST(InspectMachineOfNothing, leaves_unknown_things_empty_but_knows_host_and_kernel) {
  FakeMachine machine;
  const auto found = inspect_machine(machine.view(), "/repo", true);
  EXPECT_NE(found.hostname, "");
  EXPECT_NE(found.kernel, "");
  EXPECT_EQ(found.os, "");
  EXPECT_EQ(found.cpu_model, "");
  EXPECT_EQ(found.memory_bytes, 0);
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_EQ(found.git_dirty, std::nullopt);
}

TEST(RealMachine, is_looked_at_with_its_environment) {
  ::setenv("ASSAY_MACHINE_TEST", "a=b", 1);
  const auto view = MachineView::real();
  EXPECT_EQ(view.environment.at("ASSAY_MACHINE_TEST"), "a=b");
  const auto found = inspect_machine(view, fs::temp_directory_path(), false);
  EXPECT_GE(found.cpu_cores, 1);
  EXPECT_GT(found.memory_bytes, 1 << 20);
  EXPECT_NE(found.kernel, "");
}

}  // namespace
}  // namespace assay
