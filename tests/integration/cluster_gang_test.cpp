// One run over several nodes, by agents: placed as a whole, recorded as one, and ended everywhere whatever dies.

#include <gmock/gmock.h>

#include <set>

#include "base/ids.h"
#include "cluster_fixture.h"
#include "net/client_messages.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class ClusterGang : public ClusterTest {
 protected:
  void start() {
    leader_.start();
    for (const char* node : {"n1", "n2"}) start_agent(node);
    for (const char* node : {"n1", "n2"}) leader_.expect_state(node, "online");
  }
  void start_agent(const std::string& node) {
    agents_.insert_or_assign(node, leader_.start_agent(node, {"--allow", "run"}));
  }
  AssayCli& cli() { return leader_.cli(); }
  /// A command on both nodes; `script` knows its RANK.
  std::string spec(const std::string& script) {
    const auto begun = "echo > " + begun_file("$RANK").string() + "; ";
    return cli().write("gang.yaml",
                       "kind: command\nnodes: [n1, n2]\ncommand: \"" + begun + script + " # " + mark_ + "\"\n");
  }
  fs::path begun_file(const std::string& rank) { return leader_.folder_for_runs() / ("begun-" + rank); }
  std::string asked(const std::string& spec) {
    for (const char* rank : {"0", "1"}) fs::remove(begun_file(rank));
    const auto answer = cli().json({"submit", spec});
    return std::string(answer.at("result").at("submitted").as_array().at(0).at("run").as_string());
  }
  json::object run_of(const std::string& id) { return leader_.get("/api/v1/runs/" + id); }
  std::string text_of(const std::string& id, std::string_view key) {
    return std::string(run_of(id).at(key).as_string());
  }
  /// Asked for, and waited for; its id.
  std::string done(const std::string& spec) {
    const auto id = asked(spec);
    EXPECT_TRUE(ends(id)) << json::serialize(run_of(id));
    return id;
  }
  bool ends(const std::string& id) {
    return eventually([&] { return text_of(id, "state") == "ended"; });
  }
  bool both_run() {
    return eventually([&] { return fs::exists(begun_file("0")) && fs::exists(begun_file("1")); });
  }
  std::string logs(const std::string& id) { return cli().run({"logs", id}).out; }
  /// No process, no lease, no job and no record of it is left.
  void expect_released(const std::string& id) {
    EXPECT_TRUE(eventually([&] { return processes_with(mark_).empty(); })) << "a workload is left";
    EXPECT_TRUE(leader_.get("/api/v1/runs/" + id + "/lease").at("lease").is_null());
    EXPECT_TRUE(eventually([&] { return leader_.get("/api/v1/queue").at("runs").as_array().empty(); }));
    for (const auto& [node, agent] : agents_) {
      const fs::path runs = cli().folder() / "agents" / node / "runs" / "runs";
      EXPECT_TRUE(eventually([&] { return !fs::exists(runs / id); })) << node << " keeps its record";
    }
    const auto next = done(cli().write("next.yaml", "kind: command\nnodes: [n1, n2]\ncommand: exit 0\n"));
    EXPECT_EQ(text_of(next, "verdict"), "valid") << json::serialize(run_of(next));
  }

  const std::string mark_ = "mark-" + new_id();
  std::map<std::string, AssayProcess> agents_;
};

TEST_F(ClusterGang, IsOneRunWithTheOutputOfAll) {
  start();
  const auto id =
      done(spec("echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR; [ $RANK = 1 ] || echo loss=0.5; "
                "echo $RANK > $ASSAY_ARTIFACTS/rank.txt"));
  const auto run = run_of(id);
  EXPECT_EQ(run.at("verdict").as_string(), "valid") << json::serialize(run);
  EXPECT_EQ(run.at("nodes").to_number<int>(), 2);
  EXPECT_EQ(run.at("placement").at("node").as_string(), "n1");
  EXPECT_EQ(run.at("placement").at("further").at(0).at("node").as_string(), "n2");
  EXPECT_EQ(run.at("metrics").at("loss").to_number<double>(), 0.5);
  EXPECT_THAT(logs(id), AllOf(HasSubstr("rank 0 of 2 at 127.0.0.1"), HasSubstr("rank 1 of 2 at 127.0.0.1")));
  const auto files = json::serialize(leader_.get("/api/v1/runs/" + id + "/artifacts"));
  EXPECT_THAT(files, AllOf(HasSubstr("\"rank.txt\""), HasSubstr("\"part-1-rank.txt\"")));
  EXPECT_EQ(leader_.get("/api/v1/runs").at("runs").as_array().size(), 1U) << "one run is recorded, not one per node";
  expect_released(id);
  EXPECT_EQ(cli().run({"reindex"}).exit_code, 0) << "what arrived is damaged";
}

