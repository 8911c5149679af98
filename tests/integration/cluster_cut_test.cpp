// The network between leader and agent is cut while a run changes, for longer than anybody waits for an answer.

#include <gmock/gmock.h>

#include "base/ids.h"
#include "cluster_fixture.h"
#include "cluster_wire.h"

namespace assay {
namespace {

enum class Moment {
  offered,  ///< before the node has taken it
  running,
  ended,    ///< it ends during the cut
  stopped,  ///< somebody stops it during the cut
};
struct CutCase {
  Moment moment;
  Wire::Cut how;
};

std::string name_of(const CutCase& cut) {
  constexpr std::array<std::string_view, 4> kMoments = {"Offered", "Running", "Ended", "Stopped"};
  const std::string how = cut.how == Wire::Cut::loud ? "Loudly" : "Silently";
  return how + std::string(kMoments[static_cast<std::size_t>(cut.moment)]);
}
void PrintTo(const CutCase& cut, std::ostream* out) { *out << name_of(cut); }

constexpr int kStepsOfCut = 40;

class ClusterCut : public ClusterTest, public testing::WithParamInterface<CutCase> {
 protected:
  void start() {
    leader_.start();
    wire_.emplace(leader_.url());
    leader_.let_agents_ask(wire_->url());
    agent_.emplace(leader_.start_agent("n1", {"--allow", "run"}));
    leader_.expect_state("n1", "online");
  }
  void ask(int steps) {
    const auto spec =
        leader_.cli().write("counting.yaml", "kind: command\ncommand: \"echo begun >> " + begun_file().string() +
                                                 "; for i in $(seq " + std::to_string(steps) +
                                                 "); do echo step=$i loss=0.$i; sleep 0.1; done # " + mark_ + "\"\n");
    const auto answer = leader_.cli().json({"run", spec, "--node", "n1", "--no-wait"});
    id_ = std::string(answer.at("result").at("run").as_string());
  }
  fs::path begun_file() { return leader_.folder_for_runs() / "begun"; }
  std::string text(const std::string& field) {
    return std::string(leader_.get("/api/v1/runs/" + id_).at(field).as_string());
  }
  std::string logs() { return leader_.cli().run({"logs", id_}).out; }
  bool is_begun() {
    return eventually([&] { return !processes_with(mark_).empty(); });
  }
  bool is_over_here() {
    return eventually([&] { return processes_with(mark_).empty(); });
  }
  void expect_all_lines() {
    const auto all = logs();
    for (int i = 1; i <= kStepsOfCut; ++i) {
      const auto line = "step=" + std::to_string(i) + " ";
      const auto first = all.find(line);
      EXPECT_NE(first, std::string::npos) << line << "is lost";
      EXPECT_EQ(all.find(line, first + 1), std::string::npos) << line << "is there twice";
    }
  }

  const std::string mark_ = "mark-" + new_id();
  std::string id_;
  std::optional<Wire> wire_;
  std::optional<AssayProcess> agent_;
};

TEST_P(ClusterCut, LosesAndDoublesNothing) {
  start();
  const auto [moment, how] = GetParam();
  if (moment == Moment::offered) {
    wire_->cut(how);
    ask(kStepsOfCut);
  } else {
    ask(moment == Moment::stopped ? 100'000 : kStepsOfCut);
    ASSERT_TRUE(is_begun());
    ASSERT_TRUE(eventually([&] { return logs().find("step=3 ") != std::string::npos; }));
    wire_->cut(how);
  }
  if (moment == Moment::stopped) {
    EXPECT_EQ(leader_.cli().run({"cancel", id_}).exit_code, 0);
  }
  if (moment == Moment::ended) {
    ASSERT_TRUE(is_over_here()) << "it waits for its leader";
  }
  // Whoever is not heard of is offline, and its run is nobody else's.
  leader_.expect_state("n1", "offline");
  EXPECT_THAT(text("state"), testing::AnyOf("queued", "starting", "running"));
  wire_->restore();

  EXPECT_TRUE(eventually([&] { return text("state") == "ended"; }));
  EXPECT_EQ(text("verdict"), moment == Moment::stopped ? "interrupted" : "valid");
  if (moment != Moment::stopped) expect_all_lines();
  EXPECT_EQ(read_file(begun_file()).value_or(""), "begun\n") << "it was not begun exactly once";
  EXPECT_TRUE(is_over_here()) << "a workload is left";
  EXPECT_TRUE(leader_.get("/api/v1/runs/" + id_ + "/lease").at("lease").is_null());
}

const auto kCuts =
    testing::Values(CutCase{Moment::offered, Wire::Cut::loud}, CutCase{Moment::running, Wire::Cut::loud},
                    CutCase{Moment::running, Wire::Cut::silent}, CutCase{Moment::ended, Wire::Cut::loud},
                    CutCase{Moment::ended, Wire::Cut::silent}, CutCase{Moment::stopped, Wire::Cut::loud});
INSTANTIATE_TEST_SUITE_P(At, ClusterCut, kCuts, [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace assay
