#include <gmock/gmock.h>

#include "base/text.h"
#include "cluster_fixture.h"
#include "net/client_messages.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ClusterLeader : public ClusterTest {
 protected:
  void start_with_fleet() {
    leader_.start();
    fleet_.emplace(leader_.start_fleet(2, {"--gpus", "2"}));
    for (const char* node : {"sim001", "sim002"}) {
      ASSERT_TRUE(eventually([&] { return !leader_.seconds_of(node, "gpu.util").empty(); })) << node;
    }
  }

  std::optional<AssayProcess> fleet_;
};

TEST_F(ClusterLeader, AnswersQuestionsAsTableCsvAndJson) {
  start_with_fleet();
  AssayCli& cli = leader_.cli();
  const auto table = cli.run({"query", "gpu.temperature_c node=sim001 last=1min"});
  EXPECT_EQ(table.exit_code, 0) << table.error;
  EXPECT_THAT(table.out, HasSubstr("gpu.temperature_c"));
  EXPECT_THAT(table.out, HasSubstr("node=sim001"));
  EXPECT_THAT(table.out, HasSubstr("°C"));

  const auto csv = cli.run({"query", "gpu.temperature_c", "node=sim001", "last=1min", "--csv"});
  EXPECT_EQ(csv.exit_code, 0) << csv.error;
  const auto lines = split(trim(csv.out), '\n');
  ASSERT_GE(lines.size(), 3U);
  EXPECT_EQ(lines[0], "time,metric,gpu,node,unit,min,max,mean,count");
  EXPECT_THAT(std::string(lines[1]), HasSubstr(",gpu.temperature_c,GPU-"));

  const auto answer = cli.json({"query", "gpu.temperature_c", "last=1min", "width=1s"}).at("result").as_object();
  EXPECT_EQ(answer.at("series").as_array().size(), 4U);
  EXPECT_EQ(answer.at("width_ms").to_number<int>(), 1000);
  EXPECT_TRUE(answer.at("problems").as_array().empty());
  const auto by_number = cli.run({"query", "gpu.util node=sim001 gpu=1 last=1min"});
  EXPECT_EQ(by_number.exit_code, 0) << by_number.error;
  EXPECT_THAT(by_number.out, HasSubstr("GPU 1 GPU-"));
  EXPECT_THAT(cli.run({"query", "gpu.util from=2020-01-01T00:00:00Z to=2020-01-02T00:00:00Z"}).out,
              HasSubstr("none has a value in that time"));
  EXPECT_THAT(cli.run({"query", "host.infiniband_up"}).error,
              AllOf(HasSubstr("no data of 'host.infiniband_up' yet"), Not(HasSubstr("Did you mean"))));
  EXPECT_THAT(cli.run({"query", "gpu.utl"}).error, HasSubstr("Did you mean 'gpu.util'?"));
  EXPECT_THAT(cli.run({"query", "gpu.util nod=sim001"}).error, HasSubstr("Did you mean 'node'?"));
  EXPECT_THAT(cli.run({"query", "gpu.util node=sim01"}).error, HasSubstr("Did you mean 'sim001'?"));
  for (const char* mistake :
       {"gpu.util last=soon", "gpu.util width=-1s", "gpu.util memory.util", "gpu.util from=yesterday",
        "gpu.util last=1h points=none", "no.such_metric", "gpu.util node=nobody", "gpu.util colour=red",
        "gpu.util gpu=0", "gpu.util node=sim001 gpu=7", "gpu.util node=sim001 gpu=\"1\""}) {
    const auto wrong = cli.run({"query", mistake});
    EXPECT_EQ(wrong.exit_code, 2) << mistake << ": " << wrong.out << wrong.error;
    EXPECT_FALSE(wrong.error.empty()) << mistake;
  }
}

