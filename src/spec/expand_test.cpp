#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/study.h"
#include "spec/placeholders.h"
#include "spec/spec.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<PlannedRun> plan(std::string_view text, const SpecOverrides& overrides = {}) {
  const SpecReading reading = read_spec(text, "b.yaml", overrides);
  for (const Diagnostic& diagnostic : reading.diagnostics) ADD_FAILURE() << diagnostic.text();
  if (!reading.spec) return {};
  auto runs = expand(*reading.spec);
  if (!runs) ADD_FAILURE() << runs.error().text();
  return runs ? *runs : std::vector<PlannedRun>();
}

std::vector<std::string> variants(const std::vector<PlannedRun>& runs) {
  std::vector<std::string> names;
  for (const PlannedRun& run : runs) names.push_back(run.variant);
  return names;
}

json::value setting(const PlannedRun& run, std::string_view key) {
  const json::value* value = find_setting(run.spec, key);
  return value ? *value : json::value("(absent)");
}

TEST(Expand, APlainSpecificationIsOneRun) {
  const auto runs = plan("kind: train\nepochs: 5\n");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].variant, "baseline");
  EXPECT_EQ(runs[0].repeat, 0);
  EXPECT_EQ(runs[0].ranks, 1);
  EXPECT_EQ(runs[0].nodes, 1);
  EXPECT_EQ(runs[0].node, "");
  EXPECT_EQ(setting(runs[0], "epochs"), 5);
  EXPECT_EQ(setting(runs[0], "optimizer"), "adamw") << "settings are complete";
}

TEST(Expand, RunsDoNotCarryTheStudy) {
  const auto runs = plan(
      "kind: train\nmatrix: [{epochs: 1}]\nsweep: {batch_size: [1]}\nscale: [1]\nrepeat: 1\n"
      "nodes: [a]\neach_node: true\n");
  ASSERT_EQ(runs.size(), 2U);
  for (const std::string_view key : {"matrix", "sweep", "scale", "repeat", "seeds", "each_node"}) {
    EXPECT_EQ(setting(runs[0], key), "(absent)") << key;
  }
}

TEST(Expand, MatrixRunsTheBaselineFirst) {
  const auto runs = plan(
      "kind: train\nmodel: gpt2\ntask: lora\nlora: {rank: 16}\nmatrix:\n"
      "  - {name: rank 8, lora.rank: 8}\n  - {batch_size: 8, learning_rate: 1e-3}\n");
  EXPECT_THAT(variants(runs), ElementsAre("baseline", "rank 8", "batch_size=8, learning_rate=0.001"));
  EXPECT_EQ(setting(runs[0], "lora.rank"), 16);
  EXPECT_EQ(setting(runs[1], "lora.rank"), 8);
  EXPECT_EQ(setting(runs[1], "batch_size"), 32);
  EXPECT_EQ(setting(runs[2], "batch_size"), 8);
}

TEST(Expand, SweepIsTheProductLastKeyFastest) {
  const auto runs = plan("kind: train\nsweep: {batch_size: [16, 32], learning_rate: [1e-3, 1e-4]}\n");
  EXPECT_THAT(variants(runs), ElementsAre("batch_size=16, learning_rate=0.001", "batch_size=16, learning_rate=0.0001",
                                          "batch_size=32, learning_rate=0.001", "batch_size=32, learning_rate=0.0001"));
  EXPECT_EQ(setting(runs[2], "batch_size"), 32);
  EXPECT_EQ(setting(runs[1], "learning_rate"), 1e-4);
}

