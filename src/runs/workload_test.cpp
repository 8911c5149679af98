#include "runs/workload.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "model/study.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MakeWorkload : public testing::Test {
 protected:
  Result<Workload> made(json::object spec) const {
    return make_workload({.spec = std::move(spec)}, programs_, scratch_.path());
  }

  TemporaryFolder scratch_;
  Programs programs_{.self = "/opt/assay", .engine = "/opt/assay-engine"};
};

TEST_F(MakeWorkload, ACommandIsRunByTheShellOrAsItIs) {
  EXPECT_THAT(made({{"kind", "command"}, {"command", "a | b"}})->job.arguments, ElementsAre("sh", "-c", "a | b"));
  const auto listed = made({{"kind", "command"}, {"command", {"a", 1}}, {"env", {{"X", 2}}}, {"grace", 0.5}});
  ASSERT_TRUE(listed.ok());
  EXPECT_THAT(listed->job.arguments, ElementsAre("a", "1"));
  EXPECT_EQ(listed->job.environment.at("X"), "2");
  EXPECT_EQ(listed->job.environment.at("ASSAY_RANKS"), "1");
  EXPECT_EQ(listed->job.grace, std::chrono::milliseconds(500));
  EXPECT_EQ(listed->job.devices, std::nullopt) << "it sees what the machine shows it";
}

TEST_F(MakeWorkload, TheNullWorkloadIsThisProgramAndSeesNoGpu) {
  const auto null = made({{"kind", "null"}, {"steps", 5}});
  ASSERT_TRUE(null.ok());
  EXPECT_THAT(null->job.arguments, ElementsAre("/opt/assay", "__null-workload", "steps=5"));
  ASSERT_TRUE(null->job.devices);
  EXPECT_TRUE(null->job.devices->empty());
}

TEST_F(MakeWorkload, TrainingNeedsTheEngine) {
  const auto train = made({{"kind", "train"}});
  ASSERT_TRUE(train.ok());
  EXPECT_EQ(train->job.arguments.front(), "/opt/assay-engine");
  EXPECT_EQ(train->job.devices, std::nullopt);
  programs_.engine.clear();
  EXPECT_EQ(made({{"kind", "train"}}).error().kind, ErrorKind::no_engine);
  EXPECT_TRUE(made({{"kind", "null"}}).ok());
}

TEST_F(MakeWorkload, ALoadIsThisProgramWithItsSettings) {
  const auto load = made({{"kind", "serve"}, {"target", {{"name", "null"}}}});
  ASSERT_TRUE(load.ok());
  ASSERT_EQ(load->job.arguments.size(), 3u);
  EXPECT_EQ(load->job.arguments[0], "/opt/assay");
  EXPECT_EQ(load->job.arguments[1], "__serve-load");
  EXPECT_THAT(read_file(load->job.arguments[2]).value(), HasSubstr("\"kind\": \"serve\""));
  const auto engine = made({{"kind", "serve"}, {"target", {{"name", "engine"}}}});
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().kind, ErrorKind::unsupported);
}

TEST_F(MakeWorkload, AKindWhosePartIsNotThereSaysSo) {
  const auto workload = made({{"kind", "node"}});
  ASSERT_FALSE(workload.ok());
  EXPECT_EQ(workload.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(workload.error().message, "kind 'node' can be validated, but this version of assay cannot run it yet");
  EXPECT_EQ(workload.error().hint, "It can run the kinds command, train, serve and null.");
}

TEST_F(MakeWorkload, OtherNodesAreNotThisMachine) {
  PlannedRun planned{.nodes = 2, .spec = {{"kind", "null"}}};
  EXPECT_EQ(make_workload(planned, programs_, scratch_.path()).error().kind, ErrorKind::unsupported);
  planned.nodes = 1;
  planned.node = "no-such-node";
  EXPECT_THAT(make_workload(planned, programs_, scratch_.path()).error().message, HasSubstr("no-such-node"));
}

}  // namespace
}  // namespace assay
