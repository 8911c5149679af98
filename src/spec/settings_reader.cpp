#include "spec/settings_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/inline_spec.h"
#include "spec/value.h"

namespace assay {
namespace {

// Every further entry is compared with all before it, and a pattern can take long to compile.
constexpr std::size_t kMostEntries = 1000;
constexpr std::size_t kMostPatterns = 50;

bool is_study_type(SettingType type) {
  return type == SettingType::matrix || type == SettingType::sweep || type == SettingType::scale;
}

std::string joined_key(const std::string& prefix, const std::string& key) {
  return prefix.empty() ? key : fmt::format("{}.{}", prefix, key);
}

std::string kinds_in_words(Kinds kinds) {
  std::vector<std::string> names;
  for (const SpecKind kind : kAllKinds) {
    if (kinds.has(kind)) names.emplace_back(name_of(kind));
  }
  if (names.size() == 1) return fmt::format("kind {}", names.front());
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("kinds {} and {}", join(names, ", "), last);
}

/// Every kind that knows this key.
std::optional<Kinds> kinds_of(std::string_view key) {
  std::optional<Kinds> found;
  for (const SpecKind kind : kAllKinds) {
    if (!resolve_key(kind, key).setting) continue;
    found = found ? *found | kind : Kinds(kind);
  }
  return found;
}

/// Whether the rows of different kinds disagree about this key, so that nothing can be said without the kind.
bool is_ambiguous(std::string_view key) {
  const Setting* first = nullptr;
  for (const SpecKind kind : kAllKinds) {
    const Setting* setting = resolve_key(kind, key).setting;
    if (setting && first && setting != first) return true;
    if (setting) first = setting;
  }
  return false;
}

}  // namespace

KindReading read_kind(const YamlNode& map, Problems& problems) {
  const Setting& setting = *resolve_key(kEveryKind, "kind").setting;
  for (const YamlEntry& entry : map.entries) {
    if (entry.key != "kind") continue;
    const auto value = read_value(setting, "kind", entry.value, problems);
    return {.kind = value ? spec_kind_from(value->get_string()) : std::nullopt, .place = entry.key_place};
  }
  for (const YamlEntry& entry : map.entries) {
    // The misspelt key itself is reported with all the other unknown keys.
    if (did_you_mean(entry.key, {"kind"}).empty() || kinds_of(entry.key)) continue;
    return {.kind = spec_kind_from(entry.value.text), .place = entry.key_place};
  }
  return {.missing = true, .place = map.place};
}

bool SettingsReader::went_wrong(std::string_view key) const {
  for (const std::string& wrong : wrong_) {
    const std::string_view shorter = wrong.size() < key.size() ? std::string_view(wrong) : key;
    const std::string_view longer = wrong.size() < key.size() ? key : std::string_view(wrong);
    if (longer.starts_with(shorter) && (longer.size() == shorter.size() || longer[shorter.size()] == '.')) return true;
  }
  return false;
}

void SettingsReader::problem(const Place& place, std::string_view key, std::string message) {
  wrong_.emplace(key);
  problems_.add(place, std::move(message));
}

std::vector<Change> SettingsReader::read_top_level(const YamlNode& map) {
  std::vector<Change> changes;
  read_map(map, "", Scope::top_level, changes);
  // Variants may name parameters, so the parameters come first.
  for (const YamlEntry& entry : map.entries) {
    const Setting* setting = resolve_key(kinds(), entry.key).setting;
    if (setting && is_study_type(setting->type)) read_study_key(*setting, entry);
  }
  return changes;
}

std::vector<Change> SettingsReader::read_override(const YamlEntry& entry) {
  std::vector<Change> changes;
  const Setting* setting = resolve_key(kinds(), entry.key).setting;
  if (setting && is_study_type(setting->type)) {
    read_study_key(*setting, entry);
  } else {
    read_entry_at(entry.key, entry, Scope::top_level, changes);
  }
  return changes;
}

void SettingsReader::read_map(const YamlNode& map, const std::string& prefix, Scope scope, std::vector<Change>& out) {
  for (const YamlEntry& entry : map.entries) {
    if (problems_.full()) return;
    read_entry_at(joined_key(prefix, entry.key), entry, scope, out);
  }
}

void SettingsReader::read_entry_at(const std::string& key, const YamlEntry& entry, Scope scope,
                                   std::vector<Change>& out) {
  if (key == "kind" && scope == Scope::top_level) return;  // read_kind has seen to it
  const auto [setting, name] = resolve_key(kinds(), key);
  if (!setting) return report_unknown(key, entry);
  if (!kind_ && is_ambiguous(key)) return;
  if (scope == Scope::variant && setting->rule.whole_study) {
    return problem(entry.key_place, key,
                   fmt::format("'{}' holds for the whole study and cannot differ between its runs.", key));
  }
  if (is_study_type(setting->type)) return;  // read_top_level comes back to it
  if (setting->type == SettingType::group) return read_group(*setting, key, entry, scope, out);
  if (!name.empty()) return read_named(*setting, {std::string(name), entry.key_place, entry.value}, out);
  if (is_free_map(setting->type)) return read_free_map(*setting, entry, out);

  auto value = setting->type == SettingType::suite ? read_suite(*setting, entry.value)
                                                   : read_value(*setting, entry.key, entry.value, problems_);
  if (!value) {
    wrong_.insert(key);
    return;
  }
  add(out,
      {key, std::move(*value), fmt::format("{}={}", key, label_of(entry.value)), entry.key_place, entry.value.place});
}

void SettingsReader::read_group(const Setting& group, const std::string& key, const YamlEntry& entry, Scope scope,
                                std::vector<Change>& out) {
  const Setting* shorthand = shorthand_setting(group, kinds());
  if (!entry.value.is_map() && !(shorthand && entry.value.is_scalar())) {
    wrong_.insert(key);
    const std::string words = shorthand ? "a name or a mapping" : "a mapping";
    return add_shape_problem(group, key, words, entry.value, problems_);
  }
  if (!shorthand) return read_map(entry.value, key, scope, out);

  // A mapping that names a thing replaces the thing: what was said about the former one does not fit.
  std::vector<Change> below;
  if (entry.value.is_map()) {
    read_map(entry.value, key, scope, below);
  } else if (auto name = read_value(*shorthand, key, entry.value, problems_)) {
    below.push_back({std::string(shorthand->key), std::move(*name), "", entry.key_place, entry.value.place});
  } else {
    wrong_.emplace(shorthand->key);
    return;
  }
  Change whole{key, json::object(), fmt::format("{}={}", key, label_of(entry.value)), entry.key_place,
               entry.value.place};
  for (const Change& part : below) whole.value.get_object()[part.key.substr(key.size() + 1)] = part.value;
  whole.parts = std::move(below);
  add(out, std::move(whole));
}

void SettingsReader::read_free_map(const Setting& setting, const YamlEntry& entry, std::vector<Change>& out) {
  if (!entry.value.is_map()) {
    wrong_.emplace(setting.key);
    return add_shape_problem(setting, setting.key, type_words(setting), entry.value, problems_);
  }
  const std::size_t most = setting.type == SettingType::patterns ? kMostPatterns : kMostEntries;
  if (entry.value.entries.size() > most) {
    return problem(entry.key_place, setting.key, fmt::format("'{}' has more than {} entries.", setting.key, most));
  }
  for (const YamlEntry& named : entry.value.entries) {
    if (problems_.full()) return;
    read_named(setting, named, out);
  }
}

void SettingsReader::read_named(const Setting& setting, const YamlEntry& entry, std::vector<Change>& out) {
  if (setting.type == SettingType::parameters) parameters_.insert(entry.key);
  auto read = read_entry(setting, entry, kind_, problems_);
  if (!read) {
    wrong_.insert(fmt::format("{}.{}", setting.key, entry.key));
    return;
  }
  const std::string key = fmt::format("{}.{}", setting.key, read->first);
  add(out, {key, std::move(read->second), fmt::format("{}={}", key, label_of(entry.value)), entry.key_place,
            entry.value.place});
}

void SettingsReader::add(std::vector<Change>& out, Change change) {
  const auto clash = std::find_if(out.begin(), out.end(), [&](const Change& other) {
    return other.key == change.key || change.key.starts_with(other.key + ".") ||
           other.key.starts_with(change.key + ".");
  });
  if (clash != out.end()) {
    return problem(change.key_place, change.key,
                   clash->key == change.key ? fmt::format("'{}' is given twice. Remove one of them.", change.key)
                                            : fmt::format("'{}' and '{}' are given side by side. Put both into one "
                                                          "mapping.",
                                                          clash->key, change.key));
  }
  const Setting& setting = *resolve_key(kinds(), change.key).setting;
  if (!setting.rule.family.empty()) {
    for (const Change& other : out) {
      const Setting& present = *resolve_key(kinds(), other.key).setting;
      if (present.rule.family != setting.rule.family || &present == &setting || went_wrong(setting.key)) continue;
      problem(change.key_place, setting.key,
              fmt::format("'{}' and '{}' exclude each other. Remove one of them.", present.key, setting.key));
      return;
    }
  }
  out.push_back(std::move(change));
}

std::optional<json::value> SettingsReader::read_suite(const Setting& setting, const YamlNode& node) {
  if (node.is_scalar()) {
    if (node.text == "quick" || node.text == "standard") return json::value(node.text);
    problems_.add(node.place, fmt::format("{} is not one of quick, standard, or a list of specifications.{}",
                                          shown(setting.key, node), did_you_mean(node.text, {"quick", "standard"})));
    return std::nullopt;
  }
  if (!node.is_list() || node.items.empty()) {
    add_shape_problem(setting, setting.key, type_words(setting), node, problems_);
    return std::nullopt;
  }
  json::array specifications;
  bool good = true;
  for (const YamlNode& item : node.items) {
    auto read = item.is_scalar() && !item.text.empty() ? std::optional(json::value(item.text))
                                                       : read_inline_specification(item, problems_);
    good = good && read;
    if (read) specifications.push_back(std::move(*read));
  }
  return good ? std::optional<json::value>(std::move(specifications)) : std::nullopt;
}

void SettingsReader::report_unknown(const std::string& key, const YamlEntry& entry) {
  if (kind_) {
    if (const auto others = kinds_of(key)) {
      return problem(
          entry.key_place, key,
          fmt::format("'{}' is a setting of {}, not of kind {}.", entry.key, kinds_in_words(*others), name_of(*kind_)));
    }
  }
  const std::string shown_key = printable(std::string_view(entry.key).substr(0, 60));
  const auto meant = problems_.full() ? std::nullopt : meant_key(key, entry);
  const auto dot = key.size() > entry.key.size() ? key.size() - entry.key.size() - 1 : std::string::npos;
  const std::string where = dot == std::string::npos ? "" : fmt::format(" in '{}'", key.substr(0, dot));
  if (!meant) {
    return problem(entry.key_place, key,
                   fmt::format("unknown key '{}'{}. docs/reference/spec.md lists all keys.", shown_key, where));
  }
  suggested_.insert(*meant);
  const bool below = dot != std::string::npos && meant->starts_with(key.substr(0, dot + 1));
  problem(
      entry.key_place, key,
      fmt::format("unknown key '{}'{}. Did you mean '{}'?", shown_key, where, below ? meant->substr(dot + 1) : *meant));
}

std::optional<std::string> SettingsReader::meant_key(const std::string& key, const YamlEntry& entry) const {
  if (parameters_.contains(key)) return fmt::format("params.{}", key);
  if (key.size() > 64) return std::nullopt;
  const std::string prefix = key.substr(0, key.size() - entry.key.size());
  std::vector<std::string> candidates;
  for (const Setting& setting : settings_table()) {
    if (!setting.kinds.overlaps(kinds())) continue;
    // `rank: 8` belongs under `lora`.
    if (prefix.empty() && setting.key.ends_with("." + key)) return std::string(setting.key);
    if (setting.key.starts_with(prefix)) candidates.emplace_back(setting.key.substr(prefix.size()));
  }
  const auto meant = nearest(entry.key, candidates);
  return meant ? std::optional(prefix + *meant) : std::nullopt;
}

}  // namespace assay
