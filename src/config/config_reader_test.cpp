#include "config/config_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_pages.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Oven {
  std::string dish;
  fs::path recipe;
  bool fan = false;
  double degrees = 0;
  std::size_t trays = 0;
  Nanos time{};
  Bytes log{};
  std::optional<std::size_t> seed;
  std::vector<std::string> names;
  std::string door;
};

const ConfigTable<Oven>& oven_table() {
  static const ConfigTable<Oven> table = [] {
    ConfigTable<Oven> made({.kind = "oven", .command = "bake", .prefix = "OVEN_", .page = "oven.md"});
    made.add({.key = "dish",
              .type = SettingType::choice,
              .default_value = "pie",
              .description = "What.",
              .example = "cake",
              .rule = {.choices = {"pie", "cake"}}},
             &Oven::dish);
    made.add({.key = "recipe",
              .type = SettingType::path,
              .description = "Of it.",
              .example = "pie.txt",
              .rule = {.otherwise = "by heart"}},
             &Oven::recipe);
    made.group({.key = "heat", .description = "How hot.", .example = "{degrees: 200}"});
    made.add({.key = "heat.fan",
              .type = SettingType::boolean,
              .default_value = "true",
              .description = "Air.",
              .example = "false"},
             &Oven::fan);
    made.add({.key = "heat.degrees",
              .type = SettingType::number,
              .default_value = "180",
              .description = "How much.",
              .example = "200",
              .rule = {.range = Range{50, 300}}},
             &Oven::degrees, {.flag = "celsius"});
    made.add({.key = "trays",
              .type = SettingType::whole,
              .default_value = "1",
              .description = "How many.",
              .example = "2",
              .rule = {.range = Range{1, 4}}},
             &Oven::trays, {.variable = "TRAYS"});
    made.add({.key = "time",
              .type = SettingType::duration,
              .default_value = "45min",
              .description = "How long.",
              .example = "1h",
              .rule = {.range = Range{0.01, 86400}}},
             &Oven::time);
    made.add(
        {.key = "log", .type = SettingType::bytes, .default_value = "1MiB", .description = "Size.", .example = "2MiB"},
        &Oven::log);
    made.add({.key = "seed",
              .type = SettingType::whole,
              .description = "Chance.",
              .example = "7",
              .rule = {.otherwise = "none"}},
             &Oven::seed);
    made.add({.key = "names",
              .type = SettingType::texts,
              .description = "Guests.",
              .example = "[Ann]",
              .rule = {.otherwise = "nobody"}},
             &Oven::names);
    made.add({.key = "door",
              .type = SettingType::text,
              .description = "Code.",
              .example = "x",
              .rule = {.otherwise = "open", .secret = true}},
             &Oven::door, {.check = [](const std::string& text) -> std::optional<std::string> {
               if (text.size() >= 4) return std::nullopt;
               return "'" + text + "' is too short.";
             }});
    made.check([](const Oven& oven, CrossCheck& cross) {
      if (oven.fan && oven.degrees > 250) cross.refuse({"heat.degrees", "heat.fan"}, "too hot for the fan.");
    });
    return made;
  }();
  return table;
}

Configured<Oven> oven(std::string file, std::map<std::string, std::string> environment = {},
                      std::vector<GivenFlag> flags = {}) {
  return read_config(oven_table(), {.file = ConfigText{"kitchen/oven.yaml", std::move(file)},
                                    .environment = std::move(environment),
                                    .flags = std::move(flags)});
}

std::vector<std::string> texts(const Configured<Oven>& read) {
  std::vector<std::string> all;
  for (const Diagnostic& diagnostic : read.reading.diagnostics) all.push_back(diagnostic.text());
  return all;
}

TEST(ConfigReader, FillsEveryMemberFromTheTable) {
  const Oven standard = *read_config(oven_table(), {}).config;
  EXPECT_EQ(standard.dish, "pie");
  EXPECT_TRUE(standard.recipe.empty());
  EXPECT_TRUE(standard.fan);
  EXPECT_EQ(standard.degrees, 180);
  EXPECT_EQ(standard.trays, 1U);
  EXPECT_EQ(standard.time, std::chrono::minutes(45));
  EXPECT_EQ(standard.log.count, 1 << 20);
  EXPECT_FALSE(standard.seed);
  EXPECT_THAT(standard.names, IsEmpty());
}