TEST_F(ClusterGang, TrainingIsDoneByAllTogether) {
  if (!fs::exists(AssayCli::program().parent_path() / "assay-engine")) GTEST_SKIP() << "there is no assay-engine here";
  start();
  const auto spec = cli().write("training.yaml",
                                "kind: train\nmodel: mlp\ndataset: {name: spiral, samples: 2000}\nepochs: 3\n"
                                "device: cpu\nnodes: [n1, n2]\nscale: [1, {ranks: 2, nodes: 2}]\n");
  const auto followed =
      cli().run({"run", spec, "--leader", leader_.url(), "--token-file", leader_.token_file("admin").string()});
  EXPECT_EQ(followed.exit_code, 0) << followed.out << followed.error;
  const auto runs = leader_.get("/api/v1/runs").at("runs").as_array();
  ASSERT_EQ(runs.size(), 2U);
  std::set<std::int64_t> sizes;
  for (const auto& row : runs) {
    const auto run = run_of(std::string(row.at("id").as_string()));
    EXPECT_EQ(run.at("verdict").as_string(), "valid") << json::serialize(run.at("flags"));
    sizes.insert(run.at("ranks").to_number<std::int64_t>());
    if (run.at("nodes").to_number<int>() != 2) continue;
    std::set<std::string> ranks;
    const auto answer = leader_.request("POST", "/api/v1/runs/" + std::string(row.at("id").as_string()) + "/curves",
                                        leader_.owner_secret(), {}, R"({"axis": "time", "width": 10})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto curves = json::parse(answer.body);
    for (const auto& curve : curves.at("curves").as_array()) {
      if (!curve.at("name").as_string().starts_with("host.")) continue;
      const auto* labels = curve.as_object().if_contains("labels");
      const auto* rank = labels ? labels->as_object().if_contains("rank") : nullptr;
      ranks.insert(rank ? std::string(rank->as_string()) : "0");
    }
    EXPECT_EQ(ranks, (std::set<std::string>{"0", "1"})) << "system metrics of both nodes";
  }
  EXPECT_EQ(sizes, (std::set<std::int64_t>{1, 2}));
}

TEST_F(ClusterGang, ALoadIsSharedByClientsOnSeveralNodes) {
  start();
  const auto spec = cli().write("load.yaml",
                                "kind: serve\ntarget: {name: 'null', service_time: 1ms}\nscenario: server\n"
                                "rate: 200/s\nlimits: {e2e_p90: 10s}\nsamples: 400\nmin_duration: 0s\nseed: 3\n"
                                "nodes: [n1, n2]\nclients: 4\n");
  const auto id = done(spec);
  // Whether it was in time is not a test's business; that every request is accounted for is.
  EXPECT_THAT(text_of(id, "verdict"), AnyOf("valid", "flagged", "invalid")) << json::serialize(run_of(id));
  const auto metrics = run_of(id).at("metrics").as_object();
  EXPECT_EQ(metrics.at("clients").to_number<int>(), 4);
  EXPECT_EQ(metrics.at("samples_asked").to_number<int>(), 400);
  EXPECT_EQ(metrics.at("samples_done").to_number<int>(), 400);
}

TEST_F(ClusterGang, AFailureOnAnyNodeIsTheRuns) {
  start();
  const auto id = done(spec("[ $RANK = 1 ] && exit 7; sleep 1000"));
  const auto run = run_of(id);
  EXPECT_EQ(run.at("verdict").as_string(), "failed");
  EXPECT_THAT(std::string(run.at("error").at("message").as_string()), AllOf(HasSubstr("n2"), HasSubstr("exit code 7")));
  expect_released(id);
}

TEST_F(ClusterGang, AStoppedOneEndsEverywhere) {
  start();
  const auto id = asked(spec("sleep 1000"));
  ASSERT_TRUE(both_run());
  EXPECT_EQ(cli().run({"cancel", id}).exit_code, 0);
  EXPECT_TRUE(ends(id));
  EXPECT_EQ(text_of(id, "verdict"), "interrupted");
  expect_released(id);
}

TEST_F(ClusterGang, ALostNodeEndsItWithTheReason) {
  start();
  const auto id = asked(spec("sleep 1000"));
  ASSERT_TRUE(both_run());
  agents_.at("n2").kill_now();
  EXPECT_TRUE(eventually([&] { return text_of(id, "state") == "ended"; }));
  EXPECT_EQ(text_of(id, "verdict"), "failed");
  EXPECT_EQ(run_of(id).at("error").at("kind").as_string(), "lost_peer");
  EXPECT_THAT(std::string(run_of(id).at("error").at("message").as_string()), HasSubstr("n2"));
  start_agent("n2");
  leader_.expect_state("n2", "online");
  expect_released(id);
}

TEST_F(ClusterGang, WithoutItsFirstNodeItIsClosedAndTheOthersEnd) {
  start();
  const auto id = asked(spec("sleep 1000"));
  ASSERT_TRUE(both_run());
  agents_.at("n1").kill_now();
  EXPECT_TRUE(eventually([&] { return text_of(id, "state") == "ended"; }));
  EXPECT_EQ(text_of(id, "verdict"), "interrupted");
  EXPECT_TRUE(eventually([&] { return processes_with(mark_).empty(); })) << "the other node goes on";
  start_agent("n1");
  leader_.expect_state("n1", "online");
  expect_released(id);
}

/// No agent comes back: what the other nodes have is free for others all the same.
TEST_F(ClusterGang, WhicheverNodeIsGoneForGoodTheOthersAreFree) {
  start();
  for (const char* gone : {"n2", "n1"}) {
    SCOPED_TRACE(gone);
    const std::string left = gone == std::string("n1") ? "n2" : "n1";
    const auto id = asked(spec("sleep 1000"));
    ASSERT_TRUE(both_run());
    agents_.at(gone).kill_now();
    EXPECT_TRUE(ends(id));
    EXPECT_TRUE(leader_.get("/api/v1/runs/" + id + "/lease").at("lease").is_null());
    EXPECT_TRUE(eventually([&] { return processes_with(mark_).empty(); })) << "a workload is left";
    const auto next = done(cli().write("next.yaml", "kind: command\nnodes: [" + left + "]\ncommand: exit 0\n"));
    EXPECT_EQ(text_of(next, "verdict"), "valid") << json::serialize(run_of(next));
    start_agent(gone);
    leader_.expect_state(gone, "online");
  }
}

TEST_F(ClusterGang, GoesOnWhileTheLeaderIsAway) {
  start();
  const auto go = leader_.folder_for_runs() / "go";
  const auto id =
      asked(spec("echo begun $RANK; until [ -e " + go.string() + " ]; do sleep 0.1; done; echo ended $RANK"));
  ASSERT_TRUE(both_run());
  leader_.process().kill_now();
  leader_.start();
  ASSERT_TRUE(write_file_atomically(go, "").ok());
  EXPECT_TRUE(ends(id));
  EXPECT_EQ(text_of(id, "verdict"), "valid") << json::serialize(run_of(id));
  const auto text = logs(id);
  for (const char* line : {"begun 0\n", "begun 1\n", "ended 0\n", "ended 1\n"}) {
    const auto first = text.find(line);
    EXPECT_NE(first, std::string::npos) << line;
    EXPECT_EQ(text.find(line, first + 1), std::string::npos) << line << " is there twice";
  }
  expect_released(id);
}

}  // namespace
}  // namespace assay
