#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "config/numbers.h"
#include "model/study.h"
#include "spec/spec.h"
#include "spec/spec_setting.h"
#include "support/generated_page.h"
#include "support/source_tree.h"

namespace assay {
namespace {

using testing::HasSubstr;

const fs::path kSourceFolder = test::source_folder();

/// The least that a specification of this kind needs, with the other setting that `setting` depends on.
std::string specification_for(const SpecSetting& setting, SpecKind kind) {
  std::string text = "kind: " + std::string(name_of(kind)) + "\n";
  if (kind == SpecKind::command && setting.key != "command") text += "command: 'true'\n";
  if (!setting.rule.needs || setting.type == SettingType::group) return text;
  const Need& need = *setting.rule.needs;
  const std::string value = std::string(need.values[0]) + (need.values[0].ends_with(':') ? "x" : "");
  if (need.key == "target.name" && value == "openai") text += "target.openai: http://h/v1\n";
  if (value == "trace" && setting.key != "trace") text += "trace: t.jsonl\n";
  return text + std::string(need.key) + ": " + value + "\n";
}

SpecReading read_with(const SpecSetting& setting, SpecKind kind, std::string_view value) {
  if (setting.key == "kind") return read_spec("kind: " + std::string(value) + "\ncommand: 'true'\n", "b.yaml");
  std::string text = specification_for(setting, kind);
  if (setting.key == "each_node") text += "nodes: [a]\n";
  if (setting.key == "target.token_env") text += "target.openai: http://h/v1\n";
  if (setting.key == "target.weights") text += "target.endpoints: [http://h2/v1]\n";
  if (setting.key == "target.retries") text += "scenario: closed\n";
  return read_spec(text + std::string(setting.key) + ": " + std::string(value) + "\n", "b.yaml");
}

std::string problems_in(const SpecReading& reading) {
  std::string all;
  for (const Diagnostic& diagnostic : reading.diagnostics) all += diagnostic.text() + "\n";
  return all;
}

template <typename Visit>
void for_each_setting(Visit visit) {
  for (const SpecSetting& setting : settings_table()) {
    for (const SpecKind kind : kAllKinds) {
      if (setting.kinds.has(kind)) visit(setting, kind);
    }
  }
}

TEST(SettingsTable, EveryDefaultReadsBackAsItself) {
  for_each_setting([](const SpecSetting& setting, SpecKind kind) {
    if (setting.default_value.empty()) return;
    const SpecReading without = read_spec(specification_for(setting, kind), "b.yaml");
    const SpecReading with = read_with(setting, kind, setting.default_value);
    ASSERT_TRUE(without.spec) << setting.key << "\n" << problems_in(without);
    ASSERT_TRUE(with.spec) << setting.key << "\n" << problems_in(with);
    const json::value* filled_in = find_setting(without.spec->settings, setting.key);
    ASSERT_TRUE(filled_in) << setting.key;
    EXPECT_EQ(*filled_in, *find_setting(with.spec->settings, setting.key)) << setting.key;
  });
}

TEST(SettingsTable, EveryExampleIsAccepted) {
  for_each_setting([](const SpecSetting& setting, SpecKind kind) {
    if (setting.key == "matrix" || setting.key == "sweep") return;  // their examples name settings of one kind
    if (setting.key == "kind" || setting.type == SettingType::group) return;
    const SpecReading reading = read_with(setting, kind, setting.example);
    EXPECT_TRUE(reading.spec) << setting.key << "\n" << problems_in(reading);
  });
  EXPECT_TRUE(read_spec("kind: train\nmodel: gpt2\nmatrix: [{name: shorter, seq_length: 512}]\n", "b.yaml").spec);
  EXPECT_TRUE(read_spec("kind: train\nsweep: {batch_size: [16, 32, 64]}\n", "b.yaml").spec);
}

TEST(SettingsTable, EveryRowIsComplete) {
  for_each_setting([](const SpecSetting& setting, SpecKind kind) {
    EXPECT_TRUE(setting.description.ends_with('.')) << setting.key;
    EXPECT_FALSE(setting.example.empty()) << setting.key;
    EXPECT_LE(std::count(setting.key.begin(), setting.key.end(), '.'), 1) << setting.key;
    const bool says_what_happens = !setting.default_value.empty() || !setting.rule.otherwise.empty() ||
                                   setting.rule.required || setting.type == SettingType::group;
    EXPECT_TRUE(says_what_happens) << setting.key;
    if (const auto dot = setting.key.find('.'); dot != std::string_view::npos) {
      const SpecSetting* group = resolve_key(kind, setting.key.substr(0, dot)).setting;
      ASSERT_TRUE(group) << setting.key;
      EXPECT_EQ(group->type, SettingType::group) << setting.key;
    }
    if (setting.rule.needs) {
      const SpecSetting* needed = resolve_key(kind, setting.rule.needs->key).setting;
      ASSERT_TRUE(needed) << setting.key;
      EXPECT_TRUE(needed < &setting || setting.type == SettingType::group)
          << setting.key << " must follow what it needs";
    }
  });
}

TEST(SettingsTable, KeysAreUniqueWithinAKind) {
  for (const SpecKind kind : kAllKinds) {
    std::map<std::string_view, int> count;
    for (const SpecSetting& setting : settings_table()) {
      if (!setting.kinds.has(kind)) continue;
      EXPECT_EQ(++count[setting.key], 1) << setting.key;
    }
  }
}

/// A value outside the range, as a user would write it.
std::string beyond(const SpecSetting& setting, double limit, double step) {
  const double value = limit + step;
  switch (setting.type) {
    case SettingType::duration: return fmt::format("{:.9f}s", value);
    case SettingType::bytes: return fmt::format("{:.0f}B", value);
    case SettingType::rate: return fmt::format("{:.9f}/s", value);
    case SettingType::price: return fmt::format("{:.9f} USD/h", value);
    case SettingType::whole:
    case SettingType::wholes: return fmt::format("{:.0f}", value);
    default: return number_text(value);
  }
}

TEST(SettingsTable, EveryRangeIsEnforcedAtBothEnds) {
  int checked = 0;
  for_each_setting([&](const SpecSetting& setting, SpecKind kind) {
    const bool numeric = setting.type == SettingType::whole || setting.type == SettingType::wholes ||
                         setting.type == SettingType::number || setting.type == SettingType::duration ||
                         setting.type == SettingType::bytes || setting.type == SettingType::rate ||
                         setting.type == SettingType::price;
    if (!numeric) return;
    ASSERT_TRUE(setting.rule.range) << setting.key << " has no range";
    const Range& range = *setting.rule.range;
    const double step = setting.type == SettingType::number ? 1e-3 : 1;
    std::vector<std::string> outside = {beyond(setting, range.most, range.below_most ? 0 : step)};
    // Quantities with units cannot be negative in the first place.
    const bool has_unit = setting.type == SettingType::duration || setting.type == SettingType::rate ||
                          setting.type == SettingType::price;
    if (range.above_least || !has_unit || range.least > 0) {
      outside.push_back(beyond(setting, range.least, range.above_least ? 0 : -step));
    }
    for (const std::string& value : outside) {
      const SpecReading reading = read_with(setting, kind, value);
      ASSERT_EQ(reading.diagnostics.size(), 1U) << setting.key << ": " << value << "\n" << problems_in(reading);
      EXPECT_THAT(reading.diagnostics[0].message, HasSubstr("must be")) << setting.key << ": " << value;
      ++checked;
    }
  });
  EXPECT_GT(checked, 80);
}

TEST(SettingsTable, TextWithALimitIsHeldToIt) {
  for_each_setting([](const SpecSetting& setting, SpecKind kind) {
    if (setting.type != SettingType::text && setting.own != SpecType::run_name) return;
    ASSERT_TRUE(setting.rule.range) << setting.key;
    const std::string long_text(static_cast<std::size_t>(setting.rule.range->most) + 1, 'x');
    const SpecReading reading = read_with(setting, kind, long_text);
    ASSERT_EQ(reading.diagnostics.size(), 1U) << setting.key;
    EXPECT_THAT(reading.diagnostics[0].message, HasSubstr("is too long")) << setting.key;
  });
}

TEST(Schema, KnowsEverySetting) {
  const json::object schema = spec_schema();
  EXPECT_EQ(schema.at("$schema"), "https://json-schema.org/draft/2020-12/schema");
  for_each_setting([&](const SpecSetting& setting, SpecKind kind) {
    const json::object& definition = schema.at("$defs").at(name_of(kind)).as_object();
    EXPECT_EQ(definition.at("additionalProperties"), false);
    const json::object& properties = definition.at("properties").as_object();
    ASSERT_TRUE(properties.contains(setting.key)) << setting.key;
    EXPECT_THAT(std::string(properties.at(setting.key).at("description").as_string()),
                HasSubstr(std::string(setting.description)));
    const json::object& variant =
        schema.at("$defs").at(std::string(name_of(kind)) + "_variant").at("properties").as_object();
    EXPECT_EQ(variant.contains(setting.key), !setting.whole_study || setting.key == "name") << setting.key;
  });
}

TEST(Schema, DescribesValues) {
  const json::object schema = spec_schema();
  const json::value& train = schema.at("$defs").at("train").at("properties");
  EXPECT_EQ(train.at("precision").at("enum"), (json::array{"fp32", "tf32", "bf16", "fp16", "bf16_all", "fp16_all"}));
  EXPECT_EQ(train.at("batch_size").at("minimum"), 1);
  EXPECT_EQ(train.at("dropout").at("exclusiveMaximum"), 1);
  EXPECT_EQ(train.at("lora").at("properties").at("rank").at("type"), "integer");
  EXPECT_EQ(schema.at("properties").at("kind").at("enum").as_array().size(), 6U) << "five kinds, and null unquoted";
  EXPECT_EQ(schema.at("$defs").at("command").at("required"), (json::array{"kind", "command"}));
}

TEST(Reference, DocumentsEverySetting) {
  const std::string page = spec_reference();
  for_each_setting([&](const SpecSetting& setting, SpecKind) {
    EXPECT_THAT(page, HasSubstr("| `" + std::string(setting.key) + "` |"));
    EXPECT_THAT(page, HasSubstr(std::string(setting.description)));
  });
}

TEST(GeneratedPage, OfSettings) { test::expect_generated_page("docs/reference/spec.md", spec_reference()); }

TEST(Examples, AllValidateAndExpand) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(kSourceFolder / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto reading = read_spec_file(entry.path());
    ASSERT_TRUE(reading.ok()) << entry.path();
    ASSERT_TRUE(reading->spec) << problems_in(*reading);
    const auto runs = expand(*reading->spec);
    ASSERT_TRUE(runs.ok()) << runs.error().text();
    EXPECT_FALSE(runs->empty());
    ++count;
  }
  EXPECT_GE(count, 7);
}

TEST(Examples, TheGuidesStudiesHaveTheirRuns) {
  const auto runs_of = [](std::string_view name) {
    return expand(*read_spec_file(kSourceFolder / "examples" / name)->spec)->size();
  };
  EXPECT_EQ(runs_of("scaling-guide.yaml"), 15U);
  EXPECT_EQ(runs_of("llm-diagnostic-suite.yaml"), 8U);
  EXPECT_EQ(runs_of("llm-diagnostic-suite-tiny.yaml"), 35U);
  EXPECT_EQ(runs_of("mlperf-two-nodes.yaml"), 1U);
  EXPECT_EQ(runs_of("command-sweep.yaml"), 12U);
}

TEST(Numbers, ReadsWhatYamlAndJsonCallANumber) {
  EXPECT_EQ(parse_number("2e-4"), 2e-4);
  EXPECT_EQ(parse_number("+5"), 5.0);
  EXPECT_EQ(parse_number("-.5"), -0.5);
  for (const std::string_view text :
       {"", "-", ".", "+", "e5", "nan", "inf", "-inf", ".inf", "0x10", "1_000", "1,0", "5 ", "1e999"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

}  // namespace
}  // namespace assay
