// Each fault of the simulator raises the alert that it exists for, by the standard rules and in the time that
// docs/guides/fleet-sim.md has for it, and no alert about anything else. Hours pass in milliseconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "fleet/agent_identity.h"
#include "fleet/counting_leader_fixture.h"
#include "fleet/fleet_time.h"
#include "fleet/node_replay.h"
#include "fleet/small_recording_fixture.h"
#include "watch/watch.h"

namespace assay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::IsEmpty;

constexpr std::size_t kGpus = 8;
constexpr Nanos kFaultFrom = minutes(2);
constexpr WallTime kStart{std::chrono::hours(24 * 20'000)};

struct Raised {
  std::string rule;
  std::string node;
  std::string about;
  Nanos after{};  ///< the start of the fault
};
void PrintTo(const Raised& raised, std::ostream* out) {
  *out << raised.rule << ' ' << raised.node << ' ' << raised.about << " after " << seconds_of(raised.after) << " s";
}

void note(std::vector<Raised>& raised, const std::vector<AlertChange>& changes, Nanos at) {
  for (const auto& change : changes) {
    if (change.kind != AlertChange::Kind::raised) continue;
    raised.push_back({change.alert.rule, change.alert.node, change.alert.about, at - kFaultFrom});
  }
}

/// One node as a leader would show it to the watch.
class WatchedNode {
 public:
  WatchedNode(const std::shared_ptr<const FleetRecording>& recording, std::string name, std::uint64_t seed,
              std::span<const FleetFault> faults)
      : replay_(recording, seed, faults, Nanos(0)), names_(replay_.names()), newest_(names_.size()) {
    view_ = {.name = std::move(name), .clock_skew_s = 0, .simulated = true};
    for (const auto& device : replay_.devices()) {
      view_.gpus.push_back({.uuid = device.id, .model = "H200", .index = static_cast<int>(view_.gpus.size())});
    }
  }

  NodeView look(Nanos at, Watch& watch) {
    Batch batch;
    replay_.read(at, kStart + at, batch);
    for (const auto& event : batch.events) watch.note_event(view_.name, event);
    for (const auto& sample : batch.samples) newest_[sample.series] = {at, sample.value};
    for (auto& gpu : view_.gpus) gpu.value = GpuView::unknown_values();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto field = gpu_field_of(names_[i].key.name, names_[i].key.labels);
      if (!field || at - newest_[i].at > kStaleAfter) continue;
      for (auto& gpu : view_.gpus) {
        if (gpu.uuid == names_[i].key.labels.at("gpu")) gpu.put(*field, newest_[i].value);
      }
    }
    return view_;
  }

 private:
  static constexpr Nanos kStaleAfter = seconds(150);  // as the leader has it
  struct Newest {
    Nanos at{};
    double value = std::numeric_limits<double>::quiet_NaN();
  };
  NodeReplay replay_;
  std::vector<SeriesName> names_;
  std::vector<Newest> newest_;
  NodeView view_;
};

/// All alerts that are raised in a fleet of which the second node has a fault.
std::vector<Raised> alerts_of(const std::string& fault, std::size_t nodes, std::uint64_t seed, Nanos time) {
  const auto recorded = built_in_recording();
  const auto recording = FleetRecording::make(*recorded, {.gpus = kGpus});
  const auto faults = parse_fleet_faults(std::vector{fault}, nodes, kGpus);
  EXPECT_TRUE(faults.ok()) << faults.error().text();
  std::vector<WatchedNode> fleet;
  fleet.reserve(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    fleet.emplace_back(*recording, simulated_node_name("sim", i, nodes), seed + i,
                       i == 1 ? std::span<const FleetFault>(*faults) : std::span<const FleetFault>());
  }
  Watch watch{WatchRules()};
  std::vector<Raised> raised;
  for (Nanos at{}; at <= kFaultFrom + time; at += seconds(5)) {
    ClusterView view;
    for (auto& node : fleet) view.nodes.push_back(node.look(at, watch));
    note(raised, watch.look(view, kStart + at), at);
  }
  return raised;
}

struct Expected {
  const char* kind;
  const char* rule;
  Nanos within;
};
void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.kind; }

class GpuFaultAlerts : public testing::TestWithParam<Expected> {};