TEST(Expand, SweepTakesNestedKeysListsAndWholeModels) {
  const auto runs = plan("kind: train\nsweep: {data: {workers: [1, 2]}, model: [mlp, {name: gpt2, layers: 2}]}\n");
  EXPECT_THAT(variants(runs),
              ElementsAre("data.workers=1, model=mlp", "data.workers=1, model={name: gpt2, layers: 2}",
                          "data.workers=2, model=mlp", "data.workers=2, model={name: gpt2, layers: 2}"));
  EXPECT_EQ(setting(runs[2], "data.workers"), 2);
  EXPECT_EQ(setting(runs[1], "model"), (json::object{{"name", "gpt2"}, {"layers", 2}}));
  EXPECT_EQ(setting(plan("kind: train\nsweep: {model.hidden: [[8], [8, 4]]}\n")[1], "model.hidden"),
            (json::array{8, 4}));
}

TEST(Expand, EverythingMultiplies) {
  const auto runs = plan(
      "kind: train\nmatrix: [{name: big, batch_size: 64}]\nsweep: {dropout: [0, 0.1]}\n"
      "scale: [1, {ranks: 4, nodes: 2}]\n");
  EXPECT_THAT(variants(runs), ElementsAre("baseline, dropout=0, ranks=1", "baseline, dropout=0, ranks=4, nodes=2",
                                          "baseline, dropout=0.1, ranks=1", "baseline, dropout=0.1, ranks=4, nodes=2",
                                          "big, dropout=0, ranks=1", "big, dropout=0, ranks=4, nodes=2",
                                          "big, dropout=0.1, ranks=1", "big, dropout=0.1, ranks=4, nodes=2"));
  EXPECT_EQ(runs[7].ranks, 4);
  EXPECT_EQ(runs[7].nodes, 2);
  EXPECT_EQ(setting(runs[7], "ranks"), 4);
  EXPECT_EQ(setting(runs[7], "node_count"), 2);
}

TEST(Expand, NodesPinRuns) {
  const auto together = plan("kind: train\nnodes: [a, b]\n");
  ASSERT_EQ(together.size(), 1U);
  EXPECT_EQ(together[0].nodes, 2);
  EXPECT_EQ(together[0].node, "");

  const auto each = plan("kind: train\nnodes: [a, b]\neach_node: true\n");
  ASSERT_EQ(each.size(), 2U);
  EXPECT_EQ(each[0].node, "a");
  EXPECT_EQ(each[1].node, "b");
  EXPECT_EQ(each[1].nodes, 1);
  EXPECT_EQ(setting(each[1], "nodes"), (json::array{"b"}));

  const auto scaled = plan("kind: train\nnodes: [a, b]\nscale: [2, {ranks: 4, nodes: 2}]\n");
  EXPECT_EQ(scaled[0].node, "a");
  EXPECT_EQ(setting(scaled[1], "nodes"), (json::array{"a", "b"}));
}

TEST(Expand, EachOfAllNodesNeedsALeader) {
  const SpecReading reading = read_spec("kind: node\neach_node: true\n", "b.yaml");
  ASSERT_TRUE(reading.spec);
  const auto runs = expand(*reading.spec);
  ASSERT_FALSE(runs.ok());
  EXPECT_THAT(runs.error().text(), HasSubstr("needs a leader"));
}

TEST(Expand, RepeatsAreInterleavedInAFixedOrder) {
  constexpr std::string_view text = "kind: train\nsweep: {batch_size: [1, 2, 3, 4]}\nrepeat: 3\nseed: 7\n";
  const auto runs = plan(text);
  ASSERT_EQ(runs.size(), 12U);
  for (std::size_t round = 0; round < 3; ++round) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(runs[4 * round + i].repeat, static_cast<int>(round));
      seen.insert(runs[4 * round + i].variant);
    }
    EXPECT_EQ(seen.size(), 4U) << "every configuration once per round";
  }
  std::string order;
  for (const PlannedRun& run : runs) order += run.variant.back();
  EXPECT_EQ(order, "412323413124") << "an interrupted study resumes by this order: it must not change between versions";
  EXPECT_EQ(variants(plan(text)), variants(runs));
}

