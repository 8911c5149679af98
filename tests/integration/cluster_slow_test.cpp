// Who takes nothing of what they asked for: they may neither keep the leader from ending nor its memory.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>

#include "cluster_fixture.h"
#include "net/raw_connection_fixture.h"

namespace assay {
namespace {

class ClusterSlow : public ClusterTest {
 protected:
  ClusterSlow() {
    leader_.start();
    fleet_.emplace(leader_.start_fleet(20, {"--gpus", "8"}));
    // A node that has just joined has told nothing yet, and there would be nothing to tell of it.
    for (int node = 1; node <= 20; ++node) {
      const std::string name = fmt::format("sim{:03}", node);
      EXPECT_TRUE(eventually([&] { return !leader_.seconds_of(name, "gpu.util").empty(); })) << name;
    }
  }
  /// Opens as many live streams as one token may have, and reads none of them: what everybody is told first is more
  /// than sockets take.
  void open_streams() {
    const std::string secret = leader_.secret_of(leader_.token_file("viewer"));
    for (int i = 0; i < 32; ++i) {
      auto stream = std::make_unique<RawConnection>(leader_.port(), 4096);
      stream->send("GET /api/v1/live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret + "\r\n\r\n");
      EXPECT_THAT(stream->read_until("\r\n\r\n"), testing::StartsWith("HTTP/1.1 200"));
      streams_.push_back(std::move(stream));
    }
  }

  std::optional<AssayProcess> fleet_;
  std::vector<std::unique_ptr<RawConnection>> streams_;
};

TEST_F(ClusterSlow, StreamsThatNobodyReadsDoNotKeepTheLeaderFromEnding) {
  // A client that takes nothing may hold a connection for half a minute; the leader does not wait so long to end.
  constexpr Nanos kBound = std::chrono::seconds(20);
  open_streams();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(leader_.process().terminate(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kBound);
  EXPECT_THAT(leader_.process().said(), testing::Not(testing::HasSubstr("silent")));
  leader_.start();
  EXPECT_THAT(leader_.silenced(), testing::IsEmpty()) << "that it ended is not the nodes' silence";
}

TEST_F(ClusterSlow, MemoryComesBackWhenSlowStreamsAreGone) {
  // Nothing else is to take memory meanwhile; what is known of nodes that are silent is told all the same.
  EXPECT_EQ(fleet_->terminate(), 0);
  const std::int64_t before = leader_.process().memory_bytes();
  for (int token = 0; token < 4; ++token) open_streams();
  std::int64_t most = 0;
  ASSERT_TRUE(eventually([&] {
    most = leader_.process().memory_bytes();
    return most > before + (std::int64_t{20} << 20);
  })) << most
      << ", and before " << before;
  streams_.clear();
  std::int64_t after = most;
  const auto is_back = [&] {
    after = leader_.process().memory_bytes();
    return after < before + (most - before) / 2;
  };
  EXPECT_TRUE(eventually(is_back) || eventually(is_back)) << after << " of " << most << ", and before " << before;
}

}  // namespace
}  // namespace assay