TEST(ConfigReader, TheStrongerSourceWins) {
  const auto read = oven("trays: 2\ntime: 10ms\nheat.fan: false\nrecipe: a/../pie.txt\nnames: Ann\n",
                         {{"TRAYS", "3"}, {"OVEN_TIME", "20ms"}, {"OVEN_NAMES", "[Bob, \"C, D\"]"}},
                         {{"time", {"30ms"}}, {"heat.degrees", {"300"}}});
  ASSERT_THAT(texts(read), IsEmpty());
  EXPECT_EQ(read.config->trays, 3U);
  EXPECT_EQ(read.config->time, std::chrono::milliseconds(30));
  EXPECT_EQ(read.config->recipe, "kitchen/pie.txt");
  EXPECT_THAT(read.config->names, ElementsAre("Bob", "C, D"));
  std::vector<std::string> rows;
  for (const ConfigValue& value : read.reading.values) {
    rows.push_back(std::string(value.row->setting.key) + " " + written_value(value) + " " + value.origin.text());
  }
  EXPECT_THAT(rows, ElementsAre("dish pie default", "recipe kitchen/pie.txt kitchen/oven.yaml:4",
                                "heat.fan false kitchen/oven.yaml:3", "heat.degrees 300 --celsius", "trays 3 TRAYS",
                                "time 30ms --time", "log 1MiB default", "seed (none) default",
                                "names [Bob, C, D] OVEN_NAMES", "door (open) default"));
}

TEST(ConfigReader, AValueThatIsWrongAnywhereIsSaidEvenWhereAStrongerOneHolds) {
  EXPECT_THAT(texts(oven("trays: 9\n", {{"OVEN_TRAYS", "many"}}, {{"trays", {"2"}}})),
              ElementsAre("kitchen/oven.yaml:1:8: 'trays: 9' must be at most 4.",
                          HasSubstr("OVEN_TRAYS=many: 'trays: many' must be a whole number")));
}

TEST(ConfigReader, WhatDoesNotFitTogetherIsSaidWhereItWasGiven) {
  EXPECT_THAT(texts(oven("heat: {degrees: 299}\n")), ElementsAre("kitchen/oven.yaml:1:17: too hot for the fan."));
  EXPECT_THAT(texts(oven("heat: {degrees: 299}\n", {}, {{"heat.degrees", {"298"}}})),
              ElementsAre("--celsius 298: too hot for the fan."));
  EXPECT_THAT(texts(oven("heat: {degrees: 299, fan: maybe}\n")), testing::SizeIs(1)) << "the fan is wrong by itself";
}

TEST(ConfigReader, SecretsAreNotRepeated) {
  EXPECT_THAT(texts(oven("door: abc\n")), ElementsAre("kitchen/oven.yaml:1:7: 'door': '…' is too short."));
  EXPECT_THAT(texts(oven("", {{"OVEN_DOOR", "…"}}, {{"door", {"abc"}}})),
              ElementsAre("OVEN_DOOR: 'door': '…' is too short.", "--door: 'door': '…' is too short."));
}

TEST(ConfigReader, UnknownNamesGetTheNearest) {
  EXPECT_THAT(texts(oven("fan: true\nheat: {degree: 1}\nrecipes: x\n", {{"OVEN_TRAY", "1"}})),
              ElementsAre("kitchen/oven.yaml:1:1: unknown key 'fan'. Did you mean 'heat.fan'?",
                          "kitchen/oven.yaml:2:8: unknown key 'degree' in 'heat'. Did you mean 'degrees'?",
                          "kitchen/oven.yaml:3:1: unknown key 'recipes'. Did you mean 'recipe'?",
                          "OVEN_TRAY=1: no setting belongs to this environment variable. Did you mean 'OVEN_TRAYS'?"));
  EXPECT_THAT(texts(oven("xyzzy: 1\n")),
              ElementsAre("kitchen/oven.yaml:1:1: unknown key 'xyzzy'. oven.md lists all keys."));
}

TEST(ConfigPages, ListEverySetting) {
  const std::string page = config_reference(oven_table());
  EXPECT_THAT(
      page,
      HasSubstr("| `heat.degrees` | `--celsius` `OVEN_HEAT_DEGREES` | a number, at least 50, at most 300 | `180` |"));
  EXPECT_THAT(page, HasSubstr("`--trays` `OVEN_TRAYS` `TRAYS`"));
  const std::string file = config_example(oven_table());
  EXPECT_THAT(file, HasSubstr("\n#heat:\n  # Air.\n  #fan: true\n"));
  EXPECT_THAT(file, HasSubstr("\n# Of it. Not given: by heart.\n#recipe: pie.txt\n"));
}

}  // namespace
}  // namespace assay
