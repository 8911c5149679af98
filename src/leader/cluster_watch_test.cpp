#include "leader/cluster_watch.h"

#include <cmath>

#include "leader/alert_desk.h"
#include "leader/leader_fixture.h"
#include "leader/node_registry.h"
#include "leader/test_agent_fixture.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ClusterWatch : public LeaderTest {
 protected:
  ClusterWatch() {
    hello(agent_);
    Reading reading;
    reading.devices = {{.id = "GPU-a", .facts = {{"name", "NVIDIA H200"}, {"index", "0"}}},
                       {.id = "GPU-b", .facts = {{"name", "NVIDIA H200"}, {"index", "1"}}}};
    read(std::move(reading));
  }
  void read(Reading reading) { taken(agent_, {agent_.batch(clock_.wall(), std::move(reading))}); }
  void read(std::vector<Sample> samples) {
    Reading reading;
    reading.samples = std::move(samples);
    read(std::move(reading));
  }
  NodeView view() {
    auto cluster = view_of(leader_->nodes(), clock_);
    EXPECT_THAT(cluster.nodes, SizeIs(1));
    return cluster.nodes.at(0);
  }

  TestAgent agent_;
};

TEST_F(ClusterWatch, ShowsGpusWithTheirNewestValues) {
  read({sample_of("gpu.util", 0.9, "GPU-b"), sample_of("gpu.temperature_c", 70, "GPU-b", "celsius")});
  const auto node = view();
  EXPECT_EQ(node.name, "gpu01");
  EXPECT_EQ(node.state, NodeState::online);
  ASSERT_THAT(node.gpus, SizeIs(2));
  EXPECT_EQ(node.gpus[1].uuid, "GPU-b");
  EXPECT_EQ(node.gpus[1].model, "NVIDIA H200");
  EXPECT_EQ(node.gpus[1].index, 1);
  EXPECT_EQ(node.gpus[1][GpuField::util], 0.9);
  EXPECT_EQ(node.gpus[1][GpuField::temperature_c], 70);
  EXPECT_TRUE(std::isnan(node.gpus[0][GpuField::util])) << "the other one said nothing";
}

TEST_F(ClusterWatch, AGpuThatIsNotInTheInventoryIsNotInvented) {
  read({sample_of("gpu.util", 0.9, "GPU-z")});
  EXPECT_THAT(view().gpus, SizeIs(2));
}

TEST_F(ClusterWatch, SeveralReasonsOfThrottlingFeedOneField) {
  Sample software = sample_of("gpu.throttle", 0, "GPU-a");
  software.key.labels["reason"] = "sw_thermal";
  Sample hardware = sample_of("gpu.throttle", 1, "GPU-a");
  hardware.key.labels["reason"] = "hw_thermal";
  read({hardware, software});
  EXPECT_EQ(view().gpus[0][GpuField::throttle_thermal], 1);
}

TEST_F(ClusterWatch, ProcessesAreCountedWhenSomebodyLooked) {
  EXPECT_EQ(view().gpus[0].processes, -1) << "nobody has looked";
  Reading reading;
  reading.processes = {{.gpu = "GPU-b", .pid = 1}, {.gpu = "GPU-b", .pid = 2}, {.gpu = "GPU-z", .pid = 3}};
  read(std::move(reading));
  EXPECT_EQ(view().gpus[0].processes, 0);
  EXPECT_EQ(view().gpus[1].processes, 2);
}

TEST_F(ClusterWatch, OldValuesAreNotKnown) {
  read({sample_of("gpu.util", 0.9, "GPU-a"), sample_of("host.memory_used_bytes", 5)});
  clock_.advance(kStaleAfter);
  taken(agent_, {});
  EXPECT_EQ(view().gpus[0][GpuField::util], 0.9);
  clock_.advance(Nanos(1));
  EXPECT_TRUE(std::isnan(view().gpus[0][GpuField::util]));
  EXPECT_TRUE(std::isnan(view().memory_used_bytes));
}

TEST_F(ClusterWatch, MemoryAndFileSystemsOfTheHost) {
  Sample used = sample_of("host.filesystem_used_bytes", 30);
  used.key.labels["mount"] = "/data";
  Sample available = sample_of("host.filesystem_available_bytes", 70);
  available.key.labels["mount"] = "/data";
  read({sample_of("host.memory_used_bytes", 6), sample_of("host.memory_available_bytes", 4), used, available,
        sample_of("host.filesystem_used_bytes", 1)});
  const auto node = view();
  EXPECT_EQ(node.memory_used_bytes, 6);
  EXPECT_EQ(node.memory_total_bytes, 10);
  ASSERT_THAT(node.file_systems, SizeIs(1));
  EXPECT_EQ(node.file_systems[0].mount, "/data");
  EXPECT_EQ(node.file_systems[0].used_bytes, 30);
  EXPECT_EQ(node.file_systems[0].available_bytes, 70);
}

TEST_F(ClusterWatch, AnOfflineNodeIsInIt) {
  clock_.advance(std::chrono::seconds(10));
  EXPECT_EQ(view().state, NodeState::offline);
  EXPECT_EQ(view().last_seen, clock_.wall() - std::chrono::seconds(10));
}

TEST_F(ClusterWatch, ALostNodeRaisesAnAlertThroughTheDesk) {
  for (int i = 0; i < 60; ++i) {
    leader_->alerts().look(view_of(leader_->nodes(), clock_));
    clock_.advance(std::chrono::seconds(5));
  }
  const auto open_now = leader_->alerts().list({});
  ASSERT_TRUE(open_now.ok());
  ASSERT_THAT(open_now->alerts, SizeIs(1));
  EXPECT_EQ(open_now->alerts.front().alert.rule, "node_lost");
}

TEST_F(ClusterWatch, ANodeWhoseClockIsBehindHasValuesAllTheSame) {
  const auto read_at = [&](Nanos behind, double value) {
    const WallTime shown = clock_.wall() - behind;
    const auto batch = agent_.batch(shown, {sample_of("host.memory_used_bytes", value, "", "bytes")});
    ASSERT_TRUE(leader_->take_batches("gpu01", body_of({batch}), shown.time_since_epoch().count()).ok());
  };
  read_at(std::chrono::minutes(10), 5);
  EXPECT_EQ(view().memory_used_bytes, 5);
  clock_.advance(kStaleAfter + Nanos(std::chrono::seconds(1)));
  EXPECT_TRUE(std::isnan(view().memory_used_bytes)) << "until it falls silent";
}

}  // namespace
}  // namespace assay