TEST_P(GpuFaultAlerts, OneIsRaisedInTimeAndNoneOfAnotherGpu) {
  const Expected& expected = GetParam();
  for (const std::uint64_t seed : {7U, 20U}) {
    const auto recorded = built_in_recording();
    const auto recording = FleetRecording::make(*recorded, {.gpus = kGpus});
    const std::string gpu = NodeReplay(*recording, seed + 1, {}, Nanos(0)).devices()[3].id;
    const auto raised = alerts_of(std::string(expected.kind) + ":node2:gpu3@2min", 2, seed, expected.within);
    EXPECT_THAT(raised, Contains(AllOf(Field(&Raised::rule, expected.rule), Field(&Raised::about, gpu))));
    EXPECT_THAT(raised, Each(AllOf(Field(&Raised::node, "sim002"), Field(&Raised::about, gpu))));
    for (const auto& one : raised) EXPECT_GE(one.after, Nanos(0));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, GpuFaultAlerts,
    testing::Values(Expected{"hot", "overheating", minutes(2) + seconds(30)},
                    Expected{"slow", "gpu_clock_imbalance", minutes(12)}, Expected{"dead", "gpu_lost", seconds(5)},
                    Expected{"leak", "gpu_memory_leak", minutes(100)}, Expected{"capped", "power_capping", minutes(13)},
                    Expected{"idle", "allocated_but_idle", minutes(21)}, Expected{"ecc", "ecc_uncorrected", seconds(5)},
                    Expected{"remap", "row_remap", seconds(5)}));

TEST(NodeFaultAlerts, ANodeWhoseGpusAreAllSlowIsFoundAmongFiveOthers) {
  const auto raised = alerts_of("slow:node2@2min", 6, 3, minutes(18));
  EXPECT_THAT(raised, Contains(Field(&Raised::rule, "node_clock_imbalance")));
  EXPECT_THAT(raised, Each(Field(&Raised::node, "sim002")));
}

/// What befalls a node shows in how it talks: so it does talk, to a leader in the time of the fleet.
std::vector<Raised> alerts_of_talk(const FleetFault& fault, Nanos within) {
  CountingLeader leader;
  FleetOptions options = leader.options();
  options.nodes = 2;
  options.faults = {fault};
  options.duration = fault.from + within;
  SteppedTime time;
  Watch watch{WatchRules()};
  std::vector<Raised> raised;
  std::map<std::string, std::pair<std::size_t, Nanos>> heard;
  FleetHooks hooks{.time = &time};
  hooks.on_second = [&](const FleetStatus& status) {
    const WallTime now = time.wall_at_start() + status.elapsed;
    ClusterView view;
    for (const auto& [name, node] : leader.nodes()) {
      if (node.sent_ns.empty()) continue;
      auto& [requests, last] = heard[name];
      if (requests != node.sent_ns.size()) last = status.elapsed;
      requests = node.sent_ns.size();
      // Sent half a second ago, on average.
      const double skew = seconds_of(Nanos(node.sent_ns.back()) - now.time_since_epoch()) + 0.5;
      const bool silent = status.elapsed - last >= seconds(3);
      view.nodes.push_back({.name = name,
                            .state = silent ? NodeState::offline : NodeState::online,
                            .clock_skew_s = silent ? std::numeric_limits<double>::quiet_NaN() : skew});
    }
    if (status.elapsed / seconds(1) % 5 == 0) note(raised, watch.look(view, now), status.elapsed);
  };
  const auto recording = FleetRecording::make(small_recording(), {.gpus = 1});
  EXPECT_TRUE(simulate_fleet(options, *recording, hooks).ok());
  return raised;
}

TEST(NodeFaultAlerts, OneIsRaisedInTimeAndNoneOfAnotherNode) {
  using Kind = FleetFault::Kind;
  struct Case {
    Kind kind;
    const char* rule;
    Nanos within;
  };
  for (const auto& [kind, rule, within] :
       {Case{Kind::node_dead, "node_lost", seconds(30)}, Case{Kind::flapping, "node_lost", seconds(30)},
        Case{Kind::skew, "clock_skew", seconds(45)}}) {
    const auto raised = alerts_of_talk({.kind = kind, .node = 1, .from = kFaultFrom}, within);
    EXPECT_THAT(raised, testing::ElementsAre(AllOf(Field(&Raised::rule, rule), Field(&Raised::node, "sim002"))))
        << name_of(kind);
  }
}

TEST(NodeFaultAlerts, AFlappingLinkIsOneAlertHoweverOftenItComesBack) {
  const auto raised = alerts_of_talk({.kind = FleetFault::Kind::flapping, .node = 1, .from = kFaultFrom}, minutes(4));
  EXPECT_THAT(raised, testing::SizeIs(1));
}

}  // namespace
}  // namespace assay
