#include "base/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/files.h"

namespace assay {
namespace {

using testing::Field;
using testing::UnorderedElementsAre;

/// The fields up to the start time, as the kernel writes them.
std::string stat_line(pid_t pid, std::string_view name, char state, pid_t parent, int threads = 1, int start = 900) {
  return std::to_string(pid) + " (" + std::string(name) + ") " + state + " " + std::to_string(parent) +
         " 70 70 0 -1 4194304 100 0 0 0 250 75 30 4 20 0 " + std::to_string(threads) + " 0 " + std::to_string(start) +
         " 9000000 500 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0\n";
}

class ProcFolder {
 public:
  void add(pid_t pid, pid_t parent, std::string_view name = "work") {
    const auto path = folder_.path() / std::to_string(pid);
    fs::create_directories(path);
    std::ofstream(path / "stat") << stat_line(pid, name, 'S', parent);
  }
  const fs::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TEST(ProcessTree, ReadsAStatLine) {
  const auto process = parse_process_stat(stat_line(71, "python3", 'R', 70, 12, 12345));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 71);
  EXPECT_EQ(process->parent, 70);
  EXPECT_EQ(process->name, "python3");
  EXPECT_EQ(process->state, 'R');
  EXPECT_EQ(process->cpu_ticks, 250U + 75U);
  EXPECT_EQ(process->waited_cpu_ticks, 30U + 4U);
  EXPECT_EQ(process->threads, 12);
  EXPECT_EQ(process->start_ticks, 12345U);
}

TEST(ProcessTree, ANameMayLookLikeTheRestOfTheLine) {
  const auto process = parse_process_stat(stat_line(71, "a) R 1 (b\nc", 'S', 70));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->name, "a) R 1 (b\nc");
  EXPECT_EQ(process->parent, 70);
}

TEST(ProcessTree, RefusesWhatIsNoStatLine) {
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("71 (python3"));
  EXPECT_FALSE(parse_process_stat("71 (python3) "));
  EXPECT_FALSE(parse_process_stat("71 (python3) R 70 1 2"));
  EXPECT_FALSE(parse_process_stat("x (python3) R 70 70 70 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 0"));
}

TEST(ProcessTree, AZombieIsNotAliveUnlessOnlyItsFirstThreadHasEnded) {
  EXPECT_FALSE(parse_process_stat(stat_line(71, "a", 'Z', 70))->alive());
  EXPECT_TRUE(parse_process_stat(stat_line(71, "a", 'Z', 70, 3))->alive());
  EXPECT_TRUE(parse_process_stat(stat_line(71, "a", 'T', 70))->alive());
}

TEST(ProcessTree, FindsTheDescendantsAndNobodyElse) {
  ProcFolder proc;
  proc.add(1, 0);
  proc.add(50, 1);
  proc.add(51, 50, "child");
  proc.add(60, 51, "grandchild");
  proc.add(40, 60, "a lower number after a wrap");
  proc.add(70, 1, "stranger");
  proc.add(71, 70, "stranger's child");
  fs::create_directories(proc.path() / "80");  // ended between listing and reading
  std::ofstream(proc.path() / "uptime") << "1 1\n";

  EXPECT_THAT(
      descendants_of(50, proc.path()),
      UnorderedElementsAre(Field(&ProcessStat::pid, 51), Field(&ProcessStat::pid, 60), Field(&ProcessStat::pid, 40)));
  EXPECT_TRUE(descendants_of(71, proc.path()).empty());
}

TEST(ProcessTree, ACircleOfReusedNumbersIsWalkedOnce) {
  ProcFolder proc;
  proc.add(50, 52);
  proc.add(51, 50);
  proc.add(52, 51);
  EXPECT_EQ(descendants_of(50, proc.path()).size(), 3U);
}

TEST(ProcessTree, KnowsWhetherASignalMeetsItsDefaultAction) {
  TemporaryFolder proc;
  fs::create_directories(proc.path() / "71");
  const auto with_masks = [&](std::string_view blocked, std::string_view ignored, std::string_view caught) {
    std::ofstream(proc.path() / "71/status") << "Name:\twork\nShdPnd:\tffffffffffffffff\nSigBlk:\t" << blocked
                                             << "\nSigIgn:\t" << ignored << "\nSigCgt:\t" << caught << "\nCapInh:\t0\n";
    return has_default_action(71, SIGTERM, proc.path());
  };
  EXPECT_TRUE(with_masks("0000000000000000", "0000000000001000", "0000000180000002"));
  EXPECT_FALSE(with_masks("0000000000004000", "0000000000000000", "0000000000000000"));
  EXPECT_FALSE(with_masks("0000000000000000", "0000000000004000", "0000000000000000"));
  EXPECT_FALSE(with_masks("0000000000000000", "0000000000000000", "0000000000004000"));
  EXPECT_FALSE(has_default_action(72, SIGTERM, proc.path()));
  EXPECT_TRUE(has_default_action(::getpid(), SIGTERM));
}

TEST(ProcessTree, SignalsThatProcessAndNotALaterOneOfTheSameNumber) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  auto process = read_process_stat(child);
  ASSERT_TRUE(process);

  ProcessStat earlier = *process;
  earlier.start_ticks -= 1;
  send_signal(earlier, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);

  send_signal(*process, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

}  // namespace
}  // namespace assay
