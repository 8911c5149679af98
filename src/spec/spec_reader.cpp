#include "spec/spec_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/inline_spec.h"
#include "spec/mlperf_limits.h"
#include "spec/spec_value.h"

namespace assay {
namespace {

// Every further entry is compared with all before it, and a pattern can take long to compile.
constexpr std::size_t kMostEntries = 1000;
constexpr std::size_t kMostPatterns = 50;

bool makes_runs(const SpecSetting& setting) {
  return setting.own == SpecType::matrix || setting.own == SpecType::sweep || setting.own == SpecType::scale;
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
  const SpecSetting* first = nullptr;
  for (const SpecKind kind : kAllKinds) {
    const SpecSetting* setting = resolve_key(kind, key).setting;
    if (setting && first && setting != first) return true;
    if (setting) first = setting;
  }
  return false;
}

}  // namespace

KindReading read_kind(const YamlNode& map, Problems& problems) {
  const SpecSetting& setting = *resolve_key(kEveryKind, "kind").setting;
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

std::vector<Change> SpecReader::read_top_level(const YamlNode& map) {
  std::vector<Change> changes;
  read_map(map, "", changes);
  // Variants may name parameters, so the parameters come first.
  for (const YamlEntry& entry : map.entries) {
    const SpecSetting* setting = resolve_key(kinds(), entry.key).setting;
    if (setting && makes_runs(*setting)) read_study_key(*setting, entry);
  }
  return changes;
}

std::vector<Change> SpecReader::read_override(const YamlEntry& entry) {
  std::vector<Change> changes;
  const SpecSetting* setting = resolve_key(kinds(), entry.key).setting;
  if (setting && makes_runs(*setting)) {
    read_study_key(*setting, entry);
  } else {
    read_entry_at(entry.key, entry, changes);
  }
  return changes;
}

std::vector<const Setting*> SpecReader::rows() const {
  std::vector<const Setting*> found;
  for (const SpecSetting& setting : settings_table()) {
    if (setting.kinds.overlaps(kinds())) found.push_back(&setting);
  }
  return found;
}

bool SpecReader::read_own(const std::string& key, const YamlEntry& entry, std::vector<Change>& out) {
  if (key == "kind" && scope_ == Scope::top_level) return true;  // read_kind has seen to it
  const auto [setting, name] = resolve_key(kinds(), key);
  if (!kind_ && is_ambiguous(key)) return true;
  if (scope_ == Scope::variant && setting->whole_study) {
    problem(entry.key_place, key,
            fmt::format("'{}' holds for the whole study and cannot differ between its runs.", key));
    return true;
  }
  if (makes_runs(*setting)) return true;  // read_top_level comes back to it
  if (!name.empty()) {
    read_named(*setting, {std::string(name), entry.key_place, entry.value}, out);
  } else if (is_free_map(*setting)) {
    read_free_map(*setting, entry, out);
  } else {
    return false;
  }
  return true;
}

SettingValue SpecReader::read_single(const Setting& setting, const std::string& key, const YamlNode& node) {
  const auto& row = static_cast<const SpecSetting&>(setting);
  return row.own == SpecType::suite ? read_suite(row, node) : read_spec_value(row, key, node, problems());
}

void SpecReader::refuse_shape(const Setting& setting, std::string_view key, std::string_view words,
                              const YamlNode& node) {
  add_spec_shape_problem(static_cast<const SpecSetting&>(setting), key, words, node, problems());
}

void SpecReader::read_free_map(const SpecSetting& setting, const YamlEntry& entry, std::vector<Change>& out) {
  if (setting.own == SpecType::latency_limits && entry.value.is_scalar()) return read_limit_set(setting, entry, out);
  if (!entry.value.is_map()) {
    note_wrong(setting.key);
    return add_spec_shape_problem(setting, setting.key, spec_type_words(setting), entry.value, problems());
  }
  const std::size_t most = setting.own == SpecType::patterns ? kMostPatterns : kMostEntries;
  if (entry.value.entries.size() > most) {
    return problem(entry.key_place, setting.key, fmt::format("'{}' has more than {} entries.", setting.key, most));
  }
  for (const YamlEntry& named : entry.value.entries) {
    if (problems().full()) return;
    read_named(setting, named, out);
  }
}

void SpecReader::read_limit_set(const SpecSetting& setting, const YamlEntry& entry, std::vector<Change>& out) {
  const auto& sets = latency_limit_sets();
  const std::string& name = entry.value.text;
  if (std::find(sets.begin(), sets.end(), name) == sets.end()) {
    return problem(entry.value.place, setting.key,
                   fmt::format("{} is not one of {}, or a mapping such as '{}'.{}", shown(setting.key, entry.value),
                               join(sets, ", "), setting.example, did_you_mean(name, sets)));
  }
  add(out, {std::string(setting.key), json::value(name), fmt::format("{}={}", setting.key, name), entry.key_place,
            entry.value.place});
}

void SpecReader::read_named(const SpecSetting& setting, const YamlEntry& entry, std::vector<Change>& out) {
  if (setting.own == SpecType::parameters) parameters_.insert(entry.key);
  auto read = read_entry(setting, entry, kind_, problems());
  if (!read) {
    note_wrong(fmt::format("{}.{}", setting.key, entry.key));
    return;
  }
  const std::string key = fmt::format("{}.{}", setting.key, read->first);
  add(out, {key, std::move(read->second), fmt::format("{}={}", key, label_of(entry.value)), entry.key_place,
            entry.value.place});
}

SettingValue SpecReader::read_suite(const SpecSetting& setting, const YamlNode& node) {
  if (node.is_scalar()) {
    if (node.text == "quick" || node.text == "standard") return json::value(node.text);
    problems().add(node.place, fmt::format("{} is not one of quick, standard, or a list of specifications.{}",
                                           shown(setting.key, node), did_you_mean(node.text, {"quick", "standard"})));
    return std::nullopt;
  }
  if (!node.is_list() || node.items.empty()) {
    add_spec_shape_problem(setting, setting.key, spec_type_words(setting), node, problems());
    return std::nullopt;
  }
  json::array specifications;
  bool good = true;
  for (const YamlNode& item : node.items) {
    auto read = item.is_scalar() && !item.text.empty() ? std::optional(json::value(item.text))
                                                       : read_inline_specification(item, problems());
    good = good && read;
    if (read) specifications.push_back(std::move(*read));
  }
  return good ? std::optional<json::value>(std::move(specifications)) : std::nullopt;
}

void SpecReader::report_unknown(const std::string& key, const YamlEntry& entry) {
  const auto others = kind_ ? kinds_of(key) : std::nullopt;
  if (!others) return SettingsReader::report_unknown(key, entry);
  problem(entry.key_place, key,
          fmt::format("'{}' is a setting of {}, not of kind {}.", entry.key, kinds_in_words(*others), name_of(*kind_)));
}

std::optional<std::string> SpecReader::meant_key(const std::string& key, const YamlEntry& entry) const {
  if (parameters_.contains(key)) return fmt::format("params.{}", key);
  return SettingsReader::meant_key(key, entry);
}

}  // namespace assay
