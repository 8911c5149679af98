#include "loadgen/client_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "loadgen/fake_proc_fixture.h"

namespace assay {
namespace {

using std::chrono::seconds;

TEST(ClientWatch, SeesTheThreadThatWaitedMostAndWhatTheHypervisorTook) {
  const FakeProc proc;
  const long self = ::syscall(SYS_gettid);
  proc.schedstat(self, 500, 1'000'000);
  proc.schedstat(4242, 1'000'000'000, 0);
  proc.write("stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2\n");
  ClientWatch watch(proc.folder);
  watch.begin({4242}, SteadyTime(seconds(10)));
  proc.schedstat(self, 9'900'000'500, 101'000'000);
  proc.schedstat(4242, 8'500'000'000, 500'000'000);
  proc.write("stat", "cpu  150 0 100 830 0 0 0 20 0 0\ncpu0 1 2\n");
  const ClientUsage usage = watch.end(SteadyTime(seconds(20)));
  EXPECT_EQ(usage.wall, seconds(10));
  EXPECT_DOUBLE_EQ(usage.waited_share, 0.05);
  EXPECT_DOUBLE_EQ(usage.stolen_share, 0.2);
  EXPECT_DOUBLE_EQ(usage.busy_share, 0.75) << "the dispatching thread spins, and does not count";
  EXPECT_TRUE(usage.known);
}

TEST(ClientWatch, ATickOfAShortLoadIsNoShare) {
  const FakeProc proc;
  proc.schedstat(::syscall(SYS_gettid), 500, 0);
  proc.schedstat(4242, 0, 0);
  proc.write("stat", "cpu  100 0 100 800 0 0 0 0 0 0\n");
  ClientWatch watch(proc.folder);
  watch.begin({4242}, SteadyTime(seconds(10)));
  proc.schedstat(4242, 20'000'000, 5'000'000);
  proc.write("stat", "cpu  102 0 100 800 0 0 0 1 0 0\n");
  const ClientUsage usage = watch.end(SteadyTime(seconds(10)) + std::chrono::milliseconds(20));
  EXPECT_EQ(usage.stolen_share, 0);
  EXPECT_EQ(usage.busy_share, 0);
  EXPECT_DOUBLE_EQ(usage.waited_share, 0.25);
}

TEST(ClientWatch, SaysWhereTheKernelDoesNotTell) {
  const FakeProc proc;
  ClientWatch watch(proc.folder);
  watch.begin({}, SteadyTime(seconds(10)));
  const ClientUsage usage = watch.end(SteadyTime(seconds(20)));
  EXPECT_FALSE(usage.known);
  EXPECT_EQ(usage.waited_share, 0);
}

}  // namespace
}  // namespace assay
