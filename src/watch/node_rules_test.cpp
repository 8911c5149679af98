#include <cmath>

#include "base/random.h"
#include "watch/watch_fixture.h"

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using NodeRules = WatchTest;

TEST_F(NodeRules, ASilentNodeRaisesItsLossAndFreezesTheRest) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 95);
  set(gpu(1), GpuField::temperature_c, 95);
  look_for(minutes(2));
  EXPECT_THAT(changes(), UnorderedElementsAre("+overheating gpu01 gpu01-GPU-1", "+overheating gpu01 gpu01-GPU-3"));
  set(gpu(2), GpuField::temperature_c, 95);
  look_for(seconds(50));
  node().state = NodeState::late;
  look_for(seconds(10));
  node().state = NodeState::offline;
  look_for(hours(5));
  EXPECT_THAT(changes(), ElementsAre("+node_lost gpu01"));
  node().state = NodeState::online;
  set(gpu(1), GpuField::temperature_c, 60);
  look_for(seconds(50));
  EXPECT_THAT(changes(), ElementsAre("-node_lost gpu01")) << "the waits started anew";
  look_for(minutes(3));
  EXPECT_THAT(changes(), UnorderedElementsAre("+overheating gpu01 gpu01-GPU-2", "-overheating gpu01 gpu01-GPU-1"));
}

TEST_F(NodeRules, ALostNodeSaysWhenItWasLastHeardAndForHowLongItWasGone) {
  look();
  node().last_seen = now_;
  node().state = NodeState::offline;
  look_for(seconds(20));
  ASSERT_THAT(changes_, testing::SizeIs(1));
  EXPECT_EQ(changes_.front().alert.what,
            "gpu01 has been silent for 20.0 s. It was last heard at " + iso8601(now_ - seconds(20)) + ".");
  EXPECT_EQ(changes_.front().alert.severity, AlertSeverity::critical);
  look_for(minutes(2));
  EXPECT_THAT(watch_.take_renewed().front().what, HasSubstr("silent for 2 min"));
  changes();
  node().state = NodeState::online;
  look_for(seconds(35));
  EXPECT_EQ(changes_.front().alert.what, "gpu01 is heard again; it was silent for 2 min 20 s.");
  changes();
}

TEST_F(NodeRules, ADrainedNodeThatFallsSilentIsWorthAnInfoThatSaysWhy) {
  node().draining = true;
  node().drain_reason = "new fan";
  node().state = NodeState::offline;
  look_for(seconds(30));
  ASSERT_THAT(changes_, testing::SizeIs(1));
  EXPECT_EQ(changes_.front().alert.severity, AlertSeverity::info);
  EXPECT_THAT(changes_.front().alert.what, HasSubstr("It was drained: new fan."));
  changes();
  node().draining = false;
  look_for(minutes(2));
  EXPECT_EQ(watch_.open_alerts().front().severity, AlertSeverity::critical);
}

