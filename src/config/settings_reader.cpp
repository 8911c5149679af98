#include "config/settings_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay {

bool SettingsReader::went_wrong(std::string_view key) const {
  return std::any_of(wrong_.begin(), wrong_.end(), [&](const std::string& wrong) {
    return wrong == key || is_key_below(key, wrong) || is_key_below(wrong, key);
  });
}

void SettingsReader::problem(const Place& place, std::string_view key, std::string message) {
  note_wrong(key);
  problems_.add(place, std::move(message));
}

bool SettingsReader::read_own(const std::string&, const YamlEntry&, std::vector<Change>&) { return false; }

SettingValue SettingsReader::read_single(const Setting& setting, const std::string& key, const YamlNode& node) {
  return read_value(setting, key, node, problems_);
}

void SettingsReader::refuse_shape(const Setting& setting, std::string_view key, std::string_view words,
                                  const YamlNode& node) {
  add_shape_problem(setting, key, words, node, problems_);
}

void SettingsReader::read_map(const YamlNode& map, const std::string& prefix, std::vector<Change>& out) {
  for (const YamlEntry& entry : map.entries) {
    if (problems_.full()) return;
    read_entry_at(prefix.empty() ? entry.key : fmt::format("{}.{}", prefix, entry.key), entry, out);
  }
}

void SettingsReader::read_entry_at(const std::string& key, const YamlEntry& entry, std::vector<Change>& out) {
  const Setting* setting = find_row(key);
  if (!setting) return report_unknown(key, entry);
  if (read_own(key, entry, out)) return;
  if (setting->type == SettingType::group) return read_group(*setting, key, entry, out);
  auto value = read_single(*setting, entry.key, entry.value);
  if (!value) return note_wrong(key);
  add(out,
      {key, std::move(*value), fmt::format("{}={}", key, label_of(entry.value)), entry.key_place, entry.value.place});
}

void SettingsReader::read_group(const Setting& group, const std::string& key, const YamlEntry& entry,
                                std::vector<Change>& out) {
  const Setting* shorthand =
      group.rule.shorthand.empty() ? nullptr : find_row(fmt::format("{}.{}", group.key, group.rule.shorthand));
  if (!entry.value.is_map() && !(shorthand && entry.value.is_scalar())) {
    note_wrong(key);
    return refuse_shape(group, key, shorthand ? "a name or a mapping" : "a mapping", entry.value);
  }
  if (!shorthand) return read_map(entry.value, key, out);

  // A mapping that names a thing replaces the thing: what was said about the former one does not fit.
  std::vector<Change> below;
  if (entry.value.is_map()) {
    read_map(entry.value, key, below);
  } else if (auto name = read_single(*shorthand, key, entry.value)) {
    below.push_back({std::string(shorthand->key), std::move(*name), "", entry.key_place, entry.value.place});
  } else {
    return note_wrong(shorthand->key);
  }
  Change whole{key, json::object(), fmt::format("{}={}", key, label_of(entry.value)), entry.key_place,
               entry.value.place};
  for (const Change& part : below) {
    // An entry of a free map within the group has a dot of its own.
    const std::string name = part.key.substr(key.size() + 1);
    const auto dot = name.find('.');
    json::value& value = whole.value.get_object()[name.substr(0, dot)];
    if (dot == std::string::npos) {
      value = part.value;
      continue;
    }
    if (!value.is_object()) value.emplace_object();
    value.get_object()[name.substr(dot + 1)] = part.value;
  }
  whole.parts = std::move(below);
  add(out, std::move(whole));
}

void SettingsReader::add(std::vector<Change>& out, Change change) {
  const auto clash = std::find_if(out.begin(), out.end(), [&](const Change& other) {
    return other.key == change.key || is_key_below(change.key, other.key) || is_key_below(other.key, change.key);
  });
  if (clash != out.end()) {
    return problem(change.key_place, change.key,
                   clash->key == change.key ? fmt::format("'{}' is given twice. Remove one of them.", change.key)
                                            : fmt::format("'{}' and '{}' are given side by side. Put both into one "
                                                          "mapping.",
                                                          clash->key, change.key));
  }
  const Setting& setting = *find_row(change.key);
  if (!setting.rule.family.empty()) {
    for (const Change& other : out) {
      const Setting& present = *find_row(other.key);
      if (present.rule.family != setting.rule.family || &present == &setting || went_wrong(setting.key)) continue;
      problem(change.key_place, setting.key,
              fmt::format("'{}' and '{}' exclude each other. Remove one of them.", present.key, setting.key));
      return;
    }
  }
  out.push_back(std::move(change));
}

void SettingsReader::report_unknown(const std::string& key, const YamlEntry& entry) {
  const std::string shown_key = printable(std::string_view(entry.key).substr(0, 60));
  const auto meant = problems_.full() ? std::nullopt : meant_key(key, entry);
  const auto dot = key.size() > entry.key.size() ? key.size() - entry.key.size() - 1 : std::string::npos;
  const std::string where = dot == std::string::npos ? "" : fmt::format(" in '{}'", key.substr(0, dot));
  if (!meant) {
    return problem(entry.key_place, key,
                   fmt::format("unknown key '{}'{}. {} lists all keys.", shown_key, where, page_));
  }
  suggested_.insert(*meant);
  const bool below = dot != std::string::npos && meant->starts_with(key.substr(0, dot + 1));
  problem(
      entry.key_place, key,
      fmt::format("unknown key '{}'{}. Did you mean '{}'?", shown_key, where, below ? meant->substr(dot + 1) : *meant));
}

std::optional<std::string> SettingsReader::meant_key(const std::string& key, const YamlEntry& entry) const {
  if (key.size() > 64) return std::nullopt;
  const std::string prefix = key.substr(0, key.size() - entry.key.size());
  std::vector<std::string> candidates;
  for (const Setting* setting : rows()) {
    // `rank: 8` belongs under `lora`.
    if (prefix.empty() && setting->key.ends_with("." + key)) return std::string(setting->key);
    if (setting->key.starts_with(prefix)) candidates.emplace_back(setting->key.substr(prefix.size()));
  }
  const auto meant = nearest(entry.key, candidates);
  return meant ? std::optional(prefix + *meant) : std::nullopt;
}

}  // namespace assay