TEST(Expand, TheSeedDecidesTheOrder) {
  const auto order = [](int seed) {
    return variants(
        plan("kind: train\nsweep: {batch_size: [1, 2, 3, 4, 5, 6]}\nrepeat: 2\nseed: " + std::to_string(seed) + "\n"));
  };
  EXPECT_NE(order(1), order(2));
}

TEST(Expand, EachRepeatHasItsOwnSeedAndConfigurationsShareIt) {
  const auto runs = plan("kind: train\nsweep: {batch_size: [1, 2]}\nrepeat: 4\nseed: 7\n");
  std::map<int, std::set<std::int64_t>> seeds;
  for (const PlannedRun& run : runs) seeds[run.repeat].insert(setting(run, "seed").as_int64());
  std::set<std::int64_t> distinct;
  for (const auto& [repeat, of_round] : seeds) {
    EXPECT_EQ(of_round.size(), 1U) << "configurations meet the same seed in repeat " << repeat;
    distinct.insert(*of_round.begin());
  }
  EXPECT_EQ(distinct.size(), 4U);
  EXPECT_EQ(*seeds[0].begin(), 7) << "the first repeat has the seed that was written";
  EXPECT_EQ(*seeds[1].begin(), 2074481814) << "a contract: a study of the same seed is the same in every version";
  EXPECT_EQ(setting(runs[0], "seeds"), "(absent)");
}

TEST(Expand, AllRepeatsHaveOneSeedWhereThatIsAskedFor) {
  for (const PlannedRun& run : plan("kind: train\nrepeat: 3\nseed: 7\nseeds: same\n")) {
    EXPECT_EQ(setting(run, "seed"), 7);
  }
}

TEST(Expand, ACommandGetsTheSeedOfItsRepeat) {
  const auto runs = plan("kind: command\ncommand: [run, '{seed}']\nrepeat: 2\n");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(setting(runs[0], "command").at(1), "1");
  EXPECT_EQ(setting(runs[1], "command").at(1), json::value(std::to_string(setting(runs[1], "seed").as_int64())));
  EXPECT_NE(setting(runs[1], "command").at(1), "1");
}

TEST(Expand, RunsKnowThePlaceOfTheirConfigurationInTheFile) {
  for (const PlannedRun& run : plan("kind: train\nsweep: {batch_size: [8, 1, 4]}\nrepeat: 3\n")) {
    const int place = run.variant == "batch_size=8" ? 0 : run.variant == "batch_size=1" ? 1 : 2;
    EXPECT_EQ(run.configuration, place) << run.variant;
  }
}

TEST(Expand, StrongScalingKeepsTheEffectiveBatch) {
  const auto strong = plan("kind: train\nbatch_size: 64\nscale: [1, 2, 4]\nscaling: strong\n");
  const auto weak = plan("kind: train\nbatch_size: 64\nscale: [1, 2, 4]\n");
  ASSERT_EQ(strong.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(setting(strong[i], "batch_size").as_int64() * strong[i].ranks, 64);
    EXPECT_EQ(setting(weak[i], "batch_size"), 64) << "per rank";
  }
}

TEST(Expand, VariantsReplaceWhatExcludesThem) {
  const auto runs = plan("kind: train\nepochs: 50\nmatrix: [{name: short, steps: 10}]\n");
  EXPECT_EQ(setting(runs[1], "steps"), 10);
  EXPECT_EQ(setting(runs[1], "epochs"), "(absent)");
}

TEST(Expand, SettingsWithoutMeaningAreLeftOutAndDefaultsFollow) {
  const auto runs = plan(
      "kind: train\nmodel: gpt2\ntask: lora\nlora: {rank: 4}\n"
      "matrix: [{name: full, task: finetune}, {name: tiny, model: mlp, task: classification}]\n");
  EXPECT_EQ(setting(runs[0], "lora.rank"), 4);
  EXPECT_EQ(setting(runs[1], "lora"), "(absent)");
  EXPECT_EQ(setting(runs[2], "dataset.name"), "spiral") << "the default follows the variant's model";
  EXPECT_EQ(setting(runs[0], "dataset.name"), "synthetic-tokens");
}