TEST_F(ClusterLeader, TellsOfOneNodeAndOfWhatHappened) {
  start_with_fleet();
  AssayCli& cli = leader_.cli();
  const auto shown = cli.run({"nodes", "show", "sim001"});
  EXPECT_EQ(shown.exit_code, 0) << shown.error;
  for (const char* part : {"online, simulated", "it allows", "NVIDIA H200", "node_online"}) {
    EXPECT_THAT(shown.out, HasSubstr(part));
  }
  const auto events = cli.run({"events", "--node", "sim001", "--kind", "node_online", "--last", "1h"});
  EXPECT_EQ(events.exit_code, 0) << events.error;
  EXPECT_THAT(events.out, HasSubstr("the node is heard of"));
  EXPECT_THAT(cli.run({"events", "--kind", "xid"}).out, HasSubstr("Nothing happened"));
  EXPECT_EQ(cli.run({"events", "--last", "soon"}).exit_code, 2);
  const auto unknown = cli.run({"alerts", "--node", "sim01"});
  EXPECT_EQ(unknown.exit_code, 2) << "a typing mistake looks as if nothing were wrong: " << unknown.out;
}

TEST_F(ClusterLeader, IsSeenInTop) {
  start_with_fleet();
  const auto nodes = leader_.cli().run({"top", "--once"});
  EXPECT_EQ(nodes.exit_code, 0) << nodes.error;
  EXPECT_THAT(nodes.out, HasSubstr("sim001"));
  EXPECT_THAT(nodes.out, HasSubstr("sim002"));
  const auto gpus = leader_.cli().run({"top", "--once", "--gpus", "--sort", "power"});
  EXPECT_EQ(gpus.exit_code, 0) << gpus.error;
  EXPECT_THAT(gpus.out, HasSubstr("H200"));
  EXPECT_EQ(leader_.cli().run({"top", "--once", "--sort", "beauty"}).exit_code, 2);
}

TEST_F(ClusterLeader, SpeaksToPrometheusAndDescribesItself) {
  start_with_fleet();
  const auto health = leader_.request("GET", "/health", "");
  EXPECT_EQ(health.status, 200);
  EXPECT_THAT(health.body, HasSubstr("OK"));
  const auto document = parse_json(leader_.request("GET", "/api/v1/openapi.json", "").body);
  ASSERT_TRUE(document.ok() && document->is_object());
  EXPECT_THAT(std::string(document->at("openapi").as_string()), testing::StartsWith("3."));
  for (const char* path : {"/api/v1/nodes", "/api/v1/query", "/api/v1/alerts", "/metrics"}) {
    EXPECT_TRUE(document->at("paths").as_object().contains(path)) << path;
  }
  const auto metrics = leader_.request("GET", "/metrics", leader_.owner_secret());
  EXPECT_EQ(metrics.status, 200);
  for (const char* name : {"DCGM_FI_DEV_GPU_UTIL{", "DCGM_FI_DEV_GPU_TEMP{", "DCGM_FI_DEV_POWER_USAGE{",
                           "# TYPE DCGM_FI_DEV_GPU_TEMP gauge", "\"sim002\""}) {
    EXPECT_THAT(metrics.body, HasSubstr(name));
  }
  EXPECT_EQ(leader_.request("GET", "/nowhere", leader_.owner_secret()).status, 404);
}

TEST_F(ClusterLeader, StopsWhenItIsToldTo) {
  leader_.start();
  auto agent = leader_.start_agent("n1");
  ASSERT_TRUE(eventually([&] { return !leader_.seconds_of("n1").empty(); }));
  const fs::path endpoint = leader_.cli().data() / "leader" / "endpoint.json";
  // With its agent connected: that has a stream of commands open.
  EXPECT_EQ(leader_.process().terminate(), 0);
  EXPECT_FALSE(fs::exists(endpoint)) << "it is gone, and its address is not";
  const auto without = leader_.cli().run({"nodes"});
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_THAT(without.error, HasSubstr("assay serve"));
  EXPECT_EQ(agent.terminate(), 0);
  // What it took in can be asked for without it.
  EXPECT_FALSE(leader_.seconds_of("n1").empty());
  leader_.start();
  auto second = AssayProcess({"serve", "--listen", "127.0.0.1:0"}, leader_.cli().folder() / "second.log",
                             {{"ASSAY_DATA", leader_.cli().data().string()}});
  EXPECT_EQ(second.wait(), 3) << "two leaders share a folder: " << second.said();
  EXPECT_TRUE(fs::exists(endpoint));
}

}  // namespace
}  // namespace assay
