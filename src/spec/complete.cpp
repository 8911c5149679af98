#include "spec/complete.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/assert.h"
#include "spec/canonical.h"
#include "spec/mlperf_limits.h"
#include "spec/spec_reader.h"
#include "spec/spec_setting.h"
#include "spec/spec_value.h"

namespace assay {
namespace {

/// What a model is usually trained for and on.
struct UsualWork {
  std::string_view model_prefix;
  std::string_view task;
  std::string_view dataset;
};
constexpr std::array kUsualWork = {
    UsualWork{"mlp", "classification", "spiral"},
    UsualWork{"resnet", "classification", "synthetic-images"},
    UsualWork{"generated", "classification", "synthetic-images"},
    UsualWork{"bert", "masked-lm", "synthetic-tokens"},
    UsualWork{"", "pretrain", "synthetic-tokens"},
};

const UsualWork& usual_work(const json::object& settings) {
  const json::value* model = find_setting(settings, "model.name");
  const std::string_view name = model && model->is_string() ? std::string_view(model->get_string()) : "";
  return *std::find_if(kUsualWork.begin(), kUsualWork.end(),
                       [&](const UsualWork& work) { return name.starts_with(work.model_prefix); });
}

/// The canonical form of every default in the table, read once by the same code that reads users' values.
const json::value* table_default(const SpecSetting& setting) {
  static const std::map<const SpecSetting*, json::value> defaults = [] {
    std::map<const SpecSetting*, json::value> read;
    for (const SpecSetting& row : settings_table()) {
      if (row.default_value.empty()) continue;
      if (is_free_map(row)) {
        read[&row] = json::object();
        continue;
      }
      Problems problems;
      const auto node = read_yaml_value(row.default_value, {"default"}, problems);
      auto value = !node                        ? std::nullopt
                   : row.own == SpecType::suite ? std::optional(json::value(node->text))
                                                : read_spec_value(row, row.key, *node, problems);
      ASSAY_ASSERT(value);
      read[&row] = std::move(*value);
    }
    return read;
  }();
  const auto found = defaults.find(&setting);
  return found == defaults.end() ? nullptr : &found->second;
}

std::optional<json::value> default_of(const SpecSetting& setting, const json::object& so_far, const json::object& given,
                                      std::string_view name) {
  if (setting.key == "name") return json::value(name);
  if (setting.key == "task") return json::value(usual_work(so_far).task);
  if (setting.key == "dataset.name") return json::value(usual_work(so_far).dataset);
  if (setting.key == "target.name" && find_setting(given, "target.openai")) return json::value("openai");
  const json::value* value = table_default(setting);
  return value ? std::optional(*value) : std::nullopt;
}

bool family_is_given(const SpecSetting& setting, SpecKind kind, const json::object& given) {
  if (setting.rule.family.empty()) return false;
  const auto table = settings_table();
  return std::any_of(table.begin(), table.end(), [&](const SpecSetting& other) {
    return other.kinds.has(kind) && other.rule.family == setting.rule.family && given.contains(other.key);
  });
}

}  // namespace

bool is_satisfied(const Need& need, const json::value* value) {
  if (!value || !value->is_string()) return false;
  const std::string_view text = value->get_string();
  return std::any_of(need.values.begin(), need.values.end(), [&](std::string_view wanted) {
    return wanted.ends_with(':') ? text.starts_with(wanted) : text == wanted;
  });
}

json::object complete_settings(SpecKind kind, const json::object& given, std::string_view name) {
  json::object settings;
  for (const SpecSetting& setting : settings_table()) {
    if (!setting.kinds.has(kind) || setting.type == SettingType::group) continue;
    if (setting.rule.needs && !is_satisfied(*setting.rule.needs, find_setting(settings, setting.rule.needs->key)))
      continue;
    if (const json::value* value = find_setting(given, setting.key)) {
      put_setting(settings, kind, setting.key, *value);
    } else if (setting.key == "kind") {
      settings["kind"] = name_of(kind);
    } else if (!family_is_given(setting, kind, given)) {
      if (const auto filled = default_of(setting, settings, given, name))
        put_setting(settings, kind, setting.key, *filled);
    }
  }
  put_limits_of_sets(settings);
  return settings;
}

}  // namespace assay
