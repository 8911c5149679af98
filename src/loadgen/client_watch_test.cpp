#include "loadgen/client_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using std::chrono::seconds;

class FakeProc {
 public:
  FakeProc() {
    char pattern[] = "/tmp/assay-proc-XXXXXX";
    folder = ::mkdtemp(pattern);
  }
  ~FakeProc() { std::filesystem::remove_all(folder); }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;
  void write(const std::filesystem::path& name, const std::string& text) const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  }
  void schedstat(long thread, long waited_ns) const {
    write("self/task/" + std::to_string(thread) + "/schedstat", "500 " + std::to_string(waited_ns) + " 7\n");
  }
  std::filesystem::path folder;
};

TEST(ClientWatch, SeesTheThreadThatWaitedMostAndWhatTheHypervisorTook) {
  const FakeProc proc;
  const long self = ::syscall(SYS_gettid);
  proc.schedstat(self, 1'000'000);
  proc.schedstat(4242, 0);
  proc.write("stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2\n");
  ClientWatch watch(proc.folder);
  watch.begin({4242}, SteadyTime(seconds(10)));
  proc.schedstat(self, 101'000'000);
  proc.schedstat(4242, 500'000'000);
  proc.write("stat", "cpu  150 0 100 830 0 0 0 20 0 0\ncpu0 1 2\n");
  const ClientUsage usage = watch.end(SteadyTime(seconds(20)));
  EXPECT_EQ(usage.wall, seconds(10));
  EXPECT_DOUBLE_EQ(usage.waited_share, 0.05);
  EXPECT_DOUBLE_EQ(usage.stolen_share, 0.2);
  EXPECT_TRUE(usage.known);
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
