#include "config/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/assert.h"
#include "base/text.h"
#include "config/numbers.h"
#include "config/settings_reader.h"
#include "config/variables.h"
#include "redact/redact.h"

namespace assay {
namespace {

constexpr std::size_t kLongestPlace = 100;

struct GivenValue {
  json::value value;
  Origin origin;
  Place place;
};

/// Reads all sources of one table, the weakest first.
class ConfigReader final : public SettingsReader, public CrossCheck {
 public:
  ConfigReader(const ConfigRows& table, Problems& problems)
      : SettingsReader(problems, table.about().page), table_(table) {}

  void read_file(const ConfigText& file) {
    const std::string_view name = names_.emplace_back(file.name);
    const auto root = read_yaml(file.text, {.file = name, .what = "configuration"}, problems());
    if (!root || root->kind == YamlNode::Kind::empty) return;
    if (!root->is_map()) {
      return problems().add(root->place, fmt::format("{} A configuration is a mapping, such as 'workers: 8'.",
                                                     root->is_list() ? "this is a list." : "this is plain text."));
    }
    folder_ = fs::path(file.name).parent_path();
    std::vector<Change> changes;
    read_map(*root, "", changes);
    for (Change& change : changes) {
      Origin origin{Origin::Source::file, file.name, change.key_place.line};
      given_[change.key] = {std::move(change.value), std::move(origin), change.place};
    }
    folder_.clear();
  }

  void read_variables(const std::map<std::string, std::string>& environment) {
    std::vector<std::string> known;
    for (const ConfigRow& row : table_.rows()) {
      if (row.is_group()) continue;
      known.push_back(table_.variable_of(row));
      read_variable(row, std::string(row.extras.variable), environment);
      read_variable(row, known.back(), environment);
    }
    const auto& others = table_.about().other_variables;
    for (const auto& [name, value] : environment) {
      if (!name.starts_with(table_.about().prefix) || std::find(known.begin(), known.end(), name) != known.end() ||
          std::find(others.begin(), others.end(), name) != others.end()) {
        continue;
      }
      problems().add(place_named(fmt::format("{}={}", name, value)),
                     unknown_variable(name, table_.about().prefix, known));
    }
  }

  void read_flag(const GivenFlag& flag) {
    const ConfigRow* row = table_.find(flag.key);
    ASSAY_ASSERT(row);
    const bool secret = row->setting.rule.secret;
    const bool bare = secret || row->setting.type == SettingType::boolean;
    const Place place = place_named(bare ? row->flag() : fmt::format("{} {}", row->flag(), join(flag.words, " ")));
    YamlNode node{.kind = YamlNode::Kind::list, .place = place};
    for (const std::string& word : flag.words) add_words(*row, word, node);
    if (!is_list(row->setting.type)) node = node.items.empty() ? YamlNode{.place = place} : node.items.back();
    take(*row, std::move(node), {Origin::Source::flag, row->flag()});
  }

  /// Every value, those that went wrong and those that nobody gave as the table's defaults.
  std::vector<ConfigValue> values() {
    std::vector<ConfigValue> all;
    for (const ConfigRow& row : table_.rows()) {
      if (row.is_group()) continue;
      if (const auto found = given_.find(row.setting.key); found != given_.end()) {
        all.push_back({&row, found->second.value, found->second.origin});
      } else {
        all.push_back({&row, default_of(row.setting), {}});
      }
    }
    return all;
  }

  void refuse(std::initializer_list<std::string_view> keys, std::string message) override {
    const bool follows = std::any_of(keys.begin(), keys.end(),
                                     [&](std::string_view key) { return went_wrong(key) || was_suggested(key); });
    if (follows) return;
    Place place{names_.emplace_back(table_.about().kind)};
    for (auto key = std::rbegin(keys); key != std::rend(keys); ++key) {
      if (const auto found = given_.find(*key); found != given_.end()) place = found->second.place;
    }
    problems().add(place, std::move(message));
  }

 private:
  const Setting* find_row(std::string_view key) const override {
    const ConfigRow* row = table_.find(key);
    return row ? &row->setting : nullptr;
  }
  std::vector<const Setting*> rows() const override { return table_.settings(); }

  SettingValue read_single(const Setting& setting, const std::string& key, const YamlNode& node) override {
    SettingValue value = read_value(setting, key, node, problems());
    if (!value) return std::nullopt;
    const TextCheck& check = table_.find(setting.key)->extras.check;
    const bool good =
        !check || (node.is_list() ? std::all_of(node.items.begin(), node.items.end(),
                                                [&](const YamlNode& item) { return passes(setting, check, key, item); })
                                  : passes(setting, check, key, node));
    if (!good) return std::nullopt;
    if (setting.type == SettingType::path)
      return json::value((folder_ / fs::path(node.text)).lexically_normal().string());
    return value;
  }

  bool passes(const Setting& setting, const TextCheck& check, const std::string& key, const YamlNode& item) {
    auto wrong = check(item.text);
    if (!wrong) return true;
    if (setting.rule.secret && !item.text.empty()) {
      constexpr std::string_view kHidden = "…";
      for (auto at = wrong->find(item.text); at != std::string::npos;
           at = wrong->find(item.text, at + kHidden.size())) {
        wrong->replace(at, item.text.size(), kHidden);
      }
    }
    problems().add(item.place, fmt::format("'{}': {}", key, *wrong));
    return false;
  }

