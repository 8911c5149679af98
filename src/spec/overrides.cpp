#include "spec/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "config/value.h"
#include "config/variables.h"
#include "spec/spec_setting.h"

namespace assay {
namespace {

constexpr std::string_view kPrefix = "ASSAY_SET_";
constexpr std::size_t kLongestName = 100;

/// The name in a free map that a variable's ending stands for: one that the file has, else in lower case (environment
/// variables, which are mostly written in capitals, as they are).
std::string name_in_map(const SpecSetting& map, std::string_view ending, const YamlNode& file) {
  if (const YamlNode* present = file.find(map.key)) {
    for (const YamlEntry& entry : present->entries) {
      if (variable_name("", entry.key) == ending) return entry.key;
    }
  }
  std::string name(ending);
  if (map.own == SpecType::variables) return name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::optional<std::string> key_of_variable(std::string_view variable, const YamlNode& file) {
  for (const SpecSetting& setting : settings_table()) {
    if (variable_of(setting.key) == variable) return std::string(setting.key);
  }
  for (const SpecSetting& setting : settings_table()) {
    const std::string prefix = variable_of(setting.key) + "_";
    if (!is_free_map(setting) || !variable.starts_with(prefix) || variable.size() == prefix.size()) continue;
    return fmt::format("{}.{}", setting.key, name_in_map(setting, variable.substr(prefix.size()), file));
  }
  return std::nullopt;
}

std::vector<std::string> known_variables() {
  std::vector<std::string> known;
  for (const SpecSetting& setting : settings_table()) known.push_back(variable_of(setting.key));
  return known;
}

class OverrideReader {
 public:
  OverrideReader(const YamlNode& file, std::deque<std::string>& names, Problems& problems)
      : file_(file), names_(names), problems_(problems) {}

  void read_variable(const std::string& variable, const std::string& value) {
    if (!variable.starts_with(kPrefix)) return;
    const Place place = name_place(fmt::format("{}={}", variable, value));
    const auto key = key_of_variable(variable, file_);
    if (!key) {
      problems_.add(place, unknown_variable(variable, kPrefix, known_variables()));
      return;
    }
    add(*key, value, place);
  }

  void read_assignment(std::string_view assignment) {
    const Place place = name_place(fmt::format("--set {}", assignment));
    const auto equals = assignment.find('=');
    const std::string_view key = trim(assignment.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      problems_.add(place, "is not an assignment. Write '--set key=value', for example '--set batch_size=64'.");
      return;
    }
    add(std::string(key), assignment.substr(equals + 1), place);
  }

  std::vector<YamlEntry> take() { return std::move(entries_); }

 private:
  Place name_place(std::string name) {
    if (name.size() > kLongestName) name.replace(kLongestName, std::string::npos, "…");
    return {names_.emplace_back(printable(name))};
  }

  void add(std::string key, std::string_view value, const Place& place) {
    if (auto node = read_yaml_value(value, place, problems_))
      entries_.push_back({std::move(key), place, std::move(*node)});
  }

  const YamlNode& file_;
  std::deque<std::string>& names_;
  Problems& problems_;
  std::vector<YamlEntry> entries_;
};

}  // namespace

std::string variable_of(std::string_view key) { return variable_name(kPrefix, key); }

std::vector<YamlEntry> read_overrides(const SpecOverrides& overrides, const YamlNode& file,
                                      std::deque<std::string>& names, Problems& problems) {
  OverrideReader reader(file, names, problems);
  for (const auto& [variable, value] : overrides.environment) reader.read_variable(variable, value);
  for (const std::string& assignment : overrides.assignments) reader.read_assignment(assignment);
  return reader.take();
}

}  // namespace assay
