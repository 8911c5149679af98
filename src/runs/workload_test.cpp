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
  Result<Workload> made(json::object spec) const { return make_workload({.spec = std::move(spec)}, scratch_.path()); }

  TemporaryFolder scratch_;
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
  EXPECT_THAT(null->job.arguments, ElementsAre("{assay}", "__null-workload", "steps=5"));
  ASSERT_TRUE(null->job.devices);
  EXPECT_TRUE(null->job.devices->empty());
}

TEST_F(MakeWorkload, TrainingNeedsTheEngineOfThePlace) {
  const auto train = made({{"kind", "train"}});
  ASSERT_TRUE(train.ok());
  EXPECT_THAT(train->job.arguments, ElementsAre("{assay-engine}", "train", "--spec", "{scratch}/spec.json"));
  EXPECT_TRUE(needs_engine(train->job));
  EXPECT_EQ(train->job.devices, std::nullopt);
  EXPECT_FALSE(needs_engine(made({{"kind", "null"}})->job));
}

TEST_F(MakeWorkload, TheRanksOfSeveralNodesAreThePlacesToStart) {
  const auto on = [&](int ranks, int nodes, json::object spec) {
    return make_workload({.ranks = ranks, .nodes = nodes, .spec = std::move(spec)}, scratch_.path());
  };
  const auto one = on(4, 1, {{"kind", "train"}});
  EXPECT_THAT(one->job.arguments, testing::IsSupersetOf({"--ranks", "4"})) << "the engine starts its own";
  EXPECT_EQ(one->job.ranks.per_node, 1);
  const auto two = on(4, 2, {{"kind", "train"}});
  EXPECT_THAT(two->job.arguments, testing::Not(testing::Contains("--ranks")));
  EXPECT_EQ(two->job.ranks.nodes, 2);
  EXPECT_EQ(two->job.ranks.per_node, 2);
  EXPECT_EQ(on(3, 2, {{"kind", "train"}}).error().kind, ErrorKind::bad_spec);
  const auto command = on(8, 2, {{"kind", "command"}, {"command", "torchrun"}});
  EXPECT_EQ(command->job.ranks.per_node, 1) << "a command starts its own";
}

TEST_F(MakeWorkload, TrainingOnGpusNeedsOneForEachRankOfANode) {
  const auto gpus = [&](int ranks, int nodes, std::string_view device) {
    return make_workload({.ranks = ranks, .nodes = nodes, .spec = {{"kind", "train"}, {"device", device}}},
                         scratch_.path())
        ->job.gpus_per_node;
  };
  EXPECT_EQ(gpus(4, 1, "cuda"), 4);
  EXPECT_EQ(gpus(8, 2, "cuda"), 4);
  EXPECT_EQ(gpus(4, 1, "cpu"), 0);
  EXPECT_EQ(gpus(4, 1, "auto"), std::nullopt) << "the place decides";
}

TEST_F(MakeWorkload, ALoadIsThisProgramWithItsSettings) {
  const auto load = made({{"kind", "serve"}, {"target", {{"name", "null"}}}});
  ASSERT_TRUE(load.ok());
  ASSERT_EQ(load->job.arguments.size(), 3u);
  EXPECT_EQ(load->job.arguments[0], "{assay}");
  EXPECT_EQ(load->job.arguments[1], "__serve-load");
  EXPECT_THAT(read_file(scratch_.path() / "spec.json").value(), HasSubstr("\"kind\": \"serve\""));
  const auto engine = made({{"kind", "serve"}, {"target", {{"name", "engine"}}}});
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().kind, ErrorKind::unsupported);
}

TEST_F(MakeWorkload, ClientsThatShareALoadHaveAKeyAndAPlace) {
  const auto on = [&](int nodes, json::object more) {
    json::object spec{{"kind", "serve"}, {"target", {{"name", "null"}}}, {"scenario", "server"}};
    for (const auto& [key, value] : more) spec[key] = value;
    return make_workload({.nodes = nodes, .spec = std::move(spec)}, scratch_.path());
  };
  const auto here = on(1, {{"clients", 3}});
  ASSERT_TRUE(here.ok());
  EXPECT_THAT(here->job.arguments,
              ElementsAre("{assay}", "__serve-load", "{scratch}/spec.json", "{scratch}/clients.key"))
      << "the first starts the others";
  EXPECT_EQ(here->job.ranks.per_node, 1);
  const std::string key = read_file(scratch_.path() / "clients.key").value();
  EXPECT_EQ(key.size(), 65u);

  const auto each = on(2, {});
  EXPECT_EQ(each->job.arguments.back(), "clients-started") << "the place starts every one";
  EXPECT_EQ(each->job.ranks.per_node, 1);
  EXPECT_THAT(read_file(scratch_.path() / "spec.json").value(), HasSubstr("\"clients\": 2"));
  EXPECT_NE(read_file(scratch_.path() / "clients.key").value(), key) << "each run has its own";
  EXPECT_EQ(on(2, {{"clients", 6}})->job.ranks.per_node, 3);
  EXPECT_EQ(on(2, {{"clients", 3}}).error().kind, ErrorKind::bad_spec);
  EXPECT_EQ(on(2, {{"scenario", "single_stream"}}).error().kind, ErrorKind::bad_spec);
  EXPECT_EQ(on(3, {{"scenario", "closed"}, {"concurrency", 2}}).error().kind, ErrorKind::bad_spec);
}

TEST_F(MakeWorkload, AKindWhosePartIsNotThereSaysSo) {
  const auto workload = made({{"kind", "node"}});
  ASSERT_FALSE(workload.ok());
  EXPECT_EQ(workload.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(workload.error().message, "kind 'node' can be validated, but this version of assay cannot run it yet");
  EXPECT_EQ(workload.error().hint, "It can run the kinds command, train, serve and null.");
}

TEST_F(MakeWorkload, ThePlaceIsToldTheNodesThatTheRunIsPinnedTo) {
  const auto nodes = [&](const PlannedRun& planned) { return make_workload(planned, scratch_.path())->job.nodes; };
  EXPECT_THAT(nodes({.spec = {{"kind", "null"}}}), testing::IsEmpty());
  EXPECT_THAT(nodes({.node = "gpu03", .spec = {{"kind", "null"}}}), testing::ElementsAre("gpu03"));
  EXPECT_THAT(nodes({.nodes = 2, .spec = {{"kind", "null"}, {"nodes", {"gpu01", "gpu02"}}}}),
              testing::ElementsAre("gpu01", "gpu02"));
  EXPECT_THAT(nodes({.nodes = 2, .spec = {{"kind", "null"}, {"nodes", "all"}}}), testing::IsEmpty());
}

}  // namespace
}  // namespace assay
