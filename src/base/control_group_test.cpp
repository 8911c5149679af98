#include "base/control_group.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/files.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// A plain folder in place of the kernel's: what is written can be read, and nothing is limited.
class ControlGroupTest : public testing::Test {
 protected:
  ControlGroupTest() {
    fs::create_directories(service_);
    put(folder_.path() / "membership", "4:memory:/elsewhere\n0::/system.slice/agent.service\n");
    put(service_ / "cgroup.controllers", "cpu memory pids\n");
  }

  static void put(const fs::path& file, std::string_view text) { std::ofstream(file) << text; }
  Result<ControlGroups> divide(const GroupLimits& limits) const {
    return ControlGroups::divide(limits, folder_.path(), folder_.path() / "membership");
  }

  TemporaryFolder folder_;
  fs::path service_ = folder_.path() / "system.slice/agent.service";
};

TEST_F(ControlGroupTest, ThisProcessGetsAPartOfItsOwn) {
  ASSERT_TRUE(divide({.memory_bytes = 1 << 20}).ok());
  EXPECT_EQ(*read_file(service_ / "agent/cgroup.procs"), "0");
  EXPECT_EQ(*read_file(service_ / "cgroup.subtree_control"), "+memory");
  // The next agent of the same service finds itself there.
  put(folder_.path() / "membership", "0::/system.slice/agent.service/agent\n");
  ASSERT_TRUE(divide({.memory_bytes = 1 << 20}).ok());
  EXPECT_FALSE(fs::exists(service_ / "agent/agent"));
}

TEST_F(ControlGroupTest, AWorkloadGetsTheLimits) {
  const auto groups = divide({.memory_bytes = 1 << 30, .processes = 64});
  ASSERT_TRUE(groups.ok()) << groups.error().text();
  const auto group = groups->make("r1");
  ASSERT_TRUE(group.ok()) << group.error().text();
  EXPECT_EQ(*read_file(group->folder() / "memory.max"), "1073741824");
  EXPECT_EQ(*read_file(group->folder() / "pids.max"), "64");
  EXPECT_EQ(group->folder().parent_path(), service_);
}

TEST_F(ControlGroupTest, OnlyWhatIsLimitedIsAskedFor) {
  put(service_ / "cgroup.controllers", "pids\n");
  ASSERT_TRUE(divide({.processes = 64}).ok());
  const auto refused = divide({.memory_bytes = 1 << 30, .processes = 64});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(refused.error().text(), HasSubstr("'memory'"));
  EXPECT_THAT(refused.error().hint, HasSubstr("Delegate="));
}

TEST_F(ControlGroupTest, AMachineWithoutVersion2IsToldSo) {
  put(folder_.path() / "membership", "4:memory:/somewhere\n");
  EXPECT_EQ(divide({.processes = 64}).error().kind, ErrorKind::unsupported);
}

TEST_F(ControlGroupTest, GroupsThatAKilledAgentLeftAreRemoved) {
  fs::create_directories(service_ / "run-old");
  ASSERT_TRUE(divide({.processes = 64}).ok());
  EXPECT_FALSE(fs::exists(service_ / "run-old"));
}

TEST_F(ControlGroupTest, LackOfMemoryIsReadFromTheKernelsCount) {
  const auto groups = divide({.memory_bytes = 1 << 20});
  const auto group = groups->make("r1");
  EXPECT_FALSE(group->ran_out_of_memory()) << "no count";
  put(group->folder() / "memory.events", "low 0\noom 0\noom_kill 0\noom_group_kill 0\n");
  EXPECT_FALSE(group->ran_out_of_memory());
  put(group->folder() / "memory.events", "low 0\noom 2\noom_kill 1\noom_group_kill 0\n");
  EXPECT_TRUE(group->ran_out_of_memory());
}

}  // namespace
}  // namespace assay
