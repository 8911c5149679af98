#include "config_flags.h"

#include <fmt/format.h>

#include "base/files.h"
#include "config/yaml_tree.h"

namespace assay {
namespace {

/// What the help of a flag says: the row's words and what holds without it.
std::string help_of(const ConfigRow& row) {
  const Setting& setting = row.setting;
  std::string words(setting.description);
  std::erase(words, '`');
  if (words.ends_with('.')) words.pop_back();
  if (is_list(setting.type) && setting.type != SettingType::choices) words += "; may be given more than once";
  if (setting.type == SettingType::boolean) return words;
  if (setting.type == SettingType::choices) words += fmt::format(": {}", fmt::join(setting.rule.choices, ", "));
  std::string otherwise(setting.default_value.empty() ? setting.rule.otherwise : setting.default_value);
  std::erase(otherwise, '`');
  return fmt::format("{} [{}]", words, otherwise);
}

/// The value of a flag that stands before or after any command, unless it came from the environment.
std::string common_flag_value(const Context& context, const ConfigRow& row) {
  if (row.setting.key == "data") return context.data_option;
  const auto variable = context.environment.find(std::string(row.extras.variable));
  const bool from_environment = variable != context.environment.end() && variable->second == context.leader.url;
  return row.setting.key == "leader" && !from_environment ? context.leader.url : std::string();
}

}  // namespace

ConfigFlags::ConfigFlags(CLI::App& command, const ConfigRows& table) : table_(table) {
  command
      .add_option("--config", file_,
                  fmt::format("YAML file with settings; flags and {}… win over it ({})", table.about().prefix,
                              table.about().page))
      ->type_name("FILE");
  for (const ConfigRow& row : table.rows()) {
    if (!row.is_group() && !row.extras.common_flag) add(command, row);
  }
}

void ConfigFlags::add(CLI::App& command, const ConfigRow& row) {
  Flag& flag = flags_.emplace_back(Flag{.row = &row});
  if (row.setting.type == SettingType::boolean) {
    flag.option = command.add_flag(row.flag(), flag.on, help_of(row));
  } else if (is_list(row.setting.type)) {
    flag.option = command.add_option(row.flag(), flag.words, help_of(row))->type_name(row.value_name());
  } else {
    flag.option = command.add_option(row.flag(), flag.word, help_of(row))->type_name(row.value_name());
  }
}

Result<ConfigSources> ConfigFlags::sources(const Context& context) const {
  ConfigSources sources{.file = std::nullopt, .environment = context.environment, .flags = {}};
  if (!file_.empty()) {
    auto text = read_config_text(file_);
    if (!text) {
      Error error = std::move(text).error();
      if (error.kind == ErrorKind::missing_file) {
        error.hint = fmt::format("`assay config example {} > {}` makes one with every setting commented out.",
                                 table_.about().kind, file_);
      }
      return error;
    }
    sources.file = std::move(*text);
  }
  for (const ConfigRow& row : table_.rows()) {
    if (!row.extras.common_flag) continue;
    if (auto value = common_flag_value(context, row); !value.empty()) {
      sources.flags.push_back({std::string(row.setting.key), {std::move(value)}});
    }
  }
  for (const Flag& flag : flags_) {
    if (flag.option->count() == 0) continue;
    GivenFlag given{.key = std::string(flag.row->setting.key), .words = flag.words};
    if (flag.row->setting.type == SettingType::boolean) given.words = {flag.on ? "true" : "false"};
    if (given.words.empty()) given.words = {flag.word};
    sources.flags.push_back(std::move(given));
  }
  return sources;
}

Result<ConfigText> read_config_text(const std::string& file) {
  auto text = read_file(file, kLargestYamlBytes + 1);
  if (!text) return std::move(text).error().within("reading the configuration");
  return ConfigText{.name = file, .text = std::move(*text)};
}

std::string config_hint(const ConfigRows& table) {
  return fmt::format("{} explains every setting; `assay config show {}` tells where values come from.",
                     table.about().page, table.about().kind);
}

}  // namespace assay