TEST_F(NodeRules, AShortSilenceIsNothing) {
  for (int i = 0; i < 20; ++i) {
    node().state = NodeState::offline;
    look_for(seconds(10));
    node().state = NodeState::online;
    look_for(seconds(30));
  }
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(NodeRules, ANodeThatIsTakenOutEndsItsAlertsAndMayComeBack) {
  node().state = NodeState::offline;
  look_for(minutes(1));
  EXPECT_THAT(changes(), ElementsAre("+node_lost gpu01"));
  const NodeView kept = node();
  cluster_.nodes.clear();
  look();
  EXPECT_THAT(changes(), ElementsAre("-node_lost gpu01"));
  look_for(minutes(1));
  cluster_.nodes.push_back(kept);
  look_for(minutes(1));
  EXPECT_THAT(changes(), ElementsAre("+node_lost gpu01"));
}

TEST_F(NodeRules, ClockSkewEitherWay) {
  add_node("gpu02", 1).clock_skew_s = 0.9;
  node(0).clock_skew_s = -1.5;
  look_for(seconds(30));
  EXPECT_THAT(changes(), IsEmpty());
  look();
  EXPECT_EQ(changes_.front().alert.what,
            "The clock of gpu01 is 1.50 s behind the leader's (limit 1.00 s, worst 1.50 s, began 30.0 s ago).");
  EXPECT_THAT(changes(), ElementsAre("+clock_skew gpu01"));
  node(0).clock_skew_s = -0.1;
  look_for(seconds(70));
  EXPECT_EQ(changes_.front().alert.what,
            "The clock of gpu01 is within 500 ms of the leader's again; the worst was 1.50 s, and it lasted 35.0 s.");
  EXPECT_THAT(changes(), ElementsAre("-clock_skew gpu01"));
}

TEST_F(NodeRules, HostMemoryThatLeaks) {
  look_for(hours(2), [&] { node().memory_used_bytes += 0.1 * kGiB; });
  EXPECT_THAT(changes(), ElementsAre("+host_memory_leak gpu01"));
}

TEST_F(NodeRules, HostMemoryThatIsTakenAtOnceOrNoisyIsNoLeak) {
  Random random(3, "memory");
  int i = 0;
  look_for(hours(6), [&] {
    const double base = ++i < 2000 ? 100 : 600;
    node().memory_used_bytes = random.normal(base, 20) * kGiB;
  });
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(NodeRules, ADiskThatIsAlmostFull) {
  node().file_systems.front().used_bytes = 95 * kGiB;
  node().file_systems.front().available_bytes = 5 * kGiB;
  look_for(minutes(6));
  EXPECT_EQ(changes_.front().alert.what,
            "/ of gpu01 is 95% full with 5.00 GiB left (limit 90%, worst 95%, began 5 min 00 s ago).");
  EXPECT_THAT(changes(), ElementsAre("+disk_almost_full gpu01 /"));
  node().file_systems.front().used_bytes = 20 * kGiB;
  look_for(minutes(6));
  EXPECT_THAT(changes(), ElementsAre("-disk_almost_full gpu01 /"));
}

TEST_F(NodeRules, ADiskThatFillsIsFoundLongBeforeItIsFull) {
  auto& disk = node().file_systems.front();
  disk.used_bytes = 20 * kGiB;
  disk.available_bytes = 80 * kGiB;
  look_for(hours(8), [&] {
    disk.used_bytes += 0.004 * kGiB;
    disk.available_bytes -= 0.004 * kGiB;
  });
  EXPECT_THAT(changes(), ElementsAre("+disk_filling gpu01 /"));
}

TEST_F(NodeRules, CheckpointsThatComeAndGoDoNotFillADisk) {
  auto& disk = node().file_systems.front();
  int i = 0;
  look_for(hours(24), [&] {
    disk.used_bytes = (30 + (++i / 5 % 144) * 0.2) * kGiB;
    disk.available_bytes = 100 * kGiB - disk.used_bytes;
  });
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(NodeRules, FileSystemsWithoutSizeAreNotJudged) {
  node().file_systems.front().used_bytes = 0;
  node().file_systems.front().available_bytes = 0;
  node().file_systems.push_back({.mount = "/unknown"});
  look_for(minutes(20));
  EXPECT_THAT(changes(), IsEmpty());
}

class PeerRules : public WatchTest {
 protected:
  PeerRules() {
    for (int i = 2; i <= 8; ++i) add_node("gpu0" + std::to_string(i), 4);
    everything_works();
  }
  void heat(std::size_t place, double celsius) {
    for (GpuView& gpu : node(place).gpus) set(gpu, GpuField::temperature_c, celsius);
  }
};

TEST_F(PeerRules, AHotNodeAmongItsLikeIsFound) {
  heat(2, 78);
  look_for(minutes(20));
  EXPECT_THAT(changes_.front().alert.what, HasSubstr("16 °C hotter"));
  EXPECT_THAT(changes(), ElementsAre("+node_temperature_imbalance gpu03"));
}

TEST_F(PeerRules, MorePowerAnotherModelOrASimulationExplainsHeat) {
  heat(2, 78);
  heat(3, 78);
  heat(4, 78);
  for (GpuView& gpu : node(2).gpus) set(gpu, GpuField::power_w, 690);
  for (GpuView& gpu : node(3).gpus) gpu.model = "H100";
  node(4).simulated = true;
  look_for(hours(1));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(PeerRules, AFleetThatDiffersALotHasNoOutlier) {
  for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) heat(i, 45 + 4 * static_cast<double>(i));
  look_for(hours(1));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(PeerRules, ASlowNodeIsFoundUnlessItsPowerLimitExplainsIt) {
  for (GpuView& gpu : node(2).gpus) set(gpu, GpuField::sm_clock_mhz, 1400);
  for (GpuView& gpu : node(3).gpus) {
    set(gpu, GpuField::sm_clock_mhz, 1400);
    set(gpu, GpuField::throttle_power, 1);
  }
  look_for(minutes(20));
  auto found = changes();
  std::erase_if(found, [](const std::string& text) { return text.starts_with("+power_capping"); });
  EXPECT_THAT(found, ElementsAre("+node_clock_imbalance gpu03"));
}

TEST_F(PeerRules, RestingNodesAreNotCompared) {
  for (std::size_t i = 1; i < cluster_.nodes.size(); ++i) {
    for (GpuView& gpu : node(i).gpus) rest(gpu);
  }
  look_for(hours(1));
  EXPECT_THAT(changes(), IsEmpty()) << "one busy node has no peers";
}

}  // namespace
}  // namespace assay