TEST(Expand, AGroupThatNamesAThingIsReplacedOthersAreMerged) {
  const auto runs = plan(
      "kind: train\nmodel: {name: gpt2, layers: 2}\ntask: lora\nlora: {rank: 4, alpha: 8}\n"
      "matrix: [{name: a, model: gpt2}, {name: b, model.layers: 3}, {name: c, lora: {rank: 2}}]\n");
  EXPECT_EQ(setting(runs[1], "model"), (json::object{{"name", "gpt2"}}));
  EXPECT_EQ(setting(runs[2], "model"), (json::object{{"name", "gpt2"}, {"layers", 3}}));
  EXPECT_EQ(setting(runs[3], "lora.rank"), 2);
  EXPECT_EQ(setting(runs[3], "lora.alpha"), 8.0);
}

TEST(Expand, CommandsGetTheirParameters) {
  const auto runs = plan(
      "kind: command\ncommand: [run, '{lr}', '{{lr}}', '${lr}', '{}', '{ranks} {nodes} {seed}']\n"
      "env: {RATE: 'r={lr}'}\nparams: {lr: 1e-3}\nsweep: {params.lr: [1e-2, 1.10]}\nscale: [{ranks: 4, nodes: 2}]\n");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(setting(runs[0], "command"), (json::array{"run", "1e-2", "{lr}", "${lr}", "{}", "4 2 1"}));
  EXPECT_EQ(setting(runs[1], "command").at(1), "1.10") << "exactly as written";
  EXPECT_EQ(setting(runs[1], "env.RATE"), "r=1.10");
  EXPECT_EQ(runs[0].variant, "params.lr=0.01, ranks=4, nodes=2");
}

TEST(Expand, AHandBuiltSpecIsTakenAsComplete) {
  Spec spec{.kind = SpecKind::command,
            .settings = {{"kind", "command"}, {"name", "n"}, {"command", {"echo", "hi"}}, {"repeat", 2}}};
  const auto runs = expand(spec);
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ(setting((*runs)[1], "command"), (json::array{"echo", "hi"}));
}

TEST(Expand, MemoryIsBounded) {
  const std::string long_text(100'000, 'x');
  const SpecReading many = read_spec("kind: command\ncommand: " + long_text + "\nrepeat: 10000\n", "b.yaml");
  ASSERT_EQ(many.diagnostics.size(), 1U);
  EXPECT_THAT(many.diagnostics[0].text(), HasSubstr("b.yaml:3:9: the study asks for 10000 runs with settings of"));

  std::string command;
  for (int i = 0; i < 10'000; ++i) command += "{x}";
  const SpecReading blown =
      read_spec("kind: command\ncommand: '" + command + "'\nparams: {x: " + long_text + "}\n", "b.yaml");
  ASSERT_TRUE(blown.spec);
  const auto runs = expand(*blown.spec);
  ASSERT_FALSE(runs.ok());
  EXPECT_THAT(runs.error().text(), HasSubstr("more than 64 MiB"));
}

TEST(Placeholders, OnlyNamesInBracesCount) {
  EXPECT_THAT(placeholders_in("{a} {b_1} {1} {} {a b} ${c} {{d}} {{e} awk '{print $1}' {\"k\":{\"v\":1}}"),
              ElementsAre("a", "b_1", "e"));
  const auto value = [](std::string_view name) { return std::optional<std::string>(name == "a" ? "A" : "?"); };
  EXPECT_EQ(fill_in("x{a}y{{a}}z${a}{{{a}}}", value), "xAy{a}z${a}{{a}}");
  EXPECT_EQ(fill_in("{", value), "{");
  EXPECT_EQ(fill_in("{a", value), "{a");
  EXPECT_EQ(fill_in("", value), "");
}

}  // namespace
}  // namespace assay
