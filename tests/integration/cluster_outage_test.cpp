#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::IsEmpty;

/// Long enough that the 64 batches which an agent keeps in memory are not enough at 20 readings a second.
constexpr auto kOutage = std::chrono::seconds(4);
const std::vector<std::string> kFastReadings = {"--period", "50ms"};

using NodeSeconds = std::map<std::string, std::set<std::int64_t>>;

class ClusterOutage : public ClusterTest {
 protected:
  /// Waits until the leader has values of that second or a later one, and none is missing before it.
  std::set<std::int64_t> seconds_up_to(const std::string& node, std::int64_t second) {
    std::set<std::int64_t> seconds;
    EXPECT_TRUE(eventually([&] {
      seconds = leader_.seconds_of(node);
      return !seconds.empty() && *seconds.rbegin() >= second;
    })) << "nothing new comes from "
        << node;
    return seconds;
  }

  /// Seconds with a value of GPU use, for every simulated node.
  NodeSeconds fleet_seconds() {
    NodeSeconds found;
    const auto answer = leader_.cli().json({"query", "gpu.util", "node=sim*", "last=10min", "width=1s"});
    if (!answer.contains("result")) return found;
    for (const auto& series : answer.at("result").at("series").as_array()) {
      auto& seconds = found[std::string(series.at("labels").at("node").as_string())];
      for (const auto& bucket : series.at("buckets").as_array()) {
        seconds.insert(bucket.at(0).to_number<std::int64_t>() / 1000);
      }
    }
    return found;
  }

  void wait_for_fleet(std::size_t nodes, std::size_t seconds) {
    EXPECT_TRUE(eventually([&] {
      const auto found = fleet_seconds();
      return found.size() == nodes &&
             std::all_of(found.begin(), found.end(), [&](const auto& node) { return node.second.size() >= seconds; });
    })) << "the fleet does not get through";
  }
};

std::int64_t wall_second() {
  return std::chrono::duration_cast<std::chrono::seconds>(SystemClock().wall().time_since_epoch()).count();
}

TEST_F(ClusterOutage, OfAKilledLeaderLeavesNoGap) {
  leader_.start();
  auto agent = leader_.start_agent("n1", kFastReadings);
  const auto before = seconds_up_to("n1", wall_second() + 2);
  leader_.process().kill_now();
  std::this_thread::sleep_for(kOutage);
  EXPECT_TRUE(agent.running());
  leader_.start();
  const auto after = seconds_up_to("n1", wall_second() + 1);
  EXPECT_THAT(missing_between_ends(after), IsEmpty());
  EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
  EXPECT_THAT(leader_.problems(), IsEmpty());
  EXPECT_EQ(agent.terminate(), 0);
}

TEST_F(ClusterOutage, IsBridgedByTheSpoolOfAnAgentThatWasStartedAgain) {
  leader_.start();
  auto agent = leader_.start_agent("n1", kFastReadings);
  const auto before = seconds_up_to("n1", wall_second() + 1);
  leader_.process().kill_now();
  std::this_thread::sleep_for(kOutage / 2);
  const std::int64_t stopped = wall_second();
  agent.terminate();
  agent = leader_.start_agent("n1", kFastReadings);
  std::this_thread::sleep_for(kOutage / 2);
  const std::int64_t started = wall_second();
  leader_.start();
  std::set<std::int64_t> after;
  // The newest readings may be there before those of the spool.
  EXPECT_TRUE(eventually([&] {
    after = leader_.seconds_of("n1");
    return !after.empty() && *after.rbegin() > started && after.contains(stopped - 1);
  })) << "what the first agent had read does not come";
  EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
  // Only while nobody was there to read may something be missing.
  for (const auto second : missing_between_ends(after)) {
    EXPECT_GE(second, stopped) << "of " << *after.begin() << " to " << *after.rbegin();
    EXPECT_LE(second, stopped + 2);
  }
  EXPECT_EQ(agent.terminate(), 0);
}

TEST_F(ClusterOutage, UnderLoadLosesNothingThatWasAcknowledged) {
  leader_.start();
  auto fleet = leader_.start_fleet(20, {"--gpus", "8"});
  wait_for_fleet(20, 3);
  const auto before = fleet_seconds();
  leader_.process().kill_now();
  leader_.start();
  EXPECT_THAT(leader_.problems(), IsEmpty());
  const auto wanted = before.begin()->second.size() + 3;
  wait_for_fleet(20, wanted);

  // Now without anybody who could send it again.
  const auto latest = fleet_seconds();
  leader_.process().kill_now();
  fleet.kill_now();
  leader_.start();
  EXPECT_THAT(leader_.problems(), IsEmpty());
  const auto after = fleet_seconds();
  for (const auto& [node, seconds] : latest) {
    const auto& kept = after.contains(node) ? after.at(node) : std::set<std::int64_t>();
    EXPECT_TRUE(std::includes(kept.begin(), kept.end(), seconds.begin(), seconds.end())) << node;
    EXPECT_THAT(missing_between_ends(kept), IsEmpty()) << node;
  }
  EXPECT_EQ(leader_.process().terminate(), 0);
}

}  // namespace
}  // namespace assay
