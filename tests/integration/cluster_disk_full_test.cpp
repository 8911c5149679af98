#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstring>

#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// A small file system in memory, for as long as this lives. Only this process and those that it starts see it, so that
/// nothing stays mounted however the test ends.
class SmallDisk {
 public:
  explicit SmallDisk(fs::path place) : place_(std::move(place)) {
    fs::create_directories(place_);
    mounted_ = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("tmpfs", place_.c_str(), "tmpfs", 0, "size=24m") == 0;
    if (!mounted_) why_not_ = std::strerror(errno);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    // Lazily: the leader still has files open there.
    if (mounted_) ::umount2(place_.c_str(), MNT_DETACH);
  }

  bool mounted() const { return mounted_; }
  const std::string& why_not() const { return why_not_; }

  /// Until not one byte is left.
  void fill() const {
    const auto file = open_file(filler(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ASSERT_TRUE(file.ok());
    const std::string block(4096, 'x');
    while (write_all(file->get(), block)) {
    }
  }
  void free() const { fs::remove(filler()); }

 private:
  fs::path filler() const { return place_ / "filler"; }

  fs::path place_;
  bool mounted_ = false;
  std::string why_not_;
};

class ClusterDiskFull : public ClusterTest {};

TEST_F(ClusterDiskFull, IsSaidRiddenOutAndLeavesNoGap) {
  const SmallDisk disk(leader_.cli().data());
  if (!disk.mounted()) GTEST_SKIP() << "needs a file system of its own, and may not mount one: " << disk.why_not();
  leader_.start();
  auto agent = leader_.start_agent("n1", {"--period", "50ms"});
  ASSERT_TRUE(eventually([&] { return leader_.seconds_of("n1").size() >= 2; }));

  disk.fill();
  EXPECT_TRUE(eventually([&] { return !leader_.problems().empty(); }))
      << "the leader does not say that its disk is full";
  EXPECT_TRUE(eventually([&] {
    disk.fill();  // What the leader tidied up meanwhile.
    return agent.said().find("503") != std::string::npos;
  })) << "the agent was not told to wait: "
      << agent.said();
  EXPECT_TRUE(leader_.process().running());
  EXPECT_THAT(leader_.cli().run({"nodes"}).error, HasSubstr("leader:"));

  disk.free();
  EXPECT_TRUE(eventually([&] { return leader_.problems().empty(); })) << leader_.problems().front();
  const std::int64_t freed = *leader_.seconds_of("n1").rbegin();
  std::set<std::int64_t> seconds;
  EXPECT_TRUE(eventually([&] {
    seconds = leader_.seconds_of("n1");
    return *seconds.rbegin() > freed + 1 && missing_between_ends(seconds).empty();
  })) << "seconds are missing: "
      << testing::PrintToString(missing_between_ends(seconds));

  EXPECT_EQ(leader_.process().terminate(), 0);
  leader_.start();
  EXPECT_THAT(leader_.problems(), IsEmpty());
  const auto again = leader_.seconds_of("n1");
  EXPECT_TRUE(std::includes(again.begin(), again.end(), seconds.begin(), seconds.end()));
  EXPECT_EQ(agent.terminate(), 0);
}

TEST_F(ClusterDiskFull, LosesNothingWhenTheLeaderIsKilledMeanwhile) {
  const SmallDisk disk(leader_.cli().data());
  if (!disk.mounted()) GTEST_SKIP() << "needs a file system of its own, and may not mount one: " << disk.why_not();
  leader_.start();
  auto agent = leader_.start_agent("n1", {"--period", "50ms"});
  ASSERT_TRUE(eventually([&] { return leader_.seconds_of("n1").size() >= 2; }));
  const auto before = leader_.seconds_of("n1");
  disk.fill();
  EXPECT_TRUE(eventually([&] {
    disk.fill();
    return agent.said().find("503") != std::string::npos;
  }));
  leader_.process().kill_now();
  disk.free();
  leader_.start();
  const auto wanted = *before.rbegin() + 2;
  std::set<std::int64_t> seconds;
  EXPECT_TRUE(eventually([&] {
    seconds = leader_.seconds_of("n1");
    return !seconds.empty() && *seconds.rbegin() > wanted && missing_between_ends(seconds).empty();
  })) << "seconds are missing: "
      << testing::PrintToString(missing_between_ends(seconds));
  EXPECT_TRUE(std::includes(seconds.begin(), seconds.end(), before.begin(), before.end()));
  EXPECT_THAT(leader_.problems(), IsEmpty());
  EXPECT_EQ(agent.terminate(), 0);
}

TEST_F(ClusterDiskFull, IsNoLongerAProblemOnceThereIsRoomAgain) {
  const SmallDisk disk(leader_.cli().data());
  if (!disk.mounted()) GTEST_SKIP() << "needs a file system of its own, and may not mount one: " << disk.why_not();
  leader_.start();
  auto agent = leader_.start_agent("n1", {"--period", "50ms"});
  ASSERT_TRUE(eventually([&] { return !leader_.seconds_of("n1").empty(); }));
  disk.fill();
  EXPECT_TRUE(eventually([&] {
    disk.fill();
    return !leader_.problems().empty();
  }));
  // That the node goes is something to write down, too, and nobody sends it a second time.
  agent.kill_now();
  EXPECT_TRUE(eventually([&] {
    disk.fill();
    return leader_.state_of("n1") == "offline";
  }));
  disk.free();
  EXPECT_TRUE(eventually([&] { return leader_.problems().empty(); })) << testing::PrintToString(leader_.problems());
}

}  // namespace
}  // namespace assay
