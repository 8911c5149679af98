#include "spec/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/study.h"
#include "spec/spec.h"
#include "spec/spec_setting.h"

namespace assay {
namespace {

using testing::ElementsAre;

SpecReading read(std::string_view text, SpecOverrides overrides) { return read_spec(text, "b.yaml", overrides); }

std::vector<std::string> messages(const SpecReading& reading) {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : reading.diagnostics) texts.push_back(diagnostic.text());
  return texts;
}

json::value setting(const SpecReading& reading, std::string_view key) {
  EXPECT_THAT(messages(reading), testing::IsEmpty());
  const json::value* value = reading.spec ? find_setting(reading.spec->settings, key) : nullptr;
  return value ? *value : json::value("(absent)");
}

TEST(Overrides, SetWinsOverTheEnvironmentWhichWinsOverTheFile) {
  constexpr std::string_view file = "kind: train\nbatch_size: 1\n";
  EXPECT_EQ(setting(read(file, {}), "batch_size"), 1);
  EXPECT_EQ(setting(read(file, {.environment = {{"ASSAY_SET_BATCH_SIZE", "2"}}}), "batch_size"), 2);
  EXPECT_EQ(setting(read(file, {.assignments = {"batch_size=3"}, .environment = {{"ASSAY_SET_BATCH_SIZE", "2"}}}),
                    "batch_size"),
            3);
  EXPECT_EQ(setting(read(file, {.assignments = {"batch_size=3", "batch_size=4"}}), "batch_size"), 4);
}

TEST(Overrides, ReachEveryKindOfSetting) {
  const auto train = read("kind: train\nmodel: {name: gpt2, layers: 3}\nepochs: 50\n",
                          {.assignments = {"task=lora", "lora.rank=8", "steps=5", "model=gpt2-medium", "tags=[a, b]",
                                           "scale=[1, {ranks: 4, nodes: 2}]", "expect.loss=0.5"}});
  EXPECT_EQ(setting(train, "lora.rank"), 8);
  EXPECT_EQ(setting(train, "steps"), 5);
  EXPECT_EQ(setting(train, "epochs"), "(absent)") << "steps replace epochs";
  EXPECT_EQ(setting(train, "model"), (json::object{{"name", "gpt2-medium"}}));
  EXPECT_EQ(setting(train, "tags"), (json::array{"a", "b"}));
  EXPECT_EQ(setting(train, "expect"), (json::object{{"loss", 0.5}}));
  EXPECT_EQ(expand(*train.spec)->size(), 2U);
}

TEST(Overrides, TextIsTakenVerbatim) {
  const auto command = read("kind: command\ncommand: x\n", {.assignments = {"command=echo a: b # c=d", "name='7'"}});
  EXPECT_EQ(setting(command, "command"), "echo a: b # c=d");
  EXPECT_EQ(setting(command, "name"), "7");
}

TEST(Overrides, TheKindCanComeFromOutside) {
  EXPECT_EQ(setting(read("steps: 5\n", {.assignments = {"kind=null"}}), "kind"), "null");
}

TEST(Overrides, VariablesFindNamesThatKeepTheirCase) {
  const auto command =
      read("kind: command\ncommand: '{myRate}'\nparams: {myRate: 1}\n",
           {.environment = {{"ASSAY_SET_PARAMS_MYRATE", "2"}, {"ASSAY_SET_ENV_OMP_NUM_THREADS", "4"}}});
  EXPECT_EQ(setting(command, "params.myRate"), 2);
  EXPECT_EQ(setting(command, "env.OMP_NUM_THREADS"), "4");
}

TEST(Overrides, OtherVariablesAreNotLookedAt) {
  EXPECT_THAT(messages(read("kind: null\n", {.environment = {{"HOME", "x"}, {"ASSAY_DATA", "y"}}})),
              testing::IsEmpty());
}

TEST(Overrides, MistakesNameTheOverride) {
  EXPECT_THAT(
      messages(read("kind: train\nepochs: 0\n",
                    {.assignments = {"lora.rnk=8", "batch_size=x", "steps", "dropout=", "tags=[a"},
                     .environment = {{"ASSAY_SET_LORA_RNK", "8"}}})),
      ElementsAre("b.yaml:2:9: 'epochs: 0' must be at least 1.",
                  "ASSAY_SET_LORA_RNK=8: no setting belongs to this environment variable. Did you mean "
                  "'ASSAY_SET_LORA_RANK'?",
                  "--set steps: is not an assignment. Write '--set key=value', for example '--set batch_size=64'.",
                  "--set tags=[a: a list stands where a key must be. Is its closing ']' missing?",
                  "--set lora.rnk=8: unknown key 'lora.rnk'. Did you mean 'lora.rank'?",
                  "--set batch_size=x: 'batch_size: x' must be a whole number, for example 'batch_size: 64'.",
                  "--set dropout=: 'dropout' has no value. Write for example 'dropout: 0.1', or remove the line."));
}

TEST(Overrides, NeverMakeTheFilesOwnSettingsWrong) {
  EXPECT_THAT(
      messages(read("kind: train\nmodel: gpt2\ntask: lora\nlora: {rank: 4}\n", {.assignments = {"task=pretrain"}})),
      testing::IsEmpty());
}

TEST(Overrides, EveryKeyHasItsOwnVariable) {
  std::map<std::string, std::string_view> keys;
  for (const SpecSetting& setting : settings_table()) {
    const auto [first, is_new] = keys.emplace(variable_of(setting.key), setting.key);
    EXPECT_EQ(first->second, setting.key) << first->first;
  }
  EXPECT_EQ(variable_of("lora.rank"), "ASSAY_SET_LORA_RANK");
}

}  // namespace
}  // namespace assay