  static json::value default_of(const Setting& setting) {
    if (setting.default_value.empty()) return nullptr;
    Problems none;
    const auto node = read_yaml_value(setting.default_value, {"default"}, none);
    auto value = node ? read_value(setting, setting.key, *node, none) : std::nullopt;
    ASSAY_ASSERT(value);
    return std::move(*value);
  }

  /// A variable that is empty is one that was not given: files of variables are full of them.
  void read_variable(const ConfigRow& row, const std::string& name, const std::map<std::string, std::string>& all) {
    const auto found = all.find(name);
    if (name.empty() || found == all.end() || found->second.empty()) return;
    const Place place = place_named(row.setting.rule.secret ? name : fmt::format("{}={}", name, found->second));
    YamlNode node{.kind = YamlNode::Kind::scalar, .text = found->second, .place = place};
    if (is_list(row.setting.type)) {
      auto list = read_yaml_value(found->second, place, problems());
      if (!list) return note_wrong(row.setting.key);
      node = std::move(*list);
      if (node.is_scalar() && row.setting.type == SettingType::choices) {
        YamlNode several{.kind = YamlNode::Kind::list, .place = place};
        add_words(row, node.text, several);
        node = std::move(several);
      }
    }
    take(row, std::move(node), {Origin::Source::variable, name});
  }

  /// The words of a choice have no commas, so that `doctor,run` is two of them.
  static void add_words(const ConfigRow& row, const std::string& text, YamlNode& list) {
    const auto add = [&](std::string_view word) {
      list.items.push_back({.kind = YamlNode::Kind::scalar, .text = std::string(word), .place = list.place});
    };
    if (row.setting.type != SettingType::choices) return add(text);
    for (const std::string_view word : split(text, ',')) add(trim(word));
  }

  void take(const ConfigRow& row, YamlNode node, Origin origin) {
    const std::string key(row.setting.key);
    const Place place = node.place;
    std::vector<Change> changes;
    read_entry_at(key, {key, place, std::move(node)}, changes);
    for (Change& change : changes) given_[key] = {std::move(change.value), std::move(origin), place};
  }

  Place place_named(std::string name) {
    if (name.size() > kLongestPlace) name.replace(kLongestPlace, std::string::npos, "…");
    return {names_.emplace_back(printable(name))};
  }

  const ConfigRows& table_;
  std::deque<std::string> names_;  ///< what places point at
  fs::path folder_;                ///< of the file that is being read
  std::map<std::string, GivenValue, std::less<>> given_;
};

/// Of a URL the path, where chat systems have their secrets, and what stands before the host.
std::string without_credentials(std::string_view text) {
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos) return redact(text);
  const std::string_view rest = text.substr(scheme + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const auto at = authority.rfind('@');
  const bool has_path = rest.size() > authority.size() + 1;
  return fmt::format("{}://{}{}{}", text.substr(0, scheme), at == std::string_view::npos ? "" : "[redacted]@",
                     at == std::string_view::npos ? authority : authority.substr(at + 1),
                     has_path ? "/[redacted]" : "");
}

std::string written(const Setting& setting, const json::value& value) {
  if (value.is_bool()) return value.as_bool() ? "true" : "false";
  if (value.is_number()) return limit_text(value.to_number<double>(), setting.type);
  if (value.is_string())
    return setting.rule.secret ? without_credentials(value.as_string())
                               : std::string(std::string_view(value.as_string()));
  std::vector<std::string> items;
  for (const json::value& item : value.as_array()) items.push_back(written(setting, item));
  return items.size() == 1 ? items.front() : fmt::format("[{}]", join(items, ", "));
}

}  // namespace

std::string_view name_of(Origin::Source source) {
  switch (source) {
    case Origin::Source::standard: return "default";
    case Origin::Source::file: return "file";
    case Origin::Source::variable: return "variable";
    case Origin::Source::flag: return "flag";
  }
  return "";
}

std::string Origin::text() const {
  if (source == Source::standard) return "default";
  return line > 0 ? fmt::format("{}:{}", name, line) : name;
}

std::string written_value(const ConfigValue& value) {
  const Setting& setting = value.row->setting;
  if (value.value.is_null()) return fmt::format("({})", setting.rule.otherwise);
  return printable(written(setting, value.value));
}

ConfigReading read_config_values(const ConfigRows& table, const ConfigSources& sources,
                                 const std::function<void(const std::vector<ConfigValue>&, CrossCheck&)>& check) {
  Problems problems;
  ConfigReader reader(table, problems);
  if (sources.file) reader.read_file(*sources.file);
  reader.read_variables(sources.environment);
  for (const GivenFlag& flag : sources.flags) reader.read_flag(flag);
  ConfigReading reading{.values = reader.values(), .diagnostics = {}};
  if (check) check(reading.values, reader);
  reading.diagnostics = problems.take();
  return reading;
}

}  // namespace assay
